import { invalid } from '../../options.js'
import type { Mode } from '../../rules/modes.js'
import { type Lifecycle, type LifecycleHeaders, lifecycleHeaders } from './lifecycle.js'
import { lifecycleTime } from './lifecycle-time.js'
import type { LifecycleOptions, VersionRule } from './options.js'

/** What is known, when a request comes in, of the version or the route that it is for. */
export interface LifecyclePlan {
  /** The major version; `null` for a route that has none. */
  readonly version: string | null
  readonly lifecycle: Lifecycle
  readonly headers: LifecycleHeaders
  readonly modeOf: Readonly<Record<VersionRule, Mode>>
}

/** Of what nobody said anything. */
export const withoutEnd: Lifecycle = Object.freeze({
  deprecated: null,
  sunset: null,
  links: Object.freeze({}),
})

/**
 * The lifecycle that options say, over another one.
 *
 * @throws FST_CONV_OPTION_INVALID for a sunset before the deprecation (RFC 9745 §4)
 */
export function lifecycleOf(label: string, options: LifecycleOptions, over: Lifecycle): Lifecycle {
  const deprecated = lifecycleTime(options.deprecated) ?? over.deprecated
  const sunset = lifecycleTime(options.sunset) ?? over.sunset
  if (deprecated !== null && sunset !== null && sunset < deprecated) {
    const since = new Date(deprecated).toISOString()
    invalid(
      `${label}.sunset`,
      `not before deprecated, ${since} (RFC 9745 §4)`,
      new Date(sunset).toISOString(),
    )
  }
  return Object.freeze({ deprecated, sunset, links: Object.freeze({ ...over.links, ...options.link }) })
}

/** What is to be done for a lifecycle. */
export function planOf(
  version: string | null,
  lifecycle: Lifecycle,
  modeOf: Readonly<Record<VersionRule, Mode>>,
): LifecyclePlan {
  return Object.freeze({ version, lifecycle, headers: lifecycleHeaders(lifecycle), modeOf })
}

/** Have its answers anything to tell? */
export function isAnnounced({ headers, modeOf }: LifecyclePlan): boolean {
  const { deprecation, sunset, link } = headers
  return modeOf.headers !== 'off' && (deprecation !== null || sunset !== null || link !== null)
}

/** From when on it is answered with 410, in milliseconds since the epoch; `Infinity` for never. */
export function retiresAt({ lifecycle, modeOf }: LifecyclePlan): number {
  if (lifecycle.sunset === null || modeOf.retired === 'off') return Number.POSITIVE_INFINITY
  // The header tells whole seconds.
  return Math.floor(lifecycle.sunset / 1000) * 1000
}
