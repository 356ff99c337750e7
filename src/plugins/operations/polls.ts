import { BoundedCache } from '../../bounded-cache.js'

/** Bounds of `Retry-After`, in seconds. */
export interface PollInterval {
  readonly min: number
  readonly max: number
  /** The value while no run time is known. */
  readonly initial: number
}

/**
 * Returns the `Retry-After` of a poll in seconds (RFC 9110 §10.2.3): the rest of the usual time; if the operation takes longer
 * than usual, a quarter of the elapsed time.
 *
 * @param usual usual time in milliseconds; `null` if it is not known
 * @param elapsed milliseconds since the start
 */
export function pollAfter(
  usual: number | null,
  elapsed: number,
  { min, max, initial }: PollInterval,
): number {
  if (usual === null) return Math.min(Math.max(initial, min), max)
  const left = usual > elapsed ? usual - elapsed : elapsed / 4
  return Math.min(Math.max(Math.ceil(left / 1000), min), max)
}

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

/** Number of run times that are stored for each name. */
const remembered = 16

/** The latest run times, by the name of the operation; `Retry-After` is derived from them. */
export class RunTimes {
  readonly #times = new Map<string, { readonly took: number[]; latest: number; usual: number }>()

  /**
   * Stores a run time. An operation that ended before the latest known one is ignored, so that polls of an old operation do
   * not change the result.
   *
   * @param took milliseconds from the start of the operation to its end
   * @param finishedAt time of its end
   */
  add(name: string, took: number, finishedAt: number): void {
    const known = this.#times.get(name) ?? { took: [], latest: Number.NEGATIVE_INFINITY, usual: 0 }
    if (finishedAt <= known.latest) return
    known.latest = finishedAt
    known.took.push(Math.max(took, 0))
    if (known.took.length > remembered) known.took.shift()
    // Computed here, because it is read more often.
    const sorted = [...known.took].sort((one, other) => one - other)
    known.usual = sorted[Math.ceil((sorted.length - 1) * 0.75)] ?? 0
    this.#times.set(name, known)
  }

  /**
   * Returns the milliseconds within which most of the latest runs ended. `null` if no run is known.
   */
  usual(name: string): number | null {
    return this.#times.get(name)?.usual ?? null
  }
}
