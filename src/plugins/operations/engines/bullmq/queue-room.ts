import { OperationQueueFullError } from '../engine.js'
import { ignore } from './backends.js'

/** Options of {@link QueueRoom}. */
export interface QueueRoomOptions {
  /** How many wait in the queue, over all processes. */
  readonly count: () => Promise<number>
  /** How many may. */
  readonly max: number
  readonly now: () => number
}

/**
 * Knows whether a queue has room without asking it each time: counts about once a second, off the path of those who put
 * something in, and adds what this process put in since. Only where that sum reaches the bound somebody waits for a
 * count. Several processes can overshoot by what they put in within that second.
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

  /** Takes a place, where there is one as far as is known; `false` where it has to be counted first. */
  take(): boolean {
    const { max } = this.#options
    if (this.#waiting + this.#added >= max) return false
    // Whether the queue can be reached shows when something is put in.
    if (!this.#isFresh()) this.#count().catch(ignore)
    this.#added += 1
    return true
  }

  /**
   * Takes a place that may have become free.
   * @throws OperationQueueFullError; what `count` rejects with, where it had to be waited for
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
