import { formatHttpDate, timeOf } from '../../http/dates.js'
import { addLinks, formatLinks } from '../../http/header-fields.js'
import { pathOf } from '../../http/url.js'
import {
  basePath,
  type Check,
  checksOf,
  invalid,
  isObject,
  type OptionsOf,
  objectOf,
  option,
  optional,
  text,
} from '../../options.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import {
  type Mode,
  type RouteRuleOptions,
  type RuleOptions,
  routeRuleOptions,
  ruleOptions,
} from '../../report/modes.js'
import type { DocumentOperation } from '../../schema/openapi.js'
import { clockOption } from '../../time/clock.js'

/**
 * The rules of versions: `listed` (at boot, all versions of routes are in the options), `headers` (responses announce
 * deprecation and sunset), `retired` (requests after the sunset are answered with 410).
 */
export type VersionRule = 'listed' | 'headers' | 'retired'

export const versionRuleNames: readonly VersionRule[] = ['listed', 'headers', 'retired']

/** Returns the time of a `Date`, an RFC 3339 date-time or a date, in milliseconds since the epoch. */
function lifecycleTime(given: unknown): number | null {
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

const lifecycle: Check<LifecycleOptions> = objectOf(checksOf(lifecycleOptions))

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
  ...clockOption,
}

export const versionsOptions = { ...ruleOptions(versionRuleNames), ...ownOptions }

export const versionsRouteOptions = { ...routeRuleOptions(versionRuleNames), ...lifecycleOptions }

/** Options of the plugin `versions`. */
export interface VersionsOptions extends RuleOptions<VersionRule>, OptionsOf<typeof ownOptions> {}

/** Options of a route under `config.versions`, over those of its version; `false` leaves the route alone. */
export interface VersionsRouteOptions extends RouteRuleOptions<VersionRule>, LifecycleOptions {}

export interface Lifecycle {
  /** The major version; `null` for a route without one. */
  readonly version: string | null
  /** When the deprecation begins, in milliseconds since the epoch, to the second; `null` for never. */
  readonly deprecated: number | null
  /** The end of the version, in the same form. */
  readonly sunset: number | null
  readonly link: LifecycleLinkOptions
  /** `deprecation`, `sunset` and `link`, those that there are. */
  readonly headers: Readonly<Record<string, string>>
  readonly isAnnounced: boolean
  /** From when on requests are answered with 410, or counted; infinite for never. */
  readonly end: number
}

export function lifecycleOf(
  label: string,
  version: string | null,
  options: LifecycleOptions,
  modeOf: Readonly<Record<VersionRule, Mode>>,
  ofVersion?: Lifecycle,
): Lifecycle {
  const deprecated = secondOf(options.deprecated) ?? ofVersion?.deprecated ?? null
  const sunset = secondOf(options.sunset) ?? ofVersion?.sunset ?? null
  if (deprecated !== null && sunset !== null && sunset < deprecated) {
    const expected = `not before deprecated, ${iso(deprecated)} (RFC 9745 §4)`
    invalid(`${label}.sunset`, expected, iso(sunset))
  }
  const link = { ...ofVersion?.link, ...options.link }
  const targets = [
    { href: link.deprecation ?? '', rel: 'deprecation' },
    { href: link.sunset ?? '', rel: 'sunset' },
    { href: link.successor ?? '', rel: 'successor-version' },
  ].filter(({ href }) => href !== '')
  const headers = {
    // A structured field of the type Date (RFC 9745 §2.1).
    ...(deprecated !== null && { deprecation: `@${deprecated / 1000}` }),
    ...(sunset !== null && { sunset: formatHttpDate(sunset) }),
    ...(targets.length > 0 && { link: formatLinks(targets) }),
  }
  const isAnnounced = modeOf.headers !== 'off' && Object.keys(headers).length > 0
  const end = sunset === null || modeOf.retired === 'off' ? Number.POSITIVE_INFINITY : sunset
  return { version, deprecated, sunset, link, headers, isAnnounced, end }
}

function secondOf(given: Date | string | undefined): number | null {
  const time = lifecycleTime(given)
  return time === null ? null : Math.floor(time / 1000) * 1000
}

const iso = (time: number): string => new Date(time).toISOString()

/** Returns the headers that a response lacks: those of the handler stay, and links are added to its own. */
export function missingHeaders(
  { headers }: Lifecycle,
  currentOf: (name: string) => string | undefined,
): Record<string, string> {
  const missing: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const current = currentOf(name)
    const wanted = name === 'link' ? addLinks(current, value) : (current ?? value)
    if (wanted !== current) missing[name] = wanted
  }
  return missing
}

export function retiredDetail({ version, headers, link: { successor } }: Lifecycle): string {
  const subject = version === null ? 'It' : `Version ${version}`
  return `${subject} ended on ${headers.sunset ?? ''}${successor === undefined ? '' : `; its successor is ${successor}`}`
}

/** Returns a reader of the major version in request targets and route patterns: the first segment below `basePath`. */
export function versionReader(basePath: string): (target: string) => string | null {
  const prefix = new RegExp(`^${basePath.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}/v(0|[1-9][0-9]*)(?:/|$)`)
  return (target) => prefix.exec(pathOf(target))?.[1] ?? null
}

export function documentLifecycle(
  { deprecated, sunset, link }: Lifecycle,
  now: () => number,
): DocumentOperation {
  return (operation) => {
    const time = now()
    const isPast = [deprecated, sunset].some((one) => one !== null && one <= time)
    const since = deprecated !== null && deprecated > time ? 'from' : 'since'
    const period = [
      deprecated === null ? [] : `deprecated ${since} ${iso(deprecated)}`,
      sunset === null ? [] : `answered with 410 from ${iso(sunset)} on`,
    ].flat()
    const instead = link.successor === undefined ? '' : ` Its successor: ${link.successor}`
    const sentence = `${period.join(', ')}.${instead}`.replace(/^./, (first) => first.toUpperCase())
    return {
      ...operation,
      ...(isPast && { deprecated: true }),
      ...(period.length > 0 && { description: [operation.description ?? [], sentence].flat().join('\n\n') }),
      ...(deprecated !== null && { 'x-deprecation': iso(deprecated) }),
      ...(sunset !== null && { 'x-sunset': iso(sunset) }),
    }
  }
}

/** Returns what the lifecycle adds to the responses of a route: its header fields, and the 410 after the sunset. */
export function describeAnnouncements({ headers, sunset }: Lifecycle): RouteDescription {
  const texts = {
    Deprecation: 'When the deprecation begins (RFC 9745)',
    Sunset: 'When the resource ends (RFC 8594)',
    Link: 'Links with rel="deprecation", "sunset" or "successor-version" (RFC 8288)',
  }
  const announced = Object.entries(texts).filter(([name]) => name.toLowerCase() in headers)
  const fields = announced.map(([name, description]) => [name, { type: 'string', description }])
  return {
    allHeaders: Object.fromEntries(fields),
    problems: sunset === null ? [] : problemsOf({ 'version-retired': 'The version has been retired' }),
  }
}
