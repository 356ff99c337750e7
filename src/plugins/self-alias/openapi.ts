import type { FastifySchema } from 'fastify'
import { isObjectSchema } from '../../json-schema/query-schema.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'

/**
 * Returns what an alias adds to the responses of a route: the header `Content-Location`, and 401.
 *
 * @param reads whether the route has GET
 */
export function describeSelfAlias(aliases: readonly string[], reads: boolean): RouteDescription {
  return {
    headers: reads ? { 'Content-Location': { type: 'string', description: ownUrl } } : {},
    problems: problemsOf({ unauthorized: `${aliases.join(' or ')}, and the caller is not known` }),
    headersOf: { 401: { 'WWW-Authenticate': { type: 'string', description: 'What a request needs' } } },
  }
}

/**
 * Returns the schema of a route with the aliases as another form of the parameter, for the OpenAPI document. Parameters whose
 * schema is not an object schema stay as they are.
 */
export function withAliases(
  schema: FastifySchema,
  parameter: string,
  aliases: readonly string[],
): FastifySchema {
  const { params } = schema
  const declared = isObjectSchema(params) ? params.properties?.[parameter] : undefined
  if (!isObjectSchema(params) || !isObjectSchema(declared)) return schema
  const { description, ...own } = declared
  const sentence = `${aliases.join(' or ')}: the caller's own`
  const either = {
    description: typeof description === 'string' ? `${description} (${sentence})` : sentence,
    anyOf: [own, { type: 'string', enum: [...aliases] }],
  }
  return {
    ...schema,
    params: { ...params, properties: { ...params.properties, [parameter]: either } },
  }
}

const ownUrl = 'The URL of the record under its own id (RFC 9110 §8.7)'
