import { type OperationRecord, readRecord } from '../record.js'

/** What {@link readRecords} found. */
export interface ReadRecords<Kept> {
  readonly records: readonly OperationRecord[]
  /** Values that are not records, or records of another release. */
  readonly unreadable: readonly Kept[]
  /** Why the first of these cannot be read. */
  readonly fault: unknown
}

/** Reads the records that can be read, so that one that cannot does not stand in the way of the others. */
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
