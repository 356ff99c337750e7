import { type IQueueBackend, type JobJson, Queue, RedisQueueBackend } from 'bullmq'
import { inTime, LateError } from '../../../../time/in-time.js'
import { OverdueAnswers } from '../../overdue-answers.js'
import { isQueueFull } from '../engine.js'
import { answerTimeout, type Backends, backendsIn, closeInTime } from './backends.js'
import type { Faults } from './faults.js'
import type { BullmqSettings } from './options.js'
import { QueueRoom } from './queue-room.js'
import { checkRedis } from './server-checks.js'

/** Adds operations to a queue. */
export class JobQueue {
  readonly #queue: Queue<null, void, string, null, void, string, IQueueBackend, object>
  readonly #backends: Backends
  readonly #room: QueueRoom
  readonly #faults: Faults
  #lastError: unknown
  // After one late response, the next one would be late, too.
  readonly #overdue = new OverdueAnswers({ max: 1, retryAfter: answerTimeout, now: Date.now })
  #isClosed = false

  constructor({ place, queue, maxQueued }: BullmqSettings, faults: Faults) {
    this.#backends = backendsIn(place)
    this.#queue = new Queue(queue, { connection: {}, skipVersionCheck: true }, this.#backends.make)
    this.#queue.on('error', (error) => this.#met(error))
    this.#queue.getBackend().on('ready', () => faults.over(part))
    const count = () => this.#queue.getJobCountByTypes('waiting', 'delayed')
    this.#room = new QueueRoom({ count, max: maxQueued, now: Date.now })
    this.#faults = faults
  }

  /**
   * Waits until the queue is ready.
   *
   * @returns whether BullMQ would write warnings about the server to the console
   * @throws Error that says why it cannot be used
   */
  async ready(): Promise<{ readonly isWarnedOf: boolean }> {
    try {
      return await inTime(this.#look(), answerTimeout, 'an answer of the queue')
    } catch (error) {
      if (!(error instanceof LateError)) throw error
      throw new Error(`the queue of operations cannot be reached: ${error.message}`, {
        cause: this.#lastError ?? error,
      })
    }
  }

  /**
   * Adds an operation. Does nothing if the queue has it already.
   * @throws OperationQueueFullError; LateError
   */
  async add(id: string): Promise<void> {
    if (!this.#overdue.mayAsk()) throw new LateError('the queue of operations does not answer')
    const added = this.#room.take() ? this.#put(id) : this.#putAfterCount(id)
    try {
      await inTime(added, answerTimeout, 'an answer of the queue of operations')
      this.#overdue.clear()
      this.#faults.over(part)
    } catch (error) {
      if (error instanceof LateError) this.#awaitLate(added)
      if (!isQueueFull(error)) this.#met(error)
      throw error
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await closeInTime(this.#queue, this.#backends)
  }

  async #look(): Promise<{ readonly isWarnedOf: boolean }> {
    await this.#queue.waitUntilReady()
    const backend = this.#queue.getBackend()
    return backend instanceof RedisQueueBackend ? checkRedis(await backend.client) : { isWarnedOf: false }
  }

  /** `queue.add` would also make a `Job`, which is not used here. */
  #put(id: string): Promise<unknown> {
    return this.#queue.getBackend().addJob(jobOf(id), id)
  }

  async #putAfterCount(id: string): Promise<void> {
    await this.#room.takeAfterCount()
    await this.#put(id)
  }

  #awaitLate(added: Promise<unknown>): void {
    this.#overdue.add(added)
    added.then(
      () => this.#faults.over(part),
      (error: unknown) => {
        // A full queue is a response too.
        if (isQueueFull(error)) this.#faults.over(part)
      },
    )
  }

  #met(error: unknown): void {
    if (this.#isClosed) return
    this.#lastError = error
    this.#faults.met(part, 'the queue of operations cannot be reached', error)
  }
}

const part = 'queue'

// The registry limits the runs. A job that has ended is removed, so that the operation can be added again.
const jobOptions = Object.freeze({
  attempts: 1_000_000_000,
  removeOnComplete: true,
  removeOnFail: true,
})

/** A new job in the format of BullMQ. */
function jobOf(id: string): JobJson {
  return {
    id,
    name: 'operation',
    data: 'null',
    opts: jobOptions,
    progress: 0,
    attemptsMade: 0,
    attemptsStarted: 0,
    stalledCounter: 0,
    timestamp: Date.now(),
    failedReason: '',
    returnvalue: 'null',
  }
}
