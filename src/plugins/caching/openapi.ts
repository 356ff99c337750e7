import type { AddedResponses } from '../../json-schema/added-responses.js'
import type { CachingPlan } from './plan.js'
import { isRead } from './preconditions.js'

const readHeaders = Object.freeze({
  'Cache-Control': { type: 'string', description: 'How caches may store the response (RFC 9111 §5.2.2)' },
  ETag: { type: 'string', description: 'Names these very bytes (RFC 9110 §8.8.3)' },
  'Last-Modified': { type: 'string', description: 'When it last changed (RFC 9110 §8.8.2)' },
})

const writeHeaders = Object.freeze({
  ETag: { type: 'string', description: 'Names what is stored now, for the next If-Match (RFC 9110 §8.8.3)' },
})

/** Returns what caching adds to the responses of a route: headers, 304 to reads, 412, and 428 if it is required. */
export function cachingResponses(
  methods: readonly string[],
  plan: Pick<CachingPlan, 'validators' | 'validatorsOf' | 'isPreconditionRequired'>,
): AddedResponses {
  const reads = methods.some(isRead)
  const guards = plan.validators !== null && !methods.every(isRead)
  return {
    headers: reads ? readHeaders : plan.validatorsOf !== null ? writeHeaders : {},
    statuses: {
      ...(reads ? { 304: 'Not modified: the copy of the client is current' } : {}),
      ...(reads ? { 412: 'A precondition of the request does not hold' } : {}),
      ...(guards ? { 412: 'A precondition of the request does not hold: it was changed since' } : {}),
      ...(guards && plan.isPreconditionRequired
        ? { 428: 'A precondition is needed: If-Match, or If-None-Match: *' }
        : {}),
    },
  }
}
