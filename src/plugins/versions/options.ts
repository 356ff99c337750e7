import { timeOf } from '../../http/dates.js'
import {
  basePath,
  type Check,
  checksOf,
  functionOf,
  invalid,
  isObject,
  type OptionsOf,
  objectOf,
  option,
  optional,
  text,
} from '../../options.js'
import { type RouteRuleOptions, type RuleOptions, routeRuleOptions, ruleOptions } from '../../report/modes.js'

/**
 * The rules of versions: `listed` (at boot, all versions of routes are in the options), `headers` (responses announce
 * deprecation and sunset), `retired` (requests after the sunset are answered with 410).
 */
export type VersionRule = 'listed' | 'headers' | 'retired'

export const versionRuleNames: readonly VersionRule[] = ['listed', 'headers', 'retired']

/** Returns the time of a `Date`, an RFC 3339 date-time or a date, in milliseconds since the epoch. */
export function lifecycleTime(given: unknown): number | null {
  return timeOf(typeof given === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(given) ? `${given}T00:00:00Z` : given)
}

const time: Check<Date | string> = (label, received) =>
  lifecycleTime(received) === null
    ? invalid(label, "a Date, an RFC 3339 date-time, or a date such as '2027-01-31'", received)
    : (received as Date | string)

// RFC 3986: the characters of a URI reference. `<` and `>` would end it in the header.
const reference = text("a URL or a path such as '/v2'", /^[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/)

/** The targets of `Link`: absolute URLs or paths. */
export interface LifecycleLinkOptions {
  /** A page about the deprecation: `rel="deprecation"` (RFC 9745 §3). */
  readonly deprecation?: string
  /** A page about the sunset: `rel="sunset"` (RFC 8594 §6). */
  readonly sunset?: string
  /** The next version or resource, such as `/v2`: `rel="successor-version"` (RFC 5829 §3.3). */
  readonly successor?: string
}

const link = objectOf<LifecycleLinkOptions>({
  deprecation: reference,
  sunset: reference,
  successor: reference,
})

const lifecycleOptions = {
  /**
   * When the deprecation begins; may be in the future. A `Date`, an RFC 3339 date-time, or a date, which is its first
   * moment in UTC.
   * @default never
   */
  deprecated: optional(time),
  /**
   * When requests begin to be answered with 410; not before `deprecated` (RFC 9745 §4). Same forms.
   * @default never
   */
  sunset: optional(time),
  /**
   * Pages about the lifecycle.
   * @default {}
   */
  link: optional(link),
}

/** How long a version is provided. */
export interface LifecycleOptions extends OptionsOf<typeof lifecycleOptions> {}

const lifecycle: Check<LifecycleOptions> = objectOf(checksOf(lifecycleOptions)[0])

const list: Check<Readonly<Record<string, LifecycleOptions>>> = (label, received) => {
  if (!isObject(received)) return invalid(label, 'an object', received)
  for (const key of Object.keys(received)) {
    if (!/^(0|[1-9][0-9]{0,8})$/.test(key)) invalid(`${label}.${key}`, 'a major version such as 1', key)
  }
  const entries = Object.entries(received).map(([key, value]) => [key, lifecycle(`${label}.${key}`, value)])
  return Object.freeze(Object.fromEntries(entries))
}

const ownOptions = {
  /**
   * The versions of the service by their major number, `{}` for one without an end. If there are any, routes may have no
   * others. Keep a retired version after its routes are deleted, so that its paths are answered with 410.
   * @default {}: any version, without an end
   */
  versions: option(list, {}),
  /**
   * Path in front of the version, such as `/api`.
   * @default the prefix of the context that registers the plugin, without a version
   */
  basePath: optional(basePath),
  /**
   * Returns the time, in milliseconds since the epoch.
   * @default Date.now
   */
  now: option(functionOf<() => number>('a function that returns milliseconds'), Date.now),
}

export const versionsOptions = { ...ruleOptions(versionRuleNames), ...ownOptions }

export const versionsRouteOptions = { ...routeRuleOptions(versionRuleNames), ...lifecycleOptions }

/** Options of the plugin `versions`. */
export interface VersionsOptions extends RuleOptions<VersionRule>, OptionsOf<typeof ownOptions> {}

/** Options of a route under `config.versions`, over those of its version; `false` leaves the route alone. */
export interface VersionsRouteOptions extends RouteRuleOptions<VersionRule>, LifecycleOptions {}
