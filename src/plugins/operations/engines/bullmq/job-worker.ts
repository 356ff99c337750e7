import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { DelayedError, type Job, UnrecoverableError, WaitingError, Worker } from 'bullmq'
import { inTime } from '../../../../time/in-time.js'
import { scheduleTimeout } from '../../../../time/schedule.js'
import type { OperationWorker } from '../engine.js'
import { isOfAnother, unreachable, withoutEnd } from './job-queue.js'
import type { BullmqSettings } from './options.js'
import { answerTimeout, closeInTime, connectionTo, ignore, silence } from './redis.js'

/** Takes operations from a queue, and runs them. */
export class JobWorker {
  readonly #worker: Worker<null, null, string>
  readonly #given: OperationWorker
  readonly #redis: BullmqSettings['redis']
  readonly #runs = new Set<Promise<unknown>>()
  /** Jobs whose end BullMQ has to store. */
  readonly #ending = new Set<Job>()
  readonly #closing = new AbortController()
  readonly #givenUp = new AbortController()
  #isPaused = false
  #onEnd: () => void = () => {}
  #isResting = false

  /** @param isQuiet whether BullMQ would write warnings about the server to the console */
  constructor(
    { redis, queue, concurrency, telemetry }: BullmqSettings,
    given: OperationWorker,
    isQuiet: boolean,
  ) {
    this.#given = given
    this.#redis = redis
    this.#worker = new Worker(queue, (job, token) => this.#process(job, token), {
      connection: connectionTo(redis, true, this.#givenUp.signal),
      // Without it, BullMQ rounds delays to whole seconds.
      skipVersionCheck: isQuiet,
      ...(telemetry === undefined ? {} : { telemetry }),
      autorun: false,
      concurrency,
      // The job of a dead process is found within its lease.
      lockDuration: Math.ceil((given.lease * 3) / 4),
      stalledInterval: Math.ceil(given.lease / 8),
      maxStalledCount: withoutEnd,
      runRetryDelay: rest,
    })
    this.#worker.on('error', (error) => this.#failed(error))
    this.#worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) given.lost(id)
    })
    this.#worker.on('stalled', (id) => given.lost(id))
    this.#worker.on('completed', (job) => this.#ended(job))
    this.#worker.on('failed', (job) => this.#ended(job))
    silence(this.#worker)
  }

  /** Begins to take operations, or goes on after a pause. */
  work(): void {
    this.#isPaused = false
    if (this.#worker.isPaused()) this.#worker.resume().catch(ignore)
    else if (!this.#worker.isRunning()) this.#worker.run().catch((error) => this.#failed(error))
  }

  /** Takes no more operations. */
  async pause(): Promise<void> {
    this.#isPaused = true
    await this.#worker.pause(true)
  }

  /** Waits for the runs. The close is forced: otherwise BullMQ waits for events that may have come already. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.pause()
    while (this.#runs.size > 0) await Promise.allSettled(this.#runs)
    const ended = new Promise<void>((resolve) => {
      this.#onEnd = resolve
    })
    if (this.#ending.size > 0) await inTime(ended, answerTimeout, 'the end of a job').catch(ignore)
    await closeInTime(this.#worker, this.#worker.close(true), this.#redis, this.#givenUp)
  }

  async #process(job: Job<null, null, string>, token: string | undefined): Promise<null> {
    // A worker that pauses or closes may get one more job.
    if (this.#isPaused || this.#closing.signal.aborted) return this.#handBack(job, token)
    const run = this.#run(job, token)
    this.#runs.add(run)
    try {
      return await run
    } finally {
      this.#runs.delete(run)
    }
  }

  /** Runs an operation, and decides what becomes of its job. What it throws tells BullMQ. */
  async #run(job: Job<null, null, string>, token: string | undefined): Promise<null> {
    const outcome = await this.#outcomeOf(job)
    switch (outcome.kind) {
      case 'ended':
        this.#willEnd(job)
        if (outcome.status === 'Failed') throw new UnrecoverableError('the operation has failed')
        return null
      case 'absent':
        this.#willEnd(job)
        return null
      case 'busy':
        return this.#delay(job, token, Math.max(outcome.delay, shortestPause))
      case 'retry':
        return this.#delay(job, token, outcome.delay)
      case 'not-implemented': {
        // Other workers can take it soon. If there is none for long, it comes more and more rarely.
        const factor = Math.min(Math.max(job.attemptsStarted / 10, 1), 60)
        return this.#delay(job, token, randomInt(shortestPause, longestPause) * factor)
      }
      case 'released':
        // This worker would take it again.
        await this.pause()
        return this.#handBack(job, token)
    }
  }

  // The close waits for the jobs that end meanwhile. Others have sent their end.
  #willEnd(job: Job): void {
    if (this.#closing.signal.aborted) this.#ending.add(job)
  }

  #ended(job: Job | undefined): void {
    if (job !== undefined) this.#ending.delete(job)
    if (this.#ending.size === 0) this.#onEnd()
  }

  async #outcomeOf({ id = '' }: Job): ReturnType<OperationWorker['run']> {
    try {
      const outcome = await this.#given.run(id)
      this.#given.recovered()
      return outcome
    } catch (error) {
      this.#given.failed('an operation could not be run', error)
      // The next one would fail in the same way. BullMQ delays this one by the backoff of the job.
      await this.#rest()
      throw error
    }
  }

  async #delay(job: Job, token: string | undefined, milliseconds: number): Promise<never> {
    await job.moveToDelayed(Date.now() + milliseconds, token)
    throw new DelayedError()
  }

  async #handBack(job: Job, token: string | undefined): Promise<never> {
    await job.moveToWait(token)
    throw new WaitingError()
  }

  #failed(error: Error): void {
    // BullMQ emits 'lockRenewalFailed' too.
    const isLockLost = isOfAnother(error) || error.message.startsWith('could not renew lock')
    if (this.#closing.signal.aborted || isLockLost) return
    this.#given.failed(unreachable, error)
    if (error.name === 'ReplyError') this.#slowDown()
  }

  /** Stops for a while: BullMQ tries again at once when Redis answers with an error, such as that its memory is full. */
  #slowDown(): void {
    if (this.#isResting || this.#isPaused) return
    this.#isResting = true
    this.#worker.pause(true).catch(ignore)
    scheduleTimeout(() => {
      this.#isResting = false
      if (!this.#isPaused && !this.#closing.signal.aborted) this.work()
    }, rest)
  }

  async #rest(): Promise<void> {
    await pause(rest, undefined, { signal: this.#closing.signal, ref: false }).catch(ignore)
  }
}

const rest = 1_000
const shortestPause = 100
const longestPause = 500
