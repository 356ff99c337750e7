import type { FastifySchema } from 'fastify'
import { isObjectSchema } from '../../json-schema/query-schema.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'

export function describeSelfAlias(aliases: readonly string[], isRepresented: boolean): RouteDescription {
  const location = isRepresented ? { 'Content-Location': { type: 'string', description: ownUrl } } : {}
  return {
    headers: location,
    problems: problemsOf({ unauthorized: `${aliases.join(' or ')}, and the caller is not known` }),
    headersOf: {
      304: location,
      401: { 'WWW-Authenticate': { type: 'string', description: 'What a request needs' } },
    },
  }
}

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
