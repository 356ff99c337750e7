import { createHash } from 'node:crypto'
import { type OperationRecord, readRecord } from '../record.js'

/** A record as a shared store keeps it. */
export interface StoredRecord {
  readonly id: string
  /** The record as JSON that begins with the version. From form 2 on without result and error. */
  readonly document: unknown
  /** Result and error as JSON; `null` if there are none, if they are gone, or in form 1. */
  readonly outcome: unknown
}

/** Returns the parts of a record that a shared store keeps, see {@link StoredRecord}. */
export function partsOf(record: OperationRecord): {
  readonly document: string
  readonly outcome: string | null
} {
  const { version, result, error, ...rest } = record
  // Release 0.1 reads the records of form 1.
  const isWhole = record.schema === 1 || (result === null && error === null)
  return {
    document: JSON.stringify({
      version,
      ...rest,
      ...(isWhole ? { result, error } : { result: null, error: null }),
    }),
    outcome: isWhole ? null : JSON.stringify({ result, error }),
  }
}

/**
 * Returns the record of these parts.
 *
 * @throws Error if they are none, or have a form that this release does not know
 */
export function recordOf({ document, outcome }: Omit<StoredRecord, 'id'>): OperationRecord {
  const record = readRecord(document)
  return typeof outcome === 'string' ? readRecord({ ...record, ...JSON.parse(outcome) }) : record
}

/** The result of {@link readAll}. */
export interface ReadRecords {
  readonly records: readonly OperationRecord[]
  /** Values that are not records, or records of another release. */
  readonly unreadable: readonly StoredRecord[]
  /** Why the first of these cannot be read. */
  readonly fault: unknown
}

/** Reads records one by one, so that an unreadable one does not block the others. */
export function readAll(stored: readonly StoredRecord[]): ReadRecords {
  const records: OperationRecord[] = []
  const unreadable: StoredRecord[] = []
  let fault: unknown
  for (const one of stored) {
    try {
      records.push(recordOf(one))
    } catch (error) {
      fault ??= error
      unreadable.push(one)
    }
  }
  return { records, unreadable, fault }
}

/** Returns a text for the owner in keys and indexes: an id as it is, and a digest of one that is long or has special characters. */
export function ownerKey(owner: string): string {
  if (/^(?!sha256:)[\x20-\x7e]{1,200}$/.test(owner)) return owner
  return `sha256:${createHash('sha256').update(JSON.stringify(owner)).digest('hex')}`
}
