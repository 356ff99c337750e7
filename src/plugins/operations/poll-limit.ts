import { BoundedCache } from '../../bounded-cache.js'

/** So many polls of one operation within a window. */
export interface PollLimitOptions {
  readonly max: number
  /** Milliseconds. */
  readonly timeWindow: number
}

interface Window {
  readonly endsAt: number
  polls: number
}

/** Operations whose polls are counted; of more, the one that was counted first begins again. */
const counted = 10_000

/** Counts the polls of each operation. */
export class PollLimit {
  readonly #options: PollLimitOptions
  readonly #windows = new BoundedCache<string, Window>(counted)

  constructor(options: PollLimitOptions) {
    this.#options = options
  }

  /** Counts a poll; milliseconds until the next one that is welcome, where this one is too many. */
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
