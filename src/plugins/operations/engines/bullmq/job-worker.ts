import { setTimeout as pause } from 'node:timers/promises'
import { DelayedError, ErrorCode, type IQueueBackend, type Job, WaitingError, Worker } from 'bullmq'
import { inTime } from '../../../../time/in-time.js'
import type { OperationWorker, RunOutcome } from '../engine.js'
import { answerTimeout, type Backends, backendsIn, closeInTime } from './backends.js'
import type { Faults } from './faults.js'
import type { BullmqSettings } from './options.js'

/** Takes operations from a queue, and runs them. */
export class JobWorker {
  readonly #worker: TimedWorker
  readonly #backends: Backends
  readonly #given: OperationWorker
  readonly #faults: Faults
  readonly #runs = new Set<Promise<RunOutcome>>()
  readonly #closing = new AbortController()

  /**
   * @param given runs the operations
   * @param isQuiet whether BullMQ must not write warnings about the server to the console
   */
  constructor(
    { place, queue, concurrency }: BullmqSettings,
    given: OperationWorker,
    faults: Faults,
    isQuiet: boolean,
  ) {
    const backends = backendsIn(place)
    this.#backends = backends
    this.#given = given
    this.#faults = faults
    this.#worker = new TimedWorker(
      queue,
      (job, token) => this.#process(job, token),
      {
        connection: {},
        skipVersionCheck: isQuiet,
        autorun: false,
        concurrency,
        // The job of a dead process is free after half of its lease, and is found a quarter later.
        lockDuration: Math.ceil(given.lease / 2),
        stalledInterval: Math.ceil(given.lease / 4),
        maxStalledCount: withoutEnd,
        runRetryDelay: rest,
      },
      (name, options, parts) => this.#slowedDown(backends.make(name, options, parts)),
    )
    this.#worker.on('error', (error) => this.#met(error))
    this.#worker.on('active', () => faults.over(part))
  }

  /** Begins to run the operations in the queue. */
  async open(): Promise<void> {
    await inTime(this.#worker.waitUntilReady(), answerTimeout, 'an answer of the queue of operations')
    this.#worker.run().catch((error: unknown) => this.#met(error))
  }

  /** Takes no more operations, and waits for the runs. */
  async close(): Promise<void> {
    this.#closing.abort()
    // BullMQ stops at once, and then waits for the runs without a time limit.
    const closed = this.#worker.close()
    await Promise.allSettled(this.#runs)
    if (!(await closeInTime(this.#worker, this.#backends, closed))) await this.#worker.stopTimers()
  }

  async #process(job: Job<null, void, string>, token: string | undefined): Promise<void> {
    if (this.#closing.signal.aborted) {
      // The job arrived during the close. Other workers can take it at once.
      await job.moveToWait(token)
      throw new WaitingError()
    }
    const again = await this.#run(job)
    if (again === null) return
    await job.moveToDelayed(again, token)
    throw new DelayedError()
  }

  /** Runs an operation. Returns when its job has to run again; `null` for never. */
  async #run({ id = '', attemptsStarted }: Job<null, void, string>): Promise<number | null> {
    const run = this.#given.run(id)
    this.#runs.add(run)
    try {
      const outcome = await run
      this.#faults.over(partOfRuns)
      return outcome.kind === 'busy' ? Math.max(outcome.until, Date.now() + shortestRest) : null
    } catch (error) {
      this.#faults.met(partOfRuns, 'an operation could not be run', error)
      // The next job would fail in the same way.
      await this.#rest()
      return Date.now() + Math.min(rest * 2 ** (attemptsStarted - 1), longestRest)
    } finally {
      this.#runs.delete(run)
    }
  }

  /** Pauses after an error, because BullMQ tries again at once: it would flood a database that cannot be reached. */
  #slowedDown(backend: IQueueBackend): IQueueBackend {
    const moveToActive = backend.moveToActive.bind(backend)
    const waitForJob = backend.waitForJob.bind(backend)
    backend.moveToActive = (...given) => this.#slowly(moveToActive(...given))
    backend.waitForJob = (...given) => this.#slowly(waitForJob(...given))
    return backend
  }

  async #slowly<Answer>(asked: Promise<Answer>): Promise<Answer> {
    try {
      const answer = await asked
      this.#faults.over(part)
      return answer
    } catch (error) {
      this.#met(error)
      await this.#rest()
      throw error
    }
  }

  #met(error: unknown): void {
    if (this.#closing.signal.aborted || isOfAnother(error)) return
    this.#faults.met(part, 'the queue of operations cannot be reached', error)
  }

  async #rest(): Promise<void> {
    await pause(rest, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {})
  }
}

const part = 'worker'
const partOfRuns = 'runs'

const rest = 1_000
const longestRest = 30_000
const shortestRest = 100
// The registry limits the runs.
const withoutEnd = 1_000_000_000

/** A worker whose timers can be stopped if its own close does not finish: they would keep the process alive. */
class TimedWorker extends Worker<null, void, string, IQueueBackend, number, object> {
  async stopTimers(): Promise<void> {
    await this.lockManager.close()
    await this.pause(true)
  }
}

/** Whether another worker has taken or ended the job. The record decides which run counts. */
function isOfAnother(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return [
    ErrorCode.JobNotExist,
    ErrorCode.JobLockNotExist,
    ErrorCode.JobNotInState,
    ErrorCode.JobLockMismatch,
  ].some((known) => known === code)
}
