import { RecentMap } from './recent-map.js'
import type { QuotaLimit, QuotaState, QuotaStore } from './store.js'

/** A window of a caller. */
interface Window {
  used: number
  readonly end: number
}

/**
 * Returns a {@link QuotaStore} in the memory of the process.
 *
 * @param maxCallers callers that each quota keeps; the least recently seen one is dropped first
 * @param now the time in milliseconds
 */
export function memoryQuotaStore(maxCallers: number, now: () => number = () => Date.now()): QuotaStore {
  const windowsOfQuota = new Map<string, RecentMap<Window>>()

  function windowsOf({ name }: QuotaLimit): RecentMap<Window> {
    const known = windowsOfQuota.get(name)
    if (known !== undefined) return known
    const windows = new RecentMap<Window>(maxCallers)
    windowsOfQuota.set(name, windows)
    return windows
  }

  /** Returns the current window. A clock that was set back does not make a window longer. */
  function currentWindow(caller: string, quota: QuotaLimit, time: number): Window | undefined {
    const window = windowsOf(quota).get(caller)
    if (window === undefined) return undefined
    const ttl = window.end - time
    return ttl > 0 && ttl <= quota.timeWindow ? window : undefined
  }

  return {
    take(caller, quotas, cost) {
      const time = now()
      let isTaken = true
      const windows = quotas.map((quota) => {
        const window = currentWindow(caller, quota, time)
        if ((window?.used ?? 0) + cost > quota.max) isTaken = false
        return window
      })
      const taken = isTaken ? cost : 0
      const states = quotas.map((quota, index): QuotaState => {
        const window = windows[index] ?? { used: 0, end: time + quota.timeWindow }
        if (windows[index] === undefined && taken > 0) windowsOf(quota).set(caller, window)
        window.used += taken
        return { used: window.used, ttl: window.end - time, end: window.end }
      })
      return { isTaken, states }
    },
    giveBack(caller, quotas, cost, ends) {
      const time = now()
      for (const [index, quota] of quotas.entries()) {
        const window = currentWindow(caller, quota, time)
        if (window !== undefined && window.end === ends[index]) window.used = Math.max(0, window.used - cost)
      }
    },
  }
}
