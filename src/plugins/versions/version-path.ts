import { pathOf } from '../../http/request-target.js'
import { type LifecyclePlan, type LifecycleStatus, lifecycleStatus, noEnd } from './lifecycle.js'
import type { LifecycleLinkOptions } from './options.js'

/** Returns the major version in a path: the digits of its segment `/v<major>`; `null` for a path without one. */
export type ReadVersion = (target: string) => string | null

/** Returns a reader of the version in request targets and route patterns: the first segment below `basePath`. */
export function versionReader(basePath: string): ReadVersion {
  const prefix = new RegExp(`^${basePath.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}/v(0|[1-9][0-9]*)(?:/|$)`)
  return (target) => prefix.exec(pathOf(target))?.[1] ?? null
}

/** A route of a version that the options do not list. */
export interface UnlistedBreach {
  readonly rule: 'listed'
  readonly problem: string
  readonly instead: string
}

/** Returns the breach of a route of a version that is not listed; `null` if it is, or if none is listed. */
export function unlistedBreach(version: string | null, listed: readonly string[]): UnlistedBreach | null {
  if (version === null || listed.length === 0 || listed.includes(version)) return null
  const problem = `/v${version} is not among the versions of the service`
  return { rule: 'listed', problem, instead: listed.map((known) => `/v${known}`).join(', ') }
}

/** A version of the service and its status. */
export interface VersionStatus {
  /** The major number. */
  readonly version: number
  /** Prefix of its paths, such as `/v1`. */
  readonly path: string
  readonly status: LifecycleStatus
  /** When the deprecation begins; `null` for never. */
  readonly deprecated: Date | null
  /** When requests begin to be answered with 410; `null` for never. */
  readonly sunset: Date | null
  readonly link: LifecycleLinkOptions
}

/** Returns the versions in the options and those of routes, by number. */
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
