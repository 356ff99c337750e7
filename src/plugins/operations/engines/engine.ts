/** The outcome of an attempt to run an operation. */
export type RunOutcome =
  /** The operation has ended. */
  | { readonly kind: 'ended' }
  /** Another run may be alive until then (milliseconds since the epoch): try again after that. */
  | { readonly kind: 'busy'; readonly until: number }
  /** It was returned without a result, because this process closes or does not define the operation: other processes may run it. */
  | { readonly kind: 'released' }

/** What an engine calls when it is an operation's turn. */
export interface OperationWorker {
  /**
   * Runs an operation, or finds that there is nothing to run. It may be called twice for the same operation, in one
   * process or in several: the record decides which call runs it. Rejects only when the registry cannot be reached.
   */
  run(id: string): Promise<RunOutcome>
  /** Logs a failure of the engine, once until `recovered`. */
  failed(what: string, error: unknown): void
  /** Logs the end of a failure. */
  recovered(): void
  /** Milliseconds after which a run without a heartbeat counts as dead. */
  readonly lease: number
}

/**
 * Decides when and where operations run. The registry ensures that they end once and are not lost: an engine may lose an
 * operation, and may run it twice.
 */
export interface OperationEngine {
  /** Whether other processes may run the work. If so, the store has to be shared, too. */
  readonly isShared: boolean
  /** The connection that it adds operations through, if the store can use the same one: see `OperationStore.connection`. */
  readonly connection?: object | undefined
  /**
   * Begins to run operations; called once, when the app gets ready.
   * @throws Error if the engine cannot be used; the message says what to do
   */
  start(worker: OperationWorker): Promise<void>
  /**
   * Adds an operation to the queue. Does nothing if it waits or runs already.
   *
   * @param owner id of the caller, for engines that limit the operations of one owner; `null` and absent: no owner
   * @throws OperationQueueFullError; another error if the engine cannot be reached, or is closed
   */
  enqueue(id: string, owner?: string | null): Promise<void>
  /** Removes an operation that has ended from the queue. Optional: otherwise the engine finds that out when its turn comes. */
  forget?(id: string): void
  /** Starts no more runs, and resolves when all runs of this process have ended. */
  close(): Promise<void>
}

// A registered symbol: the ESM and the CommonJS build of this package recognise each other's errors.
const queueFull = Symbol.for('fastify-conventions.operations.queueFull')

/** The queue of an engine is full, or one owner has too many operations in it. The operation was not queued. */
export class OperationQueueFullError extends Error {
  override readonly name = 'OperationQueueFullError'
  /** Whether only the share of the owner is full, so that other owners can add operations. */
  readonly isShare: boolean

  constructor(message?: string, { isShare = false }: { readonly isShare?: boolean } = {}) {
    super(message)
    this.isShare = isShare
  }

  get [queueFull](): true {
    return true
  }
}

/** Whether an error is an {@link OperationQueueFullError}, of any copy of the package. */
export function isQueueFull(error: unknown): error is OperationQueueFullError {
  return typeof error === 'object' && error !== null && queueFull in error
}

/** Whether an error is an {@link OperationQueueFullError} about the share of one owner. */
export function isShareFull(error: unknown): boolean {
  return isQueueFull(error) && error.isShare
}
