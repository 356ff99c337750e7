import { hookError } from '../../fastify/hook-error.js'
import { entityTagOf, tagOfVersion } from './entity-tag.js'
import { latestTime } from './last-modified.js'
import type { RouteValidators } from './options.js'
import type { Validators } from './preconditions.js'

/**
 * Returns validators as they are compared and sent: the tag in quotes, the time to the second and not later than now.
 *
 * @throws TypeError for characters that an entity tag cannot have, and for a promise
 */
export function readValidators(found: RouteValidators, now: number): Validators {
  if ('then' in found) throw new TypeError('config.caching.validatorsOf must be synchronous')
  const { etag, lastModified, version } = found
  const tag =
    etag !== undefined ? entityTagOf(etag) : version === undefined ? undefined : tagOfVersion(String(version))
  const date = typeof lastModified === 'number' ? new Date(lastModified) : lastModified
  return { etag: tag, lastModified: latestTime([date], now) ?? undefined }
}

type Found = RouteValidators | null | undefined

/** Calls `find`, then `decide` with its result, then `act` with the decision. */
export function findThen<Decision>(
  find: () => Found | PromiseLike<Found>,
  fail: (error: Error) => void,
  decide: (found: RouteValidators | null) => Decision,
  act: (decision: Decision) => void,
): void {
  const failWith = (error: unknown): void => fail(hookError(error))
  const conclude = (found: Found): void => {
    let decision: Decision
    try {
      decision = decide(found ?? null)
    } catch (error) {
      failWith(error)
      return
    }
    act(decision)
  }
  let found: ReturnType<typeof find>
  try {
    found = find()
  } catch (error) {
    failWith(error)
    return
  }
  // Query builders are not promises, but can be awaited.
  if (found !== null && typeof found === 'object' && 'then' in found) found.then(conclude, failWith)
  else conclude(found)
}
