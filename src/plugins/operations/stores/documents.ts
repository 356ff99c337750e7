import { createHash } from 'node:crypto'
import { type OperationRecord, readRecord } from '../record.js'

/** A record as a shared store keeps it. */
export interface StoredRecord {
  readonly id: string
  /** The record as JSON that begins with the version, without result and error. */
  readonly document: unknown
  /** Result and error as JSON; `null` if there are none, or if they are gone. */
  readonly outcome: unknown
}

/** Returns the parts of a record that a shared store keeps, see {@link StoredRecord}. */
export function partsOf(record: OperationRecord): {
  readonly document: string
  readonly outcome: string | null
} {
  const { version, result, error, ...rest } = record
  return {
    document: JSON.stringify({ version, ...rest, result: null, error: null }),
    outcome: result === null && error === null ? null : JSON.stringify({ result, error }),
  }
}

export function recordOf({ document, outcome }: Omit<StoredRecord, 'id'>): OperationRecord {
  const record = readRecord(document)
  return typeof outcome === 'string' ? readRecord({ ...record, ...JSON.parse(outcome) }) : record
}

export interface ReadRecords {
  readonly records: readonly OperationRecord[]
  /** Values that are not records, or records with another `schema`. */
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
