import type { CallerOf } from './caller-key.js'
import type { Counting } from './counting.js'
import type { LimitsOf } from './limits.js'
import type { CreateRateLimit, Request } from './options.js'
import type { QuotaStore } from './stores/store.js'

/** The key of a request that is not counted. */
export const uncounted = ''

/** Returns the function for the keys of callers. */
export function keyGenerator(callerOf: CallerOf) {
  return async (request: Request): Promise<string> => (await callerOf(request))?.key ?? uncounted
}

/** Returns what `app.createRateLimit()` of @fastify/rate-limit returns, for the quotas of the plugin. */
export function limiter({ count }: Counting, limitsOf: LimitsOf): ReturnType<CreateRateLimit> {
  return async function countRequest(request, { increment = true } = {}) {
    const cost = increment ? 1 : 0
    const counted = await count({ limitsOf, cost }, request)
    if (counted === null) return { isAllowed: true, key: uncounted }
    const { caller, limits, states, isTaken } = counted
    const each = limits.quotas.map((quota, index) => {
      const state = states[index] ?? { used: 0, ttl: 0, end: 0 }
      return { quota, state, isExceeded: !isTaken && state.used + cost > quota.max }
    })
    const [first, ...others] = each
    if (first === undefined) return { isAllowed: true, key: caller }
    const { quota, state, isExceeded } = others.reduce((one, other) => {
      if (one.isExceeded !== other.isExceeded) return other.isExceeded ? other : one
      return other.quota.remaining(other.state) < one.quota.remaining(one.state) ? other : one
    }, first)
    return {
      isAllowed: false,
      key: caller,
      max: quota.max,
      timeWindow: quota.timeWindow,
      remaining: quota.remaining(state),
      ttl: state.ttl,
      ttlInSeconds: Math.ceil(state.ttl / 1000),
      isExceeded,
      isBanned: false,
    }
  }
}

type Done = (error: Error | null, result?: { current: number; ttl: number }) => void

/**
 * Returns a store of @fastify/rate-limit for the functions of `app.createRateLimit()`.
 *
 * @param storeOf returns the store of one of these functions
 */
export function storeOfLimiters(storeOf: () => QuotaStore) {
  let created = 0
  return class LimiterStore {
    readonly #store = storeOf()
    // No other quota has a name with a space in this place.
    readonly #name = `limiter ${created++}`

    incr(key: string, done: Done, timeWindow: number): void {
      this.#take(key, done, timeWindow, 1)
    }

    read(key: string, done: Done, timeWindow: number): void {
      this.#take(key, done, timeWindow, 0)
    }

    child(): LimiterStore {
      return new LimiterStore()
    }

    /** Takes in any case: @fastify/rate-limit counts requests beyond the quota too, for its bans. */
    #take(key: string, done: Done, timeWindow: number, cost: number): void {
      const quota = { name: this.#name, max: Number.MAX_SAFE_INTEGER, timeWindow }
      Promise.resolve(this.#store.take(key, [quota], cost)).then(
        ({ states: [state] }) => {
          const { used, ttl } = state ?? { used: 0, ttl: 0 }
          done(null, { current: used, ttl: used === 0 ? 0 : ttl })
        },
        (error: Error) => done(error),
      )
    }
  }
}
