/** The outcome of an attempt to run an operation. */
export type RunOutcome =
  /** The operation has ended. */
  | { readonly kind: 'ended' }
  /** Another run may be alive until then (milliseconds since 1970): try again after that. */
  | { readonly kind: 'busy'; readonly until: number }
  /** It was given back without having ended, because this process closes or does not know such work: others may take it. */
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
  /** Milliseconds after which a run without a sign of life is taken for dead. */
  readonly lease: number
}

/**
 * Decides when and where operations run; that they run once, end once, and are found again, is for the registry.
 * An engine may lose what it was given, and may hand it out twice.
 */
export interface OperationEngine {
  /** Whether other processes may run the work. The store has to be shared then, too. */
  readonly isShared: boolean
  /** What it takes operations in through, where a store may have that too: see `OperationStore.connection`. */
  readonly connection?: object | undefined
  /**
   * Begins to hand out work; called once, when the app gets ready.
   * @throws Error when it cannot be used, which says what to do
   */
  start(worker: OperationWorker): Promise<void>
  /**
   * Takes an operation in, at most once while it waits or runs there.
   *
   * @param owner who started it, for engines that give each owner a share of the queue; `null` and absent: no owner
   * @throws OperationQueueFullError; any other error when the engine cannot be reached, or is closed
   */
  enqueue(id: string, owner?: string | null): Promise<void>
  /** An operation has ended: if it still waits there, its place is free. Where it is left out, it is found when its turn comes. */
  forget?(id: string): void
  /** Hands out nothing any more, and resolves when all runs of this process have ended. */
  close(): Promise<void>
}

// A registered symbol, so that the ESM and the CommonJS build of this package know each other's errors.
const queueFull = Symbol.for('fastify-conventions.operations.queueFull')

/** The queue of an engine is full, or the share of one owner. The operation was not queued. */
export class OperationQueueFullError extends Error {
  override readonly name = 'OperationQueueFullError'
  /** Whether others still have room: the share of the owner is what is full. */
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
