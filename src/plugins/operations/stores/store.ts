import { createHash } from 'node:crypto'
import { isObject } from '../../../options.js'
import { type OperationRecord, recordSchema } from '../record.js'

/**
 * Stores the records of operations. Each record is one document, which is stored and replaced as a whole, and compared by its
 * version. Instances coordinate through the store only.
 *
 * The promises reject if the store cannot be reached; the change may or may not have happened then.
 * `operationStoreContract` of `fastify-conventions/testing` tests a store.
 */
export interface OperationStore {
  /** Whether other processes can use the same store. */
  readonly isShared: boolean
  /**
   * Checks that the store is set up and can be used. Called when the app gets ready.
   * @throws Error that says what to do
   */
  check(): Promise<void>
  /**
   * Returns the time of the server's clock, in milliseconds since the epoch: it decides when leases and results expire.
   * @default the clock of the process
   */
  time?(): Promise<number>
  /**
   * Stores a new record, which is in progress, and its input. Returns `false` if its id is taken, or if an operation in
   * progress has the same `onePer`, other than `null`.
   * @throws OperationStoreFullError if the store is full
   */
  create(record: OperationRecord, input: string | null): Promise<boolean>
  /**
   * Replaces a record if the stored version is that of `previous`; returns whether it was. If `dueAt` differs, the next check
   * moves there; otherwise it stays where it is. With a final record, the input is deleted.
   */
  replace(previous: OperationRecord, next: OperationRecord): Promise<boolean>
  /** Returns the record of an id; `null` if there is none. */
  get(id: string): Promise<OperationRecord | null>
  /** Returns the input of an operation in progress, as `create` received it; `null` for none. */
  input(id: string): Promise<string | null>
  /** Removes exactly this version, and its input. Returns `false` if another version, or none, is stored. */
  remove(record: OperationRecord): Promise<boolean>
  /**
   * Takes at most `limit` records in progress that have to be checked by `time`, the earliest first: moves the time of their
   * next check to `until`, and returns them. Of several concurrent calls, one gets a record. The records stay unchanged.
   * Records of another `schema` are left out.
   */
  takeDue(time: number, until: number, limit: number): Promise<readonly OperationRecord[]>
  /**
   * Removes at most `limit` final records with a `dueAt` up to `time`. Returns `limit` if there may be more; 0 if the store has
   * nothing to do, because records expire by themselves.
   */
  expire(time: number, limit: number): Promise<number>
  /** Returns operations of an owner, the newest first, see {@link OperationQuery}. Its work is bounded by `limit`. */
  list(owner: string, query: OperationQuery): Promise<readonly OperationRecord[]>
}

/** A page of the operations of an owner. */
export interface OperationQuery {
  /**
   * Only operations before this one, in the order of the list: by `createdAt`, then by `id`, both descending.
   * @default from the newest
   */
  readonly before?: Pick<OperationRecord, 'createdAt' | 'id'> | undefined
  readonly limit: number
}

/** A store is full. */
export class OperationStoreFullError extends Error {
  override readonly name = 'OperationStoreFullError'
}

/** Whether an error is an {@link OperationStoreFullError}, of any copy of the package. */
export function isStoreFull(error: unknown): boolean {
  return isObject(error) && error.name === 'OperationStoreFullError'
}

/** Returns a record as JSON that begins with its version. */
export function textOf({ version, ...members }: OperationRecord): string {
  return JSON.stringify({ version, ...members })
}

/** @throws Error for a record of another schema */
export function recordOf(text: string): OperationRecord {
  const record: OperationRecord = JSON.parse(text)
  if (record.schema === recordSchema) return Object.freeze(record)
  throw new Error(
    `an operation is stored with schema ${JSON.stringify(record.schema)}; this release reads schema ${recordSchema}`,
  )
}

/** Reads records, and leaves out those of another schema: the processes that know it read them. */
export function readAll(texts: readonly string[]): readonly OperationRecord[] {
  return texts.flatMap((text) => {
    try {
      return recordOf(text)
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
