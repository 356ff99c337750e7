import { invalid, resolveOptions, resolveRouteOptions } from '../../options.js'
import { type LimitsOf, limitsOf, type MaxCache } from './limits.js'
import {
  checkContradictions,
  type QuotaDeclaration,
  type RateLimitRouteOptions,
  type ResolvedRateLimit,
  type ResolvedRateLimitRoute,
  rateLimitRouteChecks,
} from './options.js'

/** The quotas that requests count against, and how much each request takes from them. */
export interface Charge {
  readonly limitsOf: LimitsOf
  /** Units, at least 0. */
  readonly cost: number
}

/** The charges that the options of the plugin, of routes and of hooks declare. */
export interface Charges {
  /** That of the plugin. */
  readonly standard: Charge
  /**
   * Returns that of a route; `undefined` for the standard, `null` for no quota.
   *
   * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
   */
  ofRoute(name: string, given: RateLimitRouteOptions | false | undefined): Charge | null | undefined
  /**
   * Returns that of a hook, which has quotas of its own; `null` for none.
   *
   * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
   */
  ofHook(name: string, given: RateLimitRouteOptions): Charge | null
}

/** Returns the charges for the options of the plugin. */
export function chargesOf(resolved: ResolvedRateLimit, kept: MaxCache): Charges {
  // A route has the quotas of the plugin or its own, never some of each.
  const { quotas: _ofPlugin, ...options } = resolved
  const declared = declaredQuotas(resolved, (name = 'default') => name)
  const standard = { limitsOf: limitsOf(declared, kept), cost: 1 }

  function withOwnQuotas(label: string, name: string, own: ResolvedRateLimitRoute): Charge | null {
    const quotas = declaredQuotas(own, (part) => (part === undefined ? name : `${name} ${part}`))
    checkCost(label, own.cost, quotas)
    return own.cost === 0 ? null : { limitsOf: limitsOf(quotas, kept), cost: own.cost }
  }

  return {
    standard,
    ofRoute(name, given) {
      const label = `${name} config.rateLimit`
      const own = resolveRouteOptions<RateLimitRouteOptions, ResolvedRateLimitRoute>(
        label,
        given,
        rateLimitRouteChecks,
        options,
      )
      if (given === undefined) return undefined
      if (given === false || own === false) return null
      checkContradictions(label, given)
      if (!isCostOnly(given)) return withOwnQuotas(label, name, own)
      checkCost(label, own.cost, declared)
      return own.cost === 0 ? null : { ...standard, cost: own.cost }
    },
    ofHook(name, given) {
      const label = 'app.rateLimit()'
      const own = resolveOptions<RateLimitRouteOptions, ResolvedRateLimitRoute>(
        label,
        given,
        rateLimitRouteChecks,
        options,
      )
      checkContradictions(label, given)
      return withOwnQuotas(label, name, own)
    },
  }
}

/** @param nameOf returns the name of a quota in the header fields; without an argument, that of the only one */
function declaredQuotas(
  { quotas, max, timeWindow, count }: ResolvedRateLimitRoute,
  nameOf: (name?: string) => string,
): readonly QuotaDeclaration[] {
  if (quotas === undefined) return [{ name: nameOf(), max, timeWindow, count }]
  return quotas.map((quota) => ({
    name: nameOf(quota.name),
    max: quota.max,
    // Checked, and so in milliseconds.
    timeWindow: quota.timeWindow as number,
    count: quota.count ?? 'all',
  }))
}

/** Checks that a request does not cost more than a quota has: none would be served. */
function checkCost(label: string, cost: number, declared: readonly QuotaDeclaration[]): void {
  for (const { name, max } of declared) {
    if (typeof max === 'number' && cost > max) {
      invalid(`${label}.cost`, `an integer from 0 to ${max}, the max of the quota ${name}`, cost)
    }
  }
}

/** Whether the options of a route have nothing but a cost: its requests count against the quotas of the plugin. */
function isCostOnly({ cost, ...others }: RateLimitRouteOptions): boolean {
  return cost !== undefined && Object.values(others).every((value) => value === undefined)
}
