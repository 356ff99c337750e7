import { BoundedCache } from '../../bounded-cache.js'
import { isPromise, type MaybeAsync, withValue } from '../../maybe-async.js'
import { inTime } from '../../time/in-time.js'
import { type Schedule, scheduleTimeout } from '../../time/schedule.js'
import type { QuotaCaller } from './caller.js'
import { isMax, type Quota, type Request } from './options.js'
import { type Limits, limitsWith } from './quota.js'

/** Milliseconds that a request waits for Redis, and for the functions of the app that look up a `max`. */
export const patience = 500

const kept = 60_000

export type LimitsOf = (request: Request, caller: QuotaCaller) => MaybeAsync<Limits>

/** @param most number of callers whose results of functions for `max` are kept */
export function limitsOf(
  quotas: readonly Quota[],
  most: number,
  now: () => number = () => Date.now(),
  schedule: Schedule = scheduleTimeout,
): LimitsOf {
  const fixed = quotas.flatMap(({ max }) => (typeof max === 'number' ? [max] : []))
  if (fixed.length === quotas.length) {
    const limits = limitsWith(quotas, fixed)
    return () => limits
  }
  const known = new BoundedCache<string, { readonly limits: MaybeAsync<Limits>; readonly until: number }>(
    most,
  )

  function lookUp(request: Request, caller: QuotaCaller): MaybeAsync<Limits> {
    const found = quotas.map(({ name, max }) =>
      typeof max === 'number' ? max : withValue(max(request, caller.id), (value) => checkedMax(name, value)),
    )
    return found.some(isPromise)
      ? inTime(Promise.all(found), patience, 'the max of a quota', schedule).then((maxima) =>
          limitsWith(quotas, maxima),
        )
      : limitsWith(quotas, found as readonly number[])
  }

  return function limitsOfCaller(request, caller) {
    const cached = known.get(caller.key)
    // A clock that was set back does not keep a result for longer.
    const left = cached === undefined ? 0 : cached.until - now()
    if (cached !== undefined && left > 0 && left <= kept) return cached.limits
    const limits = lookUp(request, caller)
    const until = now() + kept
    known.set(caller.key, { limits, until })
    if (isPromise(limits)) {
      const keep = (result: Limits) => known.set(caller.key, { limits: result, until })
      // Requests that come meanwhile wait for the same promise. A failure is not kept.
      const forget = () => known.set(caller.key, { limits, until: 0 })
      limits.then(keep, forget)
    }
    return limits
  }
}

/** @throws TypeError if a function for `max` has returned something else */
function checkedMax(name: string, max: unknown): number {
  if (max === null || max === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
  if (isMax(max)) return max
  throw new TypeError(`max of the quota ${name} is not an integer from 0, null or Infinity: ${String(max)}`)
}
