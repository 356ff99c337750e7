import { BoundedCache } from '../../bounded-cache.js'

/** A maximum number of polls of one operation within a window. */
export interface PollLimitOptions {
  readonly max: number
  /** Milliseconds. */
  readonly timeWindow: number
}

interface Window {
  readonly endsAt: number
  polls: number
}

/** Maximum number of operations whose polls are counted; beyond it, the oldest count is dropped. */
const counted = 10_000

/** Counts the polls of each operation. */
export class PollLimit {
  readonly #options: PollLimitOptions
  readonly #windows = new BoundedCache<string, Window>(counted)

  constructor(options: PollLimitOptions) {
    this.#options = options
  }

  /** Counts a poll. Returns the milliseconds until the next allowed one if this one exceeds the limit, or else `null`. */
  count(id: string, now: number): number | null {
    const known = this.#windows.get(id)
    if (known === undefined || known.endsAt <= now) {
      this.#windows.set(id, { endsAt: now + this.#options.timeWindow, polls: 1 })
      return null
    }
    known.polls += 1
    return known.polls > this.#options.max ? known.endsAt - now : null
  }
}
