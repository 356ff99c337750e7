import { type OperationRecord, readRecord } from '../record.js'

/** The result of {@link readRecords}. */
export interface ReadRecords<Kept> {
  readonly records: readonly OperationRecord[]
  /** Values that are not records, or records of another release. */
  readonly unreadable: readonly Kept[]
  /** Why the first of these cannot be read. */
  readonly fault: unknown
}

/** Reads records one by one, so that an unreadable one does not block the others. */
export function readRecords<Kept>(
  kept: readonly Kept[],
  documentOf: (kept: Kept) => unknown,
): ReadRecords<Kept> {
  const records: OperationRecord[] = []
  const unreadable: Kept[] = []
  let fault: unknown
  for (const one of kept) {
    try {
      records.push(readRecord(documentOf(one)))
    } catch (error) {
      fault ??= error
      unreadable.push(one)
    }
  }
  return { records, unreadable, fault }
}
