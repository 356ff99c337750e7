import { setTimeout as pause } from 'node:timers/promises'
import { type Check, flag, integer, invalid, isObject, option } from '../../../options.js'

/** The outcome of an attempt to run an operation. */
export type RunOutcome =
  /** The operation has ended, or there is none. */
  | { readonly kind: 'ended'; readonly hasFailed: boolean }
  /** The handler failed: the engine runs it again after the backoff of the job. */
  | { readonly kind: 'retry' }
  /** It cannot run here and now: the engine tries again after so many milliseconds, and does not count this as a retry. */
  | { readonly kind: 'later'; readonly delay: number }
  /** This process closes: other processes can run it at once. */
  | { readonly kind: 'released' }

/** What an engine calls when it is an operation's turn. */
export interface OperationWorker {
  /**
   * Runs an operation, or finds that there is nothing to run. It may be called twice for the same operation, in one
   * process or in several: the record decides which call runs it. Rejects only when the store cannot be reached.
   *
   * @param isLast whether the job has no retry left, so that the outcome cannot be `retry`
   */
  run(id: string, isLast: boolean): Promise<RunOutcome>
  /** The engine has lost the lock of an operation that this process runs: its signal aborts. */
  lost(id: string): void
  /** Logs a failure of the engine, once until `recovered`. */
  failed(what: string, error: unknown): void
  /** Logs the end of a failure. */
  recovered(): void
  /** Returns the time by the clock of the store. */
  now(): number
  /** Milliseconds after which a run without a sign of its process counts as dead. */
  readonly lease: number
}

/** An operation for an engine. */
export interface OperationJob {
  /** Id of the operation. An engine that has it already ignores the job. */
  readonly id: string
  /** Name of the operation. */
  readonly name: string
  /** Whose share of the queue it takes, for engines that limit it; `null` for none. */
  readonly owner: string | null
  /** Milliseconds before which it must not run. */
  readonly delay: number
  /** From 0, the default, to 100; operations with a higher priority run first. */
  readonly priority: number
  /** Maximum number of runs after the first one, if the handler fails. */
  readonly retries: number
  /** Milliseconds before the second run, in whole seconds. It doubles with each further run. */
  readonly backoff: number
  /**
   * Whether the operation has never been in the queue, so that the engine need not look for a job that was lost.
   * @default false
   */
  readonly isNew?: boolean
}

/**
 * Owns the work: order, delay, retries, and the jobs of a process that died. The record ensures that an operation ends once,
 * and the sweeper adds one whose job is gone again: an engine may lose a job, and may run it twice.
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

/** The queue of an engine is full, or one owner has too many operations in it. The operation was not queued. */
export class OperationQueueFullError extends Error {
  override readonly name = 'OperationQueueFullError'
  /** Whether only the share of the owner is full, so that other owners can add operations. */
  readonly isShare: boolean

  constructor(message?: string, { isShare = false }: { readonly isShare?: boolean } = {}) {
    super(message)
    this.isShare = isShare
  }
}

/** Whether an error is an {@link OperationQueueFullError}, of any copy of the package. */
export function isQueueFull(error: unknown): error is OperationQueueFullError {
  return isObject(error) && error.name === 'OperationQueueFullError'
}

/** The options of engines whose queue several processes share. */
export const queueOptions = {
  /**
   * Whether this process runs operations. If not, it only adds them to the queue, and another process has to run them.
   * @default true
   */
  work: option(flag, true),
  /**
   * Maximum number of operations that this process runs at the same time.
   * @default 10
   */
  concurrency: option(integer(1, 10_000), 10),
  /**
   * Maximum number of waiting operations of all processes, counted once a second; a start beyond it gets a 503.
   * @default 100_000
   */
  maxQueued: option(integer(1), 100_000),
}

/** Returns a check for the URL of a server, or an object that leads to it. */
export function serverOf<Given extends object>(
  url: RegExp,
  expected: string,
  isGiven: (received: Record<string, unknown>) => boolean,
): Check<string | Given> {
  return (label, received) => {
    if (isObject(received) && isGiven(received)) return received as Given
    if (typeof received === 'string' && url.test(received)) return received
    // It may hold a password.
    const shown = typeof received === 'string' ? received.replace(/\/\/.*@/, '//…@') : received
    return invalid(label, expected, shown)
  }
}

/** A queue that several processes share. */
export interface SharedQueue {
  /** @throws Error that says what to do */
  open(): Promise<void>
  work(): void
  pause(): Promise<void>
  add(job: OperationJob): Promise<void>
  close(): Promise<void>
}

/** @param works whether this process runs operations */
export function sharedEngine(
  works: boolean,
  takesOver: boolean,
  queueOf: (worker: OperationWorker) => SharedQueue,
): OperationEngine {
  let queue: SharedQueue | null = null
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= queue?.close() ?? Promise.resolve()
    return closed
  }
  return {
    isShared: true,
    takesOver,
    async start(worker) {
      queue = queueOf(worker)
      try {
        await queue.open()
      } catch (error) {
        await close()
        throw error
      }
    },
    async work() {
      if (works && closed === undefined) queue?.work()
    },
    pause: async () => queue?.pause(),
    async enqueue(job) {
      if (closed !== undefined) throw new Error('the engine is closed')
      if (queue === null) throw new Error('the engine has not been started')
      await queue.add(job)
    },
    close,
  }
}

/** Runs an operation. If that fails, its job waits, and so does this slot: the next operation would fail in the same way. */
export async function runJob(
  worker: OperationWorker,
  id: string,
  isLast: boolean,
  closing: AbortSignal,
): Promise<RunOutcome> {
  try {
    const outcome = await worker.run(id, isLast)
    worker.recovered()
    return outcome.kind === 'later' ? { ...outcome, delay: Math.max(outcome.delay, shortestPause) } : outcome
  } catch (error) {
    worker.failed('an operation could not be run', error)
    await pause(rest, undefined, { signal: closing, ref: false }).catch(ignore)
    return { kind: 'later', delay: afterFault }
  }
}

/** Takes an error that is reported elsewhere. */
export function ignore(): void {}

/** Milliseconds before an operation that could not run is tried again: at least, and after a fault. */
export const shortestPause = 100
const afterFault = 5_000

/** Milliseconds that a worker rests after a fault. */
export const rest = 1_000

/** Milliseconds in which the server of a queue has to answer. */
export const answerTimeout = 5_000

/** The part of the log of an engine whose server does not answer. */
export const unreachable = 'the queue of operations cannot be reached'

/** Returns a function that notes one more job, and throws if the queue is full. It counts the jobs at most once a second. */
export function queueLimit(maxQueued: number, count: () => Promise<number>): () => Promise<void> {
  let countedAt = Number.NEGATIVE_INFINITY
  let counted: Promise<number> = Promise.resolve(0)
  let added = 0
  return async () => {
    if (performance.now() - countedAt > 1_000) {
      countedAt = performance.now()
      added = 0
      counted = count()
      counted.catch(() => {
        countedAt = Number.NEGATIVE_INFINITY
      })
    }
    if ((await counted) + added >= maxQueued) {
      throw new OperationQueueFullError(`${maxQueued} operations wait already`)
    }
    added += 1
  }
}
