import type { FastifySchema } from 'fastify'
import { withResponses } from '../../json-schema/added-responses.js'
import { isObjectSchema } from '../../json-schema/query-schema.js'

/**
 * The schema of a route with what an alias adds, for the OpenAPI document alone: its parameter may be one, the answer
 * says where the record is found, and 401. A schema of parameters that is no plain JSON Schema object stays as it is.
 *
 * @param reads does the route answer with what is at its URL?
 */
export function describeSelfAlias(
  schema: FastifySchema,
  parameter: string,
  aliases: readonly string[],
  reads: boolean,
): FastifySchema {
  const described = withResponses(schema, {
    headers: reads ? { 'Content-Location': { type: 'string', description: ownUrl } } : {},
    statuses: { 401: `${aliases.join(' or ')}, and nobody is known to call` },
  })
  const { params } = described
  const declared = isObjectSchema(params) ? params.properties?.[parameter] : undefined
  if (!isObjectSchema(params) || !isObjectSchema(declared)) return described
  const { description, ...own } = declared
  const sentence = `${aliases.join(' or ')}: the caller's own`
  const mended = {
    description: typeof description === 'string' ? `${description} (${sentence})` : sentence,
    anyOf: [own, { type: 'string', enum: [...aliases] }],
  }
  return { ...described, params: { ...params, properties: { ...params.properties, [parameter]: mended } } }
}

const ownUrl = 'Where the record is found under its own id (RFC 9110 §8.7)'
