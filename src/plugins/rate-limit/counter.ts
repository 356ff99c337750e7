import type { MaybeAsync } from '../../maybe-async.js'
import type { Quota, Request } from './options.js'
import type { Limit, State } from './quota.js'

/** Counts a request of a caller, and returns the state of each quota. What one quota refuses does not use up another. */
export type Counter = (
  request: Request,
  caller: string,
  limits: readonly Limit[],
) => MaybeAsync<readonly State[]>

/** The window of a caller. It begins with the first request. */
interface Window {
  used: number
  readonly end: number
}

/** Counts in memory, without a promise. */
export function memoryCounter(callers: number, now: () => number = () => Date.now()): Counter {
  const windowsOf = new Map<Quota, RecentMap<Window>>()

  return function countInMemory(_request, caller, limits) {
    const time = now()
    let isRefused = false
    const windows = limits.map(({ quota, max }) => {
      const window = windowsOf.get(quota)?.get(caller)
      const ttl = window === undefined ? 0 : window.end - time
      // A clock that was set back does not make a window longer.
      const current = ttl > 0 && ttl <= quota.timeWindow ? window : undefined
      if ((current?.used ?? 0) >= max) isRefused = true
      return current
    })
    return limits.map(({ quota, max }, index) => {
      const window = windows[index] ?? { used: 0, end: time + quota.timeWindow }
      const isExceeded = window.used >= max
      if (!isRefused) {
        if (windows[index] === undefined) begin(quota, caller, window)
        window.used += 1
      }
      return { used: window.used, ttl: window.end - time, isExceeded }
    })
  }

  function begin(quota: Quota, caller: string, window: Window): void {
    const known = windowsOf.get(quota)
    const windows = known ?? new RecentMap<Window>(callers)
    if (known === undefined) windowsOf.set(quota, windows)
    windows.set(caller, window)
  }
}

/** A map that drops an entry only after `least` others were used since its last use. It has at most twice as many. */
class RecentMap<Value> {
  #recent = new Map<string, Value>()
  #older: ReadonlyMap<string, Value> = new Map()
  readonly #least: number

  constructor(least: number) {
    this.#least = least
  }

  get(key: string): Value | undefined {
    const recent = this.#recent.get(key)
    if (recent !== undefined) return recent
    const older = this.#older.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  set(key: string, value: Value): void {
    this.#recent.set(key, value)
    if (this.#recent.size < this.#least) return
    this.#older = this.#recent
    this.#recent = new Map()
  }
}
