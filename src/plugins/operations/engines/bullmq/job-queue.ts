import { ErrorCode, Queue } from 'bullmq'
import { inTime, LateError } from '../../../../time/in-time.js'
import { scheduleTimeout } from '../../../../time/schedule.js'
import { type OperationJob, OperationQueueFullError, type OperationWorker } from '../engine.js'
import type { BullmqSettings } from './options.js'
import { answerTimeout, checkRedis, closeInTime, connectionTo, type RedisServer, silence } from './redis.js'

export class JobQueue {
  readonly #settings: BullmqSettings
  readonly #given: OperationWorker
  readonly #queue: Queue<null, null, string>
  readonly #givenUp = new AbortController()
  #lastError: unknown
  /** Number of jobs whose addition is pending beyond its time limit. */
  #late = 0
  #counted: Promise<number> | null = null
  #added = 0
  #isClosed = false

  constructor(settings: BullmqSettings, given: OperationWorker) {
    const { redis, queue, telemetry } = settings
    this.#settings = settings
    this.#given = given
    const keep = { age: keptFor, count: keptJobs }
    this.#queue = new Queue(queue, {
      connection: connectionTo(redis, false, this.#givenUp.signal),
      // `checkRedis` checks it, and writes nothing to the console.
      skipVersionCheck: true,
      ...(telemetry === undefined ? {} : { telemetry }),
      defaultJobOptions: {
        // The record limits the runs.
        attempts: withoutEnd,
        backoff: { type: 'fixed', delay: backoff, jitter: 0.5 },
        stackTraceLimit: 1,
        removeOnComplete: keep,
        removeOnFail: keep,
      },
    })
    this.#queue.on('error', (error) => this.#failed(error))
    silence(this.#queue)
  }

  /** Waits until the queue is ready. */
  async ready(): Promise<RedisServer> {
    try {
      return await inTime(this.#check(), answerTimeout, 'an answer of Redis')
    } catch (error) {
      if (!(error instanceof LateError)) throw error
      const cause = this.#lastError ?? error
      throw new Error(`the queue of operations cannot be reached: ${error.message}`, { cause })
    }
  }

  async add(job: OperationJob): Promise<void> {
    // After one late answer, the next one would be late, too.
    if (this.#late > 0) throw new LateError('the queue of operations does not answer')
    const added = this.#add(job)
    try {
      await inTime(added, answerTimeout, 'an answer of the queue of operations')
      this.#given.recovered()
    } catch (error) {
      if (error instanceof OperationQueueFullError) throw error
      if (error instanceof LateError) {
        this.#late += 1
        const settled = () => {
          this.#late -= 1
        }
        added.then(settled, settled)
      }
      this.#failed(error)
      throw error
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await closeInTime(this.#queue, this.#queue.close(), this.#settings.redis, this.#givenUp)
  }

  async #check(): Promise<RedisServer> {
    await this.#queue.waitUntilReady()
    const client = await this.#queue.getBackend().client
    client.on('ready', () => this.#given.recovered())
    return checkRedis(client)
  }

  async #add({ id, name, delay, priority, isNew }: OperationJob): Promise<void> {
    const { maxQueued } = this.#settings
    if ((await this.#count()) + this.#added >= maxQueued) {
      throw new OperationQueueFullError(`${maxQueued} operations wait already`)
    }
    this.#added += 1
    if (isNew !== true && (await this.#revive(id, delay))) return
    // In BullMQ 1 is the highest priority, and jobs without one come before all others.
    await this.#queue.add(name, null, { jobId: id, delay, priority: lowestPriority - priority })
  }

  /** Returns the number of waiting jobs, at most a second old. */
  #count(): Promise<number> {
    if (this.#counted !== null) return this.#counted
    const counted = this.#queue.getJobCountByTypes('wait', 'prioritized', 'delayed')
    const forget = () => {
      this.#counted = null
    }
    this.#counted = counted
    counted.then(() => {
      this.#added = 0
      scheduleTimeout(forget, countedFor)
    }, forget)
    return counted
  }

  /** Runs a job again that ended without its operation, or that waits longer than its operation. */
  async #revive(id: string, delay: number): Promise<boolean> {
    const job = await this.#queue.getJob(id)
    if (job === undefined) return false
    try {
      const state = await job.getState()
      if (state === 'completed' || state === 'failed') await job.retry(state)
      else if (state === 'delayed' && delay === 0) await job.promote()
    } catch (error) {
      // Another process was faster.
      if (!isOfAnother(error)) throw error
    }
    return true
  }

  #failed(error: unknown): void {
    this.#lastError = error
    if (!this.#isClosed) this.#given.failed(unreachable, error)
  }
}

/** The failure of a queue, for the log. */
export const unreachable = 'the queue of operations cannot be reached'

/** Whether another process has taken or ended a job. */
export function isOfAnother(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return [
    ErrorCode.JobNotExist,
    ErrorCode.JobLockNotExist,
    ErrorCode.JobNotInState,
    ErrorCode.JobLockMismatch,
  ].some((known) => known === code)
}

/** A number of attempts that no job reaches. */
export const withoutEnd = 1_000_000_000

const lowestPriority = 101
const backoff = 5_000
const countedFor = 1_000
const keptFor = 24 * 60 * 60
/** Of completed, and of failed, jobs. */
const keptJobs = 1_000
