import type { FastifyRequest } from 'fastify'
import type { Validators } from '../../http/preconditions.js'
import { entityTagOf, tagOfVersion } from './entity-tag-of.js'
import { latestTime } from './last-modified.js'
import type { FindValidators, RouteValidators } from './plan.js'

/**
 * Finds the validators of a request, has them judged, and acts on the outcome. What `find` or `judge` throw goes to
 * `next`, once, whatever it is: a failure must never look like "go on".
 */
export function findThen<Outcome>(
  find: FindValidators,
  request: FastifyRequest,
  next: (error: Error) => void,
  judge: (found: RouteValidators | null) => Outcome,
  act: (outcome: Outcome) => void,
): void {
  const fail = (error: unknown): void =>
    next(error ? (error as Error) : new Error('config.caching.validators failed without an error'))
  const conclude = (found: RouteValidators | null | undefined): void => {
    let outcome: Outcome
    try {
      outcome = judge(found ?? null)
    } catch (error) {
      fail(error)
      return
    }
    act(outcome)
  }
  let found: ReturnType<FindValidators>
  try {
    found = find(request)
  } catch (error) {
    fail(error)
    return
  }
  // Query builders are no promises, but can be awaited as well.
  if (found !== null && typeof found === 'object' && 'then' in found) found.then(conclude, fail)
  else conclude(found)
}

/**
 * Validators as they are compared and sent: the tag in quotes, the time to the second and not later than now.
 *
 * @throws TypeError for characters that an entity tag cannot have, and for a promise
 */
export function readValidators(found: RouteValidators, now: number): Validators {
  if ('then' in found) throw new TypeError('config.caching.validatorsOf has to be synchronous')
  const { etag, lastModified, version } = found
  const date = typeof lastModified === 'number' ? new Date(lastModified) : lastModified
  const modified = date === undefined ? null : latestTime([date], now)
  const tag =
    etag !== undefined ? entityTagOf(etag) : version === undefined ? undefined : tagOfVersion(String(version))
  return { etag: tag, ...(modified === null ? {} : { lastModified: modified }) }
}
