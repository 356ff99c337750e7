import {
  basePath,
  type Check,
  type Checks,
  functionOf,
  invalid,
  isObject,
  objectOf,
  text,
} from '../../options.js'
import { type RouteRuleOptions, type RuleOptions, routeRuleChecks, ruleChecks } from '../../rules/modes.js'
import { lifecycleTime } from './lifecycle-time.js'

/**
 * What versions are held to: `listed` at boot, every version that routes have is in the list; `headers`, answers tell of
 * deprecation and sunset; `retired`, after the sunset the answer is 410.
 */
export type VersionRule = 'listed' | 'headers' | 'retired'

/** All of {@link VersionRule}. */
export const versionRuleNames: readonly VersionRule[] = ['listed', 'headers', 'retired']

/** What `Link` leads to: absolute URLs or paths. */
export interface LifecycleLinkOptions {
  /** A page about the deprecation: `rel="deprecation"` (RFC 9745 §3). */
  readonly deprecation?: string
  /** A page about the end: `rel="sunset"` (RFC 8594 §6). */
  readonly sunset?: string
  /** The version or resource that comes instead, such as `/v2`: `rel="successor-version"` (RFC 5829 §3.3). */
  readonly successor?: string
}

/** How long a version is provided. */
export interface LifecycleOptions {
  /**
   * From when on it should not be used any more; may be yet to come. A `Date`, an RFC 3339 date-time, or a date, which
   * stands for its first moment in UTC.
   */
  readonly deprecated?: Date | string
  /** From when on it is answered with 410; not before `deprecated` (RFC 9745 §4). Same forms. */
  readonly sunset?: Date | string
  readonly link?: LifecycleLinkOptions
}

/** Options of the plugin `versions`. */
export interface VersionsOptions extends RuleOptions<VersionRule> {
  /**
   * The versions of the service by their major number, `{}` for one that is simply there. Where any is listed, routes
   * have no others. Keep a retired version in it after its routes are gone: it is what answers 410.
   * @default {}: any version, and none is deprecated
   */
  readonly versions?: Readonly<Record<number | string, LifecycleOptions>>
  /**
   * Path in front of the version, where the service is mounted below one, such as `/api`.
   * @default ''
   */
  readonly basePath?: string
  /**
   * The time, in milliseconds since the epoch.
   * @default Date.now
   */
  readonly now?: () => number
}

/** What a route says under `config.versions`, over what is said of its version; `false` leaves the route alone. */
export interface VersionsRouteOptions extends RouteRuleOptions<VersionRule>, LifecycleOptions {}

const time: Check<Date | string> = (label, received) =>
  lifecycleTime(received) === null
    ? invalid(label, "a Date, an RFC 3339 date-time, or a date such as '2027-01-31'", received)
    : (received as Date | string)

// RFC 3986: what a URI reference may have; `<` and `>` would end it in the header.
const reference = text("a URL or a path such as '/v2'", /^[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/)

const lifecycleChecks: Checks<LifecycleOptions> = {
  deprecated: time,
  sunset: time,
  link: objectOf<LifecycleLinkOptions>({ deprecation: reference, sunset: reference, successor: reference }),
}

const lifecycle = objectOf<LifecycleOptions>(lifecycleChecks)

const list: Check<Readonly<Record<string, LifecycleOptions>>> = (label, received) => {
  if (!isObject(received)) return invalid(label, 'an object', received)
  for (const key of Object.keys(received)) {
    if (!/^(0|[1-9][0-9]{0,8})$/.test(key)) invalid(`${label}.${key}`, 'a major version such as 1', key)
  }
  const entries = Object.entries(received).map(([key, value]) => [key, lifecycle(`${label}.${key}`, value)])
  return Object.freeze(Object.fromEntries(entries))
}

/** Checks of {@link VersionsOptions}. */
export const versionsChecks: Checks<VersionsOptions> = {
  ...ruleChecks(versionRuleNames),
  versions: list,
  basePath,
  now: functionOf('a function that returns milliseconds'),
}

/** Checks of {@link VersionsRouteOptions}. */
export const versionsRouteChecks: Checks<VersionsRouteOptions> = {
  ...routeRuleChecks(versionRuleNames),
  ...lifecycleChecks,
}

/** Where nobody said otherwise. */
export const versionsDefaults: Required<VersionsOptions> = {
  mode: 'enforce',
  rules: {},
  exceptions: [],
  versions: {},
  basePath: '',
  now: Date.now,
}
