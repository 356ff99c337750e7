import { OperationQueueFullError } from '../engine.js'
import { ignore } from './backends.js'

/** Options of {@link QueueRoom}. */
export interface QueueRoomOptions {
  /** Returns the number of waiting operations of all processes. */
  readonly count: () => Promise<number>
  /** Maximum number of waiting operations. */
  readonly max: number
  readonly now: () => number
}

/**
 * Checks whether a queue has room without a count for each operation: it counts about once a second, in the background, and
 * adds the operations that this process has added since. Only if the sum reaches the maximum, a start waits for a count. Several
 * processes can exceed the maximum by the operations that they add within a second.
 */
export class QueueRoom {
  readonly #options: QueueRoomOptions
  #waiting = 0
  #added = 0
  #countedAt = Number.NEGATIVE_INFINITY
  #counting: Promise<void> | null = null

  constructor(options: QueueRoomOptions) {
    this.#options = options
  }

  /** Takes a place if the last count shows one; returns `false` if a new count is needed. */
  take(): boolean {
    const { max } = this.#options
    if (this.#waiting + this.#added >= max) return false
    // Adding an operation reports a queue that cannot be reached.
    if (!this.#isFresh()) this.#count().catch(ignore)
    this.#added += 1
    return true
  }

  /**
   * Takes a place that may have become free.
   * @throws OperationQueueFullError; the error of `count`, if it waits for it
   */
  async takeAfterCount(): Promise<void> {
    const { max } = this.#options
    if (!this.#isFresh() || this.#waiting < max) await this.#count()
    if (!this.take()) throw new OperationQueueFullError(`${max} operations wait already`)
  }

  #isFresh(): boolean {
    const { now } = this.#options
    return now() - this.#countedAt < freshFor
  }

  #count(): Promise<void> {
    this.#counting ??= this.#countOnce().finally(() => {
      this.#counting = null
    })
    return this.#counting
  }

  async #countOnce(): Promise<void> {
    const { count, now } = this.#options
    const addedBefore = this.#added
    this.#waiting = await count()
    this.#added -= addedBefore
    this.#countedAt = now()
  }
}

const freshFor = 1_000
