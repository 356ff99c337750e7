import { BoundedCache } from '../../bounded-cache.js'
import { isPromise, type MaybeAsync, withValue } from '../../maybe-async.js'
import { inTime } from '../../time/in-time.js'
import type { Schedule } from '../../time/schedule.js'
import type { QuotaCaller } from './caller-key.js'
import { isMax, type QuotaDeclaration, type RateLimitMax, type Request } from './options.js'
import { Quota } from './quota.js'
import { patience } from './stores/bounded.js'

/** The quotas of one caller. */
export interface Limits {
  readonly quotas: readonly Quota[]
  /** The items of `RateLimit-Policy`. */
  readonly policies: string
  /** Which of the quotas count only failures, by their index. */
  readonly ofFailures: readonly number[]
}

/** Returns the quotas of the caller of a request. */
export type LimitsOf = (request: Request, caller: QuotaCaller) => MaybeAsync<Limits>

/** How the results of functions for `max` are kept. */
export interface MaxCache {
  /** Maximum number of callers. */
  readonly cache: number
  /** Milliseconds; 0 for not at all. */
  readonly maxTtl: number
  readonly now: () => number
  readonly schedule: Schedule
}

/** Returns the function that returns the quotas of a caller. Without functions for `max`, they are the same for all. */
export function limitsOf(declared: readonly QuotaDeclaration[], kept: MaxCache): LimitsOf {
  const { cache, maxTtl, now, schedule } = kept
  const fixed = declared.map(({ max }) => max)
  if (isFixed(fixed)) {
    const limits = limitsWith(declared, fixed)
    return () => limits
  }
  const known = new BoundedCache<string, { readonly limits: MaybeAsync<Limits>; readonly until: number }>(
    maxTtl === 0 ? 0 : cache,
  )

  function lookUp(request: Request, caller: QuotaCaller): MaybeAsync<Limits> {
    const found = declared.map(({ name, max }) =>
      typeof max === 'number' ? max : withValue(max(request, caller.id), (value) => checkedMax(name, value)),
    )
    return found.some(isPromise)
      ? inTime(Promise.all(found), patience, 'the max of a quota', schedule).then((maxima) =>
          limitsWith(declared, maxima),
        )
      : limitsWith(declared, found as readonly number[])
  }

  return function limitsOfCaller(request, caller) {
    const cached = known.get(caller.key)
    // A clock that was set back does not keep a result for longer.
    const left = cached === undefined ? 0 : cached.until - now()
    if (cached !== undefined && left > 0 && left <= maxTtl) return cached.limits
    const limits = lookUp(request, caller)
    const until = now() + maxTtl
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

function isFixed(maxima: readonly (number | RateLimitMax)[]): maxima is readonly number[] {
  return maxima.every((max) => typeof max === 'number')
}

function limitsWith(declared: readonly QuotaDeclaration[], maxima: readonly number[]): Limits {
  const limited = declared
    .map((declaration, index) => ({ ...declaration, max: maxima[index] ?? 0 }))
    .filter(({ max }) => max !== Number.POSITIVE_INFINITY)
  const quotas = limited.map((quota) => new Quota(quota))
  return {
    quotas,
    policies: quotas.map(({ policy }) => policy).join(', '),
    ofFailures: limited.flatMap(({ count }, index) => (count === 'failures' ? [index] : [])),
  }
}

/** @throws TypeError if a function for `max` has returned something else */
function checkedMax(name: string, max: unknown): number {
  if (max === null || max === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
  if (isMax(max)) return max
  throw new TypeError(`max of the quota ${name} is not an integer from 0, null or Infinity: ${String(max)}`)
}
