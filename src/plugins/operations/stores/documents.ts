import { createHash } from 'node:crypto'
import { type OperationRecord, readRecord } from '../record.js'

/** A record as a shared store keeps it. */
export interface StoredRecord {
  /** The record as JSON that begins with the version, without result and error. */
  readonly document: unknown
  /** Result and error as JSON; `null` if there are none, or if they are gone. */
  readonly outcome: unknown
}

export function partsOf(record: OperationRecord): { document: string; outcome: string | null } {
  const { version, result, error, ...rest } = record
  return {
    document: JSON.stringify({ version, ...rest, result: null, error: null }),
    outcome: result === null && error === null ? null : JSON.stringify({ result, error }),
  }
}

/** @throws Error for a record of another schema */
export function recordOf({ document, outcome }: StoredRecord): OperationRecord {
  const record = readRecord(document)
  return typeof outcome === 'string' ? readRecord({ ...record, ...JSON.parse(outcome) }) : record
}

/** Reads records, and leaves out those of another schema: the processes that know it read them. */
export function readAll(stored: readonly StoredRecord[]): readonly OperationRecord[] {
  return stored.flatMap((one) => {
    try {
      return recordOf(one)
    } catch {
      return []
    }
  })
}

/** Returns a text for the owner in keys and indexes: an id as it is, and a digest of one that is long or has special characters. */
export function ownerKey(owner: string): string {
  if (/^(?!sha256:)[\x20-\x7e]{1,200}$/.test(owner)) return owner
  return `sha256:${createHash('sha256').update(JSON.stringify(owner)).digest('hex')}`
}
