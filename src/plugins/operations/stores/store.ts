import type { OperationRecord } from '../record.js'

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
   * The connection that `create` uses, if commands on it are executed in order, and if `create` sends its command before it
   * returns. If the engine has the same connection, an operation is queued directly after its record, without waiting for
   * the response in between.
   * @default none
   */
  readonly connection?: object | undefined
  /**
   * Checks that the store is set up and can be used. Called when the app gets ready.
   * @throws Error that says what to do
   */
  check(): Promise<void>
  /**
   * Stores a new record, which is in progress. Returns `false` if its id is taken.
   * @throws OperationStoreFullError if the store is full
   */
  create(record: OperationRecord): Promise<boolean>
  /** Returns the record of an id; `null` if there is none. */
  get(id: string): Promise<OperationRecord | null>
  /** Replaces the previous version of a record. Returns `false` if another version, or none, is stored. */
  replace(record: OperationRecord): Promise<boolean>
  /** Removes exactly this version. Returns `false` if another version, or none, is stored. */
  remove(record: OperationRecord): Promise<boolean>
  /** Returns at most `limit` records in progress with a `dueAt` up to `time`, the lowest `dueAt` first. */
  due(time: number, limit: number): Promise<readonly OperationRecord[]>
  /** Removes at most `limit` final records with a `dueAt` up to `time`, and returns their number; 0 if the store lets them expire. */
  expire(time: number, limit: number): Promise<number>
  /** Notifies the listeners of all processes that an operation is to be cancelled. The message may get lost. */
  announceCancel(id: string): Promise<void>
  /**
   * Calls `listener` with the id of each operation that is to be cancelled.
   * @returns a function that stops listening, and releases the connection
   */
  onCancel(listener: (id: string) => void): Promise<() => Promise<void>>
}

// A registered symbol: the ESM and the CommonJS build of this package recognise each other's errors.
const storeFull = Symbol.for('fastify-conventions.operations.storeFull')

/** A store is full. */
export class OperationStoreFullError extends Error {
  override readonly name = 'OperationStoreFullError'

  get [storeFull](): true {
    return true
  }
}

/** Whether an error is an {@link OperationStoreFullError}, of any copy of the package. */
export function isStoreFull(error: unknown): boolean {
  return typeof error === 'object' && error !== null && storeFull in error
}
