import { formatHttpDate } from '../../http/http-date.js'
import { formatLinks, type Link } from '../../http/links.js'

/** How long a version, or one route of it, is provided. */
export interface Lifecycle {
  /** From when on it should not be used any more, in milliseconds since the epoch; `null` where nobody said. */
  readonly deprecated: number | null
  /** From when on it is not there any more, in milliseconds since the epoch; `null` where nobody said. */
  readonly sunset: number | null
  readonly links: LifecycleLinks
}

/** Where to read more, as URI references. */
export interface LifecycleLinks {
  /** About the deprecation (RFC 9745 §3). */
  readonly deprecation?: string
  /** About the end (RFC 8594 §6). */
  readonly sunset?: string
  /** What comes instead: `rel="successor-version"` (RFC 5829 §3.3). */
  readonly successor?: string
}

/** The header fields that tell of a lifecycle; `null` for those that have nothing to tell. */
export interface LifecycleHeaders {
  /** A structured field of the type Date (RFC 9745 §2.1), also where it is yet to come. */
  readonly deprecation: string | null
  /** An HTTP-date (RFC 8594 §3). */
  readonly sunset: string | null
  readonly link: string | null
}

/** Writes the header fields of a lifecycle. Constant: call it once. */
export function lifecycleHeaders({ deprecated, sunset, links }: Lifecycle): LifecycleHeaders {
  const targets: Link[] = [
    { href: links.deprecation ?? '', rel: 'deprecation' },
    { href: links.sunset ?? '', rel: 'sunset' },
    { href: links.successor ?? '', rel: 'successor-version' },
  ]
  const given = targets.filter(({ href }) => href !== '')
  return {
    deprecation: deprecated === null ? null : `@${Math.floor(deprecated / 1000)}`,
    sunset: sunset === null ? null : formatHttpDate(sunset),
    link: given.length === 0 ? null : formatLinks(given),
  }
}

/** Where a version or a route is in its life: `retired` from the second on that `Sunset` names. */
export function lifecycleStatus(
  { deprecated, sunset }: Lifecycle,
  now: number,
): 'current' | 'deprecated' | 'retired' {
  if (hasBegun(sunset, now)) return 'retired'
  return hasBegun(deprecated, now) ? 'deprecated' : 'current'
}

function hasBegun(time: number | null, now: number): boolean {
  return time !== null && Math.floor(now / 1000) >= Math.floor(time / 1000)
}
