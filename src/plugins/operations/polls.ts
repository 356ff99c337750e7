import { BoundedCache } from '../../bounded-cache.js'

/** Bounds of what a client is told to wait before it asks again, in seconds. */
export interface PollInterval {
  readonly min: number
  readonly max: number
  /** Where nothing is known of how long it takes. */
  readonly initial: number
}

/**
 * Seconds after which it is worth to ask again (`Retry-After`, RFC 9110 §10.2.3): what is left of the usual time, and for
 * what takes longer than usual a quarter of what it took so far.
 *
 * @param usual milliseconds that it usually takes; `null` where that is not known
 * @param elapsed milliseconds since it was started
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

/** How many runs of a name are remembered. */
const remembered = 16

/** How long runs took lately, by the name of their work; for saying when it is worth to ask again. */
export class RunTimes {
  readonly #times = new Map<string, { readonly took: number[]; latest: number; usual: number }>()

  /**
   * Takes note of a run. One that ended no later than what is known is known already, or says nothing new: whoever asks
   * for an old operation over and over teaches nothing.
   *
   * @param took milliseconds from the start of the operation to its end
   * @param finishedAt when it ended
   */
  add(name: string, took: number, finishedAt: number): void {
    const known = this.#times.get(name) ?? { took: [], latest: Number.NEGATIVE_INFINITY, usual: 0 }
    if (finishedAt <= known.latest) return
    known.latest = finishedAt
    known.took.push(Math.max(took, 0))
    if (known.took.length > remembered) known.took.shift()
    // Not where it is asked for, which is more often.
    const sorted = [...known.took].sort((one, other) => one - other)
    known.usual = sorted[Math.ceil((sorted.length - 1) * 0.75)] ?? 0
    this.#times.set(name, known)
  }

  /**
   * Milliseconds in which a run is likely to be over: most of the last ones were by then. `null` where none is known.
   */
  usual(name: string): number | null {
    return this.#times.get(name)?.usual ?? null
  }
}
