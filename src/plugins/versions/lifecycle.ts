import { headerOf, type ReplyHeaders } from '../../fastify/reply.js'
import { formatHttpDate } from '../../http/http-date.js'
import { addLinks, formatLinks } from '../../http/links.js'
import { pathOf } from '../../http/request-target.js'
import { invalid } from '../../options.js'
import type { Mode } from '../../rules/modes.js'
import {
  type LifecycleLinkOptions,
  type LifecycleOptions,
  lifecycleTime,
  type VersionRule,
  versionRuleNames,
} from './options.js'

export interface Lifecycle {
  /** When the deprecation begins, in milliseconds since the epoch; `null` for never. */
  readonly deprecated: number | null
  /** When requests begin to be answered with 410, in milliseconds since the epoch; `null` for never. */
  readonly sunset: number | null
  readonly links: LifecycleLinkOptions
}

const noEnd: Lifecycle = Object.freeze({ deprecated: null, sunset: null, links: Object.freeze({}) })

interface LifecycleHeaders {
  readonly deprecation: string | null
  readonly sunset: string | null
  readonly link: string | null
}

/** A version, or a route whose lifecycle is another one. */
export interface LifecyclePlan {
  /** The major version; `null` for a route without one. */
  readonly version: string | null
  readonly lifecycle: Lifecycle
  readonly headers: LifecycleHeaders
  readonly modeOf: Readonly<Record<VersionRule, Mode>>
}

/** @throws FST_CONV_OPTION_INVALID for a sunset before the deprecation (RFC 9745 §4) */
function lifecycleOf(label: string, options: LifecycleOptions, over: Lifecycle): Lifecycle {
  const deprecated = lifecycleTime(options.deprecated) ?? over.deprecated
  const sunset = lifecycleTime(options.sunset) ?? over.sunset
  if (deprecated !== null && sunset !== null && sunset < deprecated) {
    const expected = `not before deprecated, ${new Date(deprecated).toISOString()} (RFC 9745 §4)`
    invalid(`${label}.sunset`, expected, new Date(sunset).toISOString())
  }
  return Object.freeze({ deprecated, sunset, links: Object.freeze({ ...over.links, ...options.link }) })
}

export function versionPlans(
  versions: Readonly<Record<string, LifecycleOptions>>,
  modeOf: LifecyclePlan['modeOf'],
): Map<string, LifecyclePlan> {
  const plans = Object.entries(versions).map(([version, given]): [string, LifecyclePlan] => {
    const lifecycle = lifecycleOf(`versions.versions.${version}`, given, noEnd)
    return [version, planOf(version, lifecycle, modeOf)]
  })
  return new Map(plans)
}

function planOf(
  version: string | null,
  lifecycle: Lifecycle,
  modeOf: LifecyclePlan['modeOf'],
): LifecyclePlan {
  return Object.freeze({ version, lifecycle, headers: headersOf(lifecycle), modeOf })
}

/** Returns the plan of a route: that of its version, unless the options of the route differ; `null` without a lifecycle. */
export function routePlanOf(
  { name, modeOf }: { readonly name: string; readonly modeOf: LifecyclePlan['modeOf'] },
  own: LifecycleOptions,
  version: string | null,
  ofVersion: LifecyclePlan | undefined,
): LifecyclePlan | null {
  if (own.deprecated === undefined && own.sunset === undefined && own.link === undefined) {
    if (ofVersion === undefined) return null
    if (versionRuleNames.every((rule) => ofVersion.modeOf[rule] === modeOf[rule])) return ofVersion
  }
  const over = ofVersion?.lifecycle ?? noEnd
  const lifecycle = lifecycleOf(`${name} config.versions`, own, over)
  return planOf(version, lifecycle, modeOf)
}

function headersOf({ deprecated, sunset, links }: Lifecycle): LifecycleHeaders {
  const targets = [
    { href: links.deprecation ?? '', rel: 'deprecation' },
    { href: links.sunset ?? '', rel: 'sunset' },
    { href: links.successor ?? '', rel: 'successor-version' },
  ]
  return Object.freeze({
    // A structured field of the type Date (RFC 9745 §2.1).
    deprecation: deprecated === null ? null : `@${Math.floor(deprecated / 1000)}`,
    sunset: sunset === null ? null : formatHttpDate(sunset),
    link: formatLinks(targets.filter(({ href }) => href !== '')) || null,
  })
}

export function isAnnounced({ headers, modeOf }: LifecyclePlan): boolean {
  const { deprecation, sunset, link } = headers
  return modeOf.headers !== 'off' && (deprecation !== null || sunset !== null || link !== null)
}

/** Returns the headers that a response lacks: those of the handler stay, and links are added to its own. */
export function missingHeaders({ headers }: LifecyclePlan, reply: ReplyHeaders): LifecycleHeaders {
  const { deprecation, sunset, link } = headers
  const current = headerOf(reply, 'link')
  const links = link === null ? null : addLinks(current, link)
  return {
    deprecation: headerOf(reply, 'deprecation') === undefined ? deprecation : null,
    sunset: headerOf(reply, 'sunset') === undefined ? sunset : null,
    link: links === current ? null : links,
  }
}

/** Returns when requests begin to be answered with 410, in milliseconds since the epoch. */
export function retiresAt({ lifecycle, modeOf }: LifecyclePlan): number {
  if (lifecycle.sunset === null || modeOf.retired === 'off') return Number.POSITIVE_INFINITY
  return toSecond(lifecycle.sunset)
}

export function retiredDetail({ version, headers, lifecycle }: LifecyclePlan): string {
  const subject = version === null ? 'It' : `Version ${version}`
  const { successor } = lifecycle.links
  return `${subject} ended on ${headers.sunset ?? ''}${successor === undefined ? '' : `; its successor is ${successor}`}`
}

/** Returns the phase of a lifecycle: `retired` from the second that `Sunset` names. */
export function lifecycleStatus({ deprecated, sunset }: Lifecycle, now: number): VersionStatus['status'] {
  if (sunset !== null && now >= toSecond(sunset)) return 'retired'
  return deprecated !== null && now >= toSecond(deprecated) ? 'deprecated' : 'current'
}

// The headers have whole seconds.
function toSecond(time: number): number {
  return Math.floor(time / 1000) * 1000
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

/** A version of the service and its status. */
export interface VersionStatus {
  /** The major number. */
  readonly version: number
  /** Prefix of its paths, such as `/v1`. */
  readonly path: string
  readonly status: 'current' | 'deprecated' | 'retired'
  /** When the deprecation begins; `null` for never. */
  readonly deprecated: Date | null
  /** When requests begin to be answered with 410; `null` for never. */
  readonly sunset: Date | null
  readonly link: LifecycleLinkOptions
}

export function versionStatuses(
  listed: ReadonlyMap<string, LifecyclePlan>,
  ofRoutes: Iterable<string>,
  basePath: string,
  now: number,
): readonly VersionStatus[] {
  const names = [...new Set([...listed.keys(), ...ofRoutes])].sort(
    (one, other) => Number(one) - Number(other),
  )
  return names.map((name) => {
    const lifecycle = listed.get(name)?.lifecycle ?? noEnd
    const { deprecated, sunset, links } = lifecycle
    return {
      version: Number(name),
      path: `${basePath}/v${name}`,
      status: lifecycleStatus(lifecycle, now),
      deprecated: deprecated === null ? null : new Date(deprecated),
      sunset: sunset === null ? null : new Date(sunset),
      link: links,
    }
  })
}
