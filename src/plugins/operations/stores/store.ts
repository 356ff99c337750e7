import type { OperationRecord } from '../record.js'

/**
 * Where the records of operations are kept: one document each, put and replaced whole, compared by its version. What of
 * it instances share, they agree on here, and nowhere else.
 *
 * Its promises reject when the store cannot be reached; what was asked for may or may not have happened then.
 * `operationStoreContract` of `fastify-conventions/testing` holds what every store keeps.
 */
export interface OperationStore {
  /** Can other processes have the same store? One in memory dies with the process, and with it what it knows. */
  readonly isShared: boolean
  /**
   * What it creates records through, if that is one connection, over which what is sent first is done first, and `create`
   * sends before it returns. Where the engine has the same one, an operation is handed to it right behind its record,
   * without a wait for the answer in between.
   */
  readonly connection?: object | undefined
  /**
   * Is the store fit for use, with all that it needs set up? Asked when the app gets ready.
   * @throws Error which says what to do
   */
  check(): Promise<void>
  /**
   * Puts a new record, which is in progress; `false` where its id is taken.
   * @throws OperationStoreFullError when there is no room
   */
  create(record: OperationRecord): Promise<boolean>
  /** The record of an id; `null` where there is none. */
  get(id: string): Promise<OperationRecord | null>
  /** Puts a record in the place of the version right before it; `false`, and nothing happens, where another stands there. */
  replace(record: OperationRecord): Promise<boolean>
  /** Takes this very version away; `false` where another stands there, or none. */
  remove(record: OperationRecord): Promise<boolean>
  /** Records in progress with a `dueAt` up to `time`, those due longest first, at most `limit`. */
  due(time: number, limit: number): Promise<readonly OperationRecord[]>
  /** Takes away final records with a `dueAt` up to `time`, at most `limit`; how many. A store may have done so by itself. */
  expire(time: number, limit: number): Promise<number>
  /** Tells those who listen, in whatever process, that an operation is to be cancelled. It may get lost. */
  announceCancel(id: string): Promise<void>
  /**
   * Calls `listener` with the id of each operation that is to be cancelled.
   * @returns what ends that, and lets go of what it needed
   */
  onCancel(listener: (id: string) => void): Promise<() => Promise<void>>
}

// A registered symbol, so that the ESM and the CommonJS build of this package know each other's errors.
const storeFull = Symbol.for('fastify-conventions.operations.storeFull')

/** A store has no room for another operation. */
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
