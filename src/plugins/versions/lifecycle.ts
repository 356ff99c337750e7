import { headerOf, type ReplyHeaders } from '../../convention/reply.js'
import { formatHttpDate } from '../../http/dates.js'
import { addLinks, formatLinks } from '../../http/header-fields.js'
import { pathOf } from '../../http/url.js'
import { invalid } from '../../options.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { Mode } from '../../report/modes.js'
import type { DocumentOperation } from '../../schema/openapi.js'
import {
  type LifecycleLinkOptions,
  type LifecycleOptions,
  lifecycleTime,
  type VersionRule,
} from './options.js'

/** The lifecycle of a version, or of a route that has another one. */
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
  /** Whether responses have the headers. */
  readonly isAnnounced: boolean
  /** From when on requests are answered with 410, or counted; infinite for never. */
  readonly end: number
}

/**
 * Returns a lifecycle by its options, over that of the version.
 * @throws FST_CONV_OPTION_INVALID for a sunset before the deprecation (RFC 9745 §4)
 */
export function lifecycleOf(
  label: string,
  version: string | null,
  options: LifecycleOptions,
  modeOf: Readonly<Record<VersionRule, Mode>>,
  over?: Lifecycle,
): Lifecycle {
  const deprecated = secondOf(options.deprecated) ?? over?.deprecated ?? null
  const sunset = secondOf(options.sunset) ?? over?.sunset ?? null
  if (deprecated !== null && sunset !== null && sunset < deprecated) {
    const expected = `not before deprecated, ${iso(deprecated)} (RFC 9745 §4)`
    invalid(`${label}.sunset`, expected, iso(sunset))
  }
  const link = { ...over?.link, ...options.link }
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

/** Returns a time in whole seconds, as the headers have it. */
function secondOf(given: Date | string | undefined): number | null {
  const time = lifecycleTime(given)
  return time === null ? null : Math.floor(time / 1000) * 1000
}

const iso = (time: number): string => new Date(time).toISOString()

/** Returns the headers that a response lacks: those of the handler stay, and links are added to its own. */
export function missingHeaders({ headers }: Lifecycle, reply: ReplyHeaders): Record<string, string> {
  const missing: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const current = headerOf(reply, name)
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

/** Returns the breach of a route of a version that is not listed; `null` if it is, or if none is listed. */
export function unlistedBreach(version: string | null, listed: readonly string[]) {
  if (version === null || listed.length === 0 || listed.includes(version)) return null
  const problem = `/v${version} is not among the versions of the service`
  return { rule: 'listed' as const, problem, instead: listed.map((known) => `/v${known}`).join(', ') }
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
