import type { FastifySchema } from 'fastify'
import { withResponses } from '../../json-schema/added-responses.js'
import { isObjectSchema } from '../../json-schema/query-schema.js'

/**
 * Returns the schema of a route with what an alias adds, for the OpenAPI document: another form of the parameter, the
 * header `Content-Location`, and 401. Parameters whose schema is not an object schema stay as they are.
 *
 * @param reads whether the route has GET
 */
export function describeSelfAlias(
  schema: FastifySchema,
  parameter: string,
  aliases: readonly string[],
  reads: boolean,
): FastifySchema {
  const described = withResponses(schema, {
    headers: reads ? { 'Content-Location': { type: 'string', description: ownUrl } } : {},
    statuses: { 401: `${aliases.join(' or ')}, and the caller is not known` },
  })
  const { params } = described
  const declared = isObjectSchema(params) ? params.properties?.[parameter] : undefined
  if (!isObjectSchema(params) || !isObjectSchema(declared)) return described
  const { description, ...own } = declared
  const sentence = `${aliases.join(' or ')}: the caller's own`
  const withAliases = {
    description: typeof description === 'string' ? `${description} (${sentence})` : sentence,
    anyOf: [own, { type: 'string', enum: [...aliases] }],
  }
  return {
    ...described,
    params: { ...params, properties: { ...params.properties, [parameter]: withAliases } },
  }
}

const ownUrl = 'The URL of the record under its own id (RFC 9110 §8.7)'
