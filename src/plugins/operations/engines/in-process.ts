import { functionOf, integer, type OptionsOf, option, resolveOptions } from '../../../options.js'
import { type Schedule, scheduleTimeout } from '../../../time/async.js'
import {
  type OperationEngine,
  type OperationJob,
  OperationQueueFullError,
  type OperationWorker,
  shortestPause,
} from './engine.js'

const declared = {
  /**
   * Maximum number of operations that run at the same time.
   * @default 10
   */
  concurrency: option(integer(1, 10_000), 10),
  /**
   * Maximum number of operations that wait; a start beyond it gets a 503. One caller has a tenth of it, at least 1, and so
   * have all callers who are not known together: a start beyond that gets a 429.
   * @default 1_000
   */
  maxQueued: option(integer(0, 1_000_000), 1_000),
  /**
   * Starts a timer, for tests.
   * @default `setTimeout`, which does not keep the process alive
   */
  schedule: option(functionOf<Schedule>('a function that starts a timer'), scheduleTimeout),
}

/** Options of {@link inProcessEngine}. */
export interface InProcessEngineOptions extends OptionsOf<typeof declared> {}

interface Waiting extends OperationJob {
  readonly failures: number
  stopTimer: () => void
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
  const { concurrency, maxQueued, schedule } = resolveOptions('inProcessEngine', options, declared)
  const share = Math.max(Math.floor(maxQueued / 10), 1)
  // Also those that must not run yet; the number of them for each owner.
  const waiting = new Map<string, Waiting>()
  const shares = new Map<string | null, number>()
  // Those that can run, by priority and in their order.
  const ready = new Map<number, Set<Waiting>>()
  const running = new Map<string, Promise<void>>()
  let worker: OperationWorker | null = null
  let isWorking = false
  let isClosed = false

  function next(): void {
    while (worker !== null && isWorking && running.size < concurrency && ready.size > 0) {
      const [job] = ready.get(Math.max(...ready.keys())) ?? []
      if (job === undefined) return
      leave(job.id)
      running.set(job.id, run(job, worker))
    }
  }

  function count(owner: string | null, change: 1 | -1): void {
    const jobs = (shares.get(owner) ?? 0) + change
    if (jobs === 0) shares.delete(owner)
    else shares.set(owner, jobs)
  }

  function wait(job: OperationJob, delay: number, failures: number): void {
    const one: Waiting = { ...job, failures, stopTimer: () => {} }
    const makeReady = () => {
      ready.set(job.priority, (ready.get(job.priority) ?? new Set()).add(one))
      next()
    }
    waiting.set(job.id, one)
    count(job.owner, 1)
    if (delay <= 0) makeReady()
    else one.stopTimer = schedule(makeReady, Math.min(delay, longestTimer))
  }

  function leave(id: string): void {
    const job = waiting.get(id)
    if (job === undefined) return
    waiting.delete(id)
    job.stopTimer()
    const jobs = ready.get(job.priority)
    if (jobs?.delete(job) && jobs.size === 0) ready.delete(job.priority)
    count(job.owner, -1)
  }

  async function run(job: Waiting, given: OperationWorker): Promise<void> {
    let { failures } = job
    let delay: number | null = null
    try {
      const outcome = await given.run(job.id, failures >= job.retries)
      if (outcome.kind === 'later') delay = Math.max(outcome.delay, shortestPause)
      if (outcome.kind === 'retry') {
        delay = job.backoff * 2 ** failures * (1 - Math.random() / 4)
        failures += 1
      }
      given.recovered()
    } catch (error) {
      // The record is kept; the sweeper queues the operation again.
      given.failed('an operation could not be run', error)
    }
    running.delete(job.id)
    if (delay !== null && !isClosed) wait(job, delay, failures)
    next()
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
      if (waiting.has(job.id) || running.has(job.id)) return
      if (isClosed) throw new Error('the engine is closed')
      if (job.owner !== null && (shares.get(job.owner) ?? 0) >= share) {
        throw new OperationQueueFullError(`${share} operations of this owner wait already`, { isShare: true })
      }
      const isIdle = isWorking && running.size < concurrency && ready.size === 0
      if (waiting.size >= maxQueued && !(isIdle && job.delay <= 0)) {
        throw new OperationQueueFullError(`${maxQueued} operations wait already`)
      }
      wait(job, job.delay, 0)
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

// A timer for longer would fire at once; the record decides whether the operation can run then.
const longestTimer = 2 ** 31 - 1
