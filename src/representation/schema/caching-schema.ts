import { isObjectSchema, type RouteSchema } from './query-schema.js'

/** What caching adds to the answers of a route. */
export interface CachingResponses {
  /** Headers of success that the document shows, by name. */
  readonly headers: Readonly<Record<string, unknown>>
  /** Statuses that the route can answer with because of preconditions, each with what it means. */
  readonly statuses: Readonly<Record<string, string>>
}

/** What of caching a route has. */
export interface CachingOfRoute {
  readonly reads: boolean
  /** Are its writes guarded by preconditions, and may these be missing? `false` where it leaves them to the handler. */
  readonly guards: 'optional' | 'required' | false
}

const readHeaders = Object.freeze({
  'Cache-Control': { type: 'string', description: 'How the answer may be kept (RFC 9111 §5.2.2)' },
  ETag: { type: 'string', description: 'Names these very bytes (RFC 9110 §8.8.3)' },
  'Last-Modified': { type: 'string', description: 'When it last changed (RFC 9110 §8.8.2)' },
})

/** What caching adds to the answers of a route: headers and 304 of what is read, 412, and 428 where it is required. */
export function cachingResponses({ reads, guards }: CachingOfRoute): CachingResponses {
  return {
    headers: reads ? readHeaders : {},
    statuses: {
      ...(reads ? { 304: 'Not modified: what the client has is still right' } : {}),
      ...(reads ? { 412: 'A precondition of the request does not hold' } : {}),
      ...(guards ? { 412: 'A precondition of the request does not hold: somebody else was faster' } : {}),
      ...(guards === 'required' ? { 428: 'A precondition is needed: If-Match, or If-None-Match: *' } : {}),
    },
  }
}

/**
 * The schema of a route with what caching adds to its responses. What the route declares itself stays, a class of
 * statuses such as `4xx` included; a route without response schemas gets none, and a success that is a `$ref` or another
 * validator's schema gets no headers.
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
  const names = Object.keys(response).map((status) => status.toLowerCase())
  // For the document alone: without content there is nothing for Fastify to compile, and of `null` nothing is shown.
  const added = Object.entries(statuses)
    .filter(([status]) => !isCovered(names, status))
    .map(([status, description]) => [status, { description, type: 'null', content: {} }])
  return { ...schema, response: Object.fromEntries([...added, ...declared]) }
}

/** Is there a schema for a class of statuses, which this one would be taken out of? */
function isCovered(declared: readonly string[], status: string): boolean {
  return declared.includes(`${status[0]}xx`) || (status >= '400' && declared.includes('default'))
}
