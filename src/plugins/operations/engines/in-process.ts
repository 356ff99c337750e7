import { type Checks, functionOf, integer, resolveOptions } from '../../../options.js'
import { type Schedule, scheduleTimeout } from '../../../time/schedule.js'
import {
  type OperationEngine,
  type OperationJob,
  OperationQueueFullError,
  type OperationWorker,
  type RunOutcome,
} from './engine.js'

/** Options of {@link inProcessEngine}. */
export interface InProcessEngineOptions {
  /**
   * Maximum number of operations that run at the same time.
   * @default 10
   */
  readonly concurrency?: number
  /**
   * Maximum number of operations that wait; a start beyond it gets a 503.
   * @default 1_000
   */
  readonly maxQueued?: number
  /**
   * Maximum number of waiting operations of one owner; a start beyond it gets a 429, and other owners are not affected. It
   * applies if `operations.identify` returns an id.
   * @default a tenth of `maxQueued`, at least 1
   */
  readonly maxQueuedPerOwner?: number
  /**
   * Starts a timer, for tests.
   * @default `setTimeout`, which does not keep the process alive
   */
  readonly schedule?: Schedule
}

const checks: Checks<InProcessEngineOptions> = {
  concurrency: integer(1, 10_000),
  maxQueued: integer(0, 1_000_000),
  maxQueuedPerOwner: integer(1, 1_000_000),
  schedule: functionOf('a function that starts a timer'),
}

/**
 * Runs operations in the process that started them, by priority and then in their order. A restart loses the operations that
 * wait or run in this process; with a shared store another instance runs them.
 *
 * Not for work that blocks the event loop: requests would wait for it.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function inProcessEngine(options?: InProcessEngineOptions): OperationEngine {
  const { concurrency, maxQueued, maxQueuedPerOwner, schedule } = resolveOptions(
    'inProcessEngine',
    options,
    checks,
    {
      concurrency: 10,
      maxQueued: 1_000,
      maxQueuedPerOwner: Math.max(Math.floor((options?.maxQueued ?? 1_000) / 10), 1),
      schedule: scheduleTimeout,
    },
  )
  // Operations that wait, also those that must not run yet; the number of them for each owner.
  const waiting = new Map<string, OperationJob>()
  const shares = new Map<string, number>()
  // The operations that can run, for each priority in their order; the timers of the others.
  const ready = new Map<number, Set<string>>()
  const timers = new Map<string, () => void>()
  const running = new Map<string, Promise<void>>()
  let worker: OperationWorker | null = null
  let isWorking = false
  let isClosed = false

  function next(): void {
    while (worker !== null && isWorking && running.size < concurrency && ready.size > 0) {
      const [id] = ready.get(Math.max(...ready.keys())) ?? []
      const job = id === undefined ? undefined : waiting.get(id)
      if (job === undefined) return
      leave(job.id)
      running.set(job.id, run(job, worker))
    }
  }

  function wait(job: OperationJob, delay: number): void {
    waiting.set(job.id, job)
    if (job.owner !== null) shares.set(job.owner, (shares.get(job.owner) ?? 0) + 1)
    if (delay <= 0) {
      makeReady(job)
      return
    }
    const stop = schedule(
      () => {
        timers.delete(job.id)
        makeReady(job)
      },
      Math.min(delay, longestTimer),
    )
    timers.set(job.id, stop)
  }

  function makeReady({ id, priority }: OperationJob): void {
    const ids = ready.get(priority) ?? new Set()
    ready.set(priority, ids.add(id))
    next()
  }

  function leave(id: string): void {
    const job = waiting.get(id)
    if (job === undefined) return
    waiting.delete(id)
    timers.get(id)?.()
    timers.delete(id)
    const ids = ready.get(job.priority)
    if (ids?.delete(id) && ids.size === 0) ready.delete(job.priority)
    if (job.owner === null) return
    const rest = (shares.get(job.owner) ?? 1) - 1
    if (rest === 0) shares.delete(job.owner)
    else shares.set(job.owner, rest)
  }

  async function run(job: OperationJob, given: OperationWorker): Promise<void> {
    let delay: number | null = null
    try {
      delay = delayAfter(await given.run(job.id))
      given.recovered()
    } catch (error) {
      // The record is kept; the sweeper queues the operation again.
      given.failed('an operation could not be run', error)
    }
    running.delete(job.id)
    if (delay !== null && !isClosed) wait(job, delay)
    next()
  }

  /** Returns after how many milliseconds an operation has to run again; `null` for never in this process. */
  function delayAfter(outcome: RunOutcome): number | null {
    if (outcome.kind === 'retry') return outcome.delay
    return outcome.kind === 'busy' ? Math.max(outcome.delay, shortestPause) : null
  }

  return {
    isShared: false,
    async start(given) {
      worker = given
    },
    async work() {
      isWorking = !isClosed
      next()
    },
    async pause() {
      isWorking = false
    },
    async enqueue(job) {
      const { id, owner } = job
      if (waiting.has(id) || running.has(id)) return
      if (isClosed) throw new Error('the engine is closed')
      const isIdle = isWorking && running.size < concurrency && ready.size === 0
      const share = owner === null ? 0 : (shares.get(owner) ?? 0)
      if (share >= maxQueuedPerOwner) {
        throw new OperationQueueFullError(`${share} operations of this owner wait already`, { isShare: true })
      }
      if (waiting.size >= maxQueued && !(isIdle && job.delay <= 0)) {
        throw new OperationQueueFullError(`${maxQueued} operations wait already`)
      }
      wait(job, job.delay)
    },
    forget: leave,
    async close() {
      isClosed = true
      isWorking = false
      for (const id of [...waiting.keys()]) leave(id)
      await Promise.all(running.values())
    },
  }
}

const shortestPause = 100
// A timer for longer would fire at once; the record decides whether the operation can run then.
const longestTimer = 2 ** 31 - 1
