import { isObjectSchema, type RouteSchema } from './query-schema.js'

/** What caching adds to the answers of a route. */
export interface CachingResponses {
  /** Headers of success that the document shows, by name. */
  readonly headers: Readonly<Record<string, unknown>>
  /** Statuses that the route can answer with because of preconditions, each with what it means. */
  readonly statuses: Readonly<Record<string, string>>
}

/** What a route that is read has: headers of caching, 304 and, for a stale `If-Match`, 412. */
export const readResponses: CachingResponses = Object.freeze({
  headers: Object.freeze({
    'Cache-Control': { type: 'string', description: 'How the answer may be kept (RFC 9111 §5.2.2)' },
    ETag: { type: 'string', description: 'Names these very bytes (RFC 9110 §8.8.3)' },
    'Last-Modified': { type: 'string', description: 'When it last changed (RFC 9110 §8.8.2)' },
  }),
  statuses: Object.freeze({
    304: 'Not modified: what the client has is still right',
    412: 'A precondition of the request does not hold',
  }),
})

/** What a route that writes under preconditions has; where they are required, 428 too. */
export function guardedResponses(required: boolean): CachingResponses {
  return {
    headers: {},
    statuses: {
      412: 'A precondition of the request does not hold: somebody else was faster',
      ...(required ? { 428: 'A precondition is needed: If-Match, or If-None-Match: *' } : {}),
    },
  }
}

/**
 * The schema of a route with what caching adds to its responses. What the route declares itself stays; a route without
 * response schemas gets none, and a success that is a `$ref` or another validator's schema gets no headers.
 */
export function withCachingResponses<Schema extends RouteSchema>(
  schema: Schema,
  { headers, statuses }: CachingResponses,
): Schema {
  const { response } = schema
  if (!isObjectSchema(response)) return schema
  const declared = Object.entries(response).map(([status, answer]) =>
    status.startsWith('2') && status !== '204' && isObjectSchema(answer)
      ? [status, { ...answer, headers: { ...headers, ...(answer.headers as object | undefined) } }]
      : [status, answer],
  )
  // Without content there is nothing to compile: these are for the document alone.
  const added = Object.entries(statuses).map(([status, description]) => [
    status,
    { description, content: {} },
  ])
  return { ...schema, response: { ...Object.fromEntries(added), ...Object.fromEntries(declared) } }
}
