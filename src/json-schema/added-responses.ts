import { isObjectSchema, type RouteSchema } from './query-schema.js'

/** What a plugin adds to the answers of a route. */
export interface AddedResponses {
  /** Headers of success that the document shows, by name. */
  readonly headers: Readonly<Record<string, unknown>>
  /** Statuses that the route can answer with because of it, each with what it means. */
  readonly statuses: Readonly<Record<string, string>>
}

/**
 * The schema of a route with what a plugin adds to its responses. What the route declares itself stays, a class of
 * statuses such as `4xx` included; a route without response schemas gets none, and a success that is a `$ref` or another
 * validator's schema gets no headers.
 */
export function withResponses<Schema extends RouteSchema>(
  schema: Schema,
  { headers, statuses }: AddedResponses,
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

/** Whether a declared class of statuses contains a status, which would be taken out of it. */
function isCovered(declared: readonly string[], status: string): boolean {
  return declared.includes(`${status[0]}xx`) || (status >= '400' && declared.includes('default'))
}
