import type { HiddenFields } from '../../fastify/hidden-fields.js'
import type { Reporter } from '../../rules/report.js'
import type { RuledRoute } from '../../rules/ruled-routes.js'
import { cacheControlFaults } from './cache-control-faults.js'
import { judgeExpires } from './expires.js'
import { type CachingRouteOptions, type CachingRule, cachingRuleNames } from './options.js'
import type { CachingPlan } from './plan.js'

/** A route, as the rules of caching see it. */
export type CachedRoute = RuledRoute<CachingRule, CachingRouteOptions>

/** Holds what a route says against the rules, at boot. */
export function findCachingBreaches(
  own: CachingRouteOptions,
  { name, modeOf }: CachedRoute,
  now: number,
  reporter: Reporter,
): void {
  const find = (rule: CachingRule, problem: string, instead: string): void => {
    const mode = modeOf[rule]
    if (mode !== 'off') reporter.addFinding({ plugin: 'caching', route: name, rule, mode, problem, instead })
  }
  const given = own.cacheControl === undefined || own.cacheControl === false ? null : own.cacheControl
  for (const fault of given === null ? [] : cacheControlFaults(given)) {
    find('directives', `cacheControl: ${fault}`, 'directives that agree')
  }
  if (own.confidential === true && given !== null && given.noStore !== true) {
    find('confidential', `is confidential, and cacheControl lets it be stored`, 'one of the two')
  }
  const verdict = own.expires === undefined ? 'ok' : judgeExpires(own.expires, now).verdict
  if (verdict !== 'ok')
    find('expires', `expires is ${expiresFaults[verdict]}`, 'a date within a year from now')
}

const expiresFaults = { clamped: 'more than one year ahead', past: 'past', invalid: 'no HTTP-date' } as const

/**
 * Finds where the headers of a route that reads would show a field that `config.fields` hides: in `Last-Modified`, or to
 * those it is hidden from, by a shared cache.
 */
export function findHiddenBreaches(
  hidden: HiddenFields,
  { lastModified, letsCachesShare }: CachingPlan,
  { name, modeOf }: CachedRoute,
  reporter: Reporter,
): void {
  const { hidden: mode } = modeOf
  const find = (problem: string, instead: string): void => {
    if (mode !== 'off')
      reporter.addFinding({ plugin: 'caching', route: name, rule: 'hidden', mode, problem, instead })
  }
  if (lastModified !== false && Object.hasOwn(hidden, lastModified)) {
    find(
      `${lastModified} is hidden by config.fields, and Last-Modified shows it`,
      `caching: { lastModified: false }, or a member that is not hidden`,
    )
  }
  const ofSome = Object.keys(hidden).filter((path) => hidden[path] !== true)
  if (letsCachesShare && ofSome.length > 0) {
    find(
      `${ofSome.join(', ')} is hidden from some callers, and a shared cache answers all of them with one response`,
      'cacheControl without public and sMaxAge',
    )
  }
}

/** Tells the report which rules a route is excepted from, and why. */
export function tellExceptions({ name, exclusionReason, exceptions }: CachedRoute, reporter: Reporter): void {
  const exception = { plugin: 'caching', route: name, unused: false }
  if (exclusionReason !== null)
    reporter.addException({ ...exception, rules: cachingRuleNames, reason: exclusionReason })
  else
    for (const { except, reason } of exceptions)
      reporter.addException({ ...exception, rules: except, reason })
}
