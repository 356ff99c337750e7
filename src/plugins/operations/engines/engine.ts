import type { OperationStatus } from '../record.js'

/** The outcome of an attempt to run an operation. */
export type RunOutcome =
  /** The operation has ended. */
  | { readonly kind: 'ended'; readonly status: OperationStatus }
  /** There is no such operation. */
  | { readonly kind: 'absent' }
  /** Another run may be alive, or the operation must not begin yet: try again after so many milliseconds. */
  | { readonly kind: 'busy'; readonly delay: number }
  /** The handler failed; the operation has to run again after so many milliseconds. */
  | { readonly kind: 'retry'; readonly delay: number }
  /** This process closes: other processes can run it at once. */
  | { readonly kind: 'released' }
  /** This process does not implement the operation: another one has to run it. */
  | { readonly kind: 'not-implemented' }

/** What an engine calls when it is an operation's turn. */
export interface OperationWorker {
  /**
   * Runs an operation, or finds that there is nothing to run. It may be called twice for the same operation, in one
   * process or in several: the record decides which call runs it. Rejects only when the registry cannot be reached.
   */
  run(id: string): Promise<RunOutcome>
  /** The engine has lost the lock of an operation that this process runs: its signal aborts. */
  lost(id: string): void
  /** Logs a failure of the engine, once until `recovered`. */
  failed(what: string, error: unknown): void
  /** Logs the end of a failure. */
  recovered(): void
  /** Milliseconds after which a run without a sign of its process counts as dead. */
  readonly lease: number
}

/** An operation for an engine. */
export interface OperationJob {
  /** Id of the operation. An engine that has it already ignores the job. */
  readonly id: string
  /** Name of the operation. */
  readonly name: string
  /** Id of the caller, for engines that limit the operations of one owner; `null` for none. */
  readonly owner: string | null
  /** Milliseconds before which it must not run. */
  readonly delay: number
  /** From 0, the default, to 100; operations with a higher priority run first. */
  readonly priority: number
  /**
   * Whether the operation has never been in the queue, so that the engine need not look for a job that was lost.
   * @default false
   */
  readonly isNew?: boolean
}

/**
 * Decides when and where operations run. The registry ensures that they end once and are not lost: an engine may lose an
 * operation, and may run it twice.
 */
export interface OperationEngine {
  /** Whether other processes may run the work. If so, the store has to be shared, too. */
  readonly isShared: boolean
  /**
   * Whether the engine notices that a process died, and runs its operations again elsewhere. If so, the lock of the engine
   * replaces the lease in the record: a run takes the place of an earlier one at once.
   * @default false
   */
  readonly takesOver?: boolean
  /**
   * Connects; called once, when the app gets ready. Runs nothing yet.
   * @throws Error if the engine cannot be used; the message says what to do
   */
  start(worker: OperationWorker): Promise<void>
  /** Begins to run operations, or goes on after `pause`. */
  work(): Promise<void>
  /** Begins no more runs until `work` is called; those that run go on. */
  pause(): Promise<void>
  /**
   * Adds an operation to the queue. Does nothing if it waits or runs already.
   * @throws OperationQueueFullError; another error if the engine cannot be reached, or is closed
   */
  enqueue(job: OperationJob): Promise<void>
  /** Removes an operation that has ended from the queue. Optional: otherwise the engine finds that out when its turn comes. */
  forget?(id: string): void
  /** Begins no more runs, and resolves when `run` has resolved for all operations of this process. */
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
