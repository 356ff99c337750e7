import type { AddedResponses } from '../../json-schema/added-responses.js'

/** What of caching a route has. */
export interface CachingOfRoute {
  readonly reads: boolean
  /** Are its writes guarded by preconditions, and may these be missing? `false` where it leaves them to the handler. */
  readonly guards: 'optional' | 'required' | false
  /** Whether the answer to a write has the `ETag` of what is stored now. */
  readonly tagsWrites: boolean
}

const readHeaders = Object.freeze({
  'Cache-Control': { type: 'string', description: 'How the answer may be kept (RFC 9111 §5.2.2)' },
  ETag: { type: 'string', description: 'Names these very bytes (RFC 9110 §8.8.3)' },
  'Last-Modified': { type: 'string', description: 'When it last changed (RFC 9110 §8.8.2)' },
})

const writeHeaders = Object.freeze({
  ETag: { type: 'string', description: 'Names what is stored now, for the next If-Match (RFC 9110 §8.8.3)' },
})

/** What caching adds to the answers of a route: headers and 304 of what is read, 412, and 428 where it is required. */
export function cachingResponses({ reads, guards, tagsWrites }: CachingOfRoute): AddedResponses {
  return {
    headers: reads ? readHeaders : tagsWrites ? writeHeaders : {},
    statuses: {
      ...(reads ? { 304: 'Not modified: what the client has is still right' } : {}),
      ...(reads ? { 412: 'A precondition of the request does not hold' } : {}),
      ...(guards ? { 412: 'A precondition of the request does not hold: somebody else was faster' } : {}),
      ...(guards === 'required' ? { 428: 'A precondition is needed: If-Match, or If-None-Match: *' } : {}),
    },
  }
}
