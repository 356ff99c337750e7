import { type LifecycleLinks, lifecycleStatus } from './lifecycle.js'
import { type LifecyclePlan, withoutEnd } from './lifecycle-plan.js'

/** A version of the service, as it stands. */
export interface VersionStatus {
  /** The major number. */
  readonly version: number
  /** What its paths begin with, such as `/v1`. */
  readonly path: string
  readonly status: 'current' | 'deprecated' | 'retired'
  /** `null` where nobody said. */
  readonly deprecated: Date | null
  /** `null` where nobody said. */
  readonly sunset: Date | null
  readonly link: LifecycleLinks
}

/**
 * The versions that are listed and those that routes have, by their number.
 *
 * @param now milliseconds since the epoch
 */
export function versionStatuses(
  listed: ReadonlyMap<string, LifecyclePlan>,
  met: Iterable<string>,
  basePath: string,
  now: number,
): readonly VersionStatus[] {
  const names = [...new Set([...listed.keys(), ...met])].sort((one, other) => Number(one) - Number(other))
  return names.map((name) => {
    const lifecycle = listed.get(name)?.lifecycle ?? withoutEnd
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
