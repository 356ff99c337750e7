import type { FastifySchema } from 'fastify'
import { isObjectSchema } from '../../representation/schema/query-schema.js'
import { acceptedHeaders, statusSchema } from './status-schema.js'

/** The schema of a route with what it answers by starting an operation, for the OpenAPI document alone. */
export function describeStart(schema: FastifySchema): FastifySchema {
  const { response } = schema
  const declared = isObjectSchema(response) ? response : {}
  const accepted = { ...statusSchema, description: 'Accepted: where to ask for it', headers: acceptedHeaders }
  return { ...schema, response: { 202: accepted, ...declared } }
}
