import type { FastifySchema } from 'fastify'
import { isObjectSchema } from '../../json-schema/query-schema.js'
import type { KeyStyle } from '../../words/key-names.js'
import { acceptedHeaders, statusSchemaIn } from './status-schema.js'

/** The schema of a route with what it answers by starting an operation, for the OpenAPI document alone. */
export function describeStart(schema: FastifySchema, keyStyle: KeyStyle): FastifySchema {
  const { response } = schema
  const declared = isObjectSchema(response) ? response : {}
  const status = statusSchemaIn(keyStyle)
  const accepted = { ...status, description: 'Accepted: where to ask for it', headers: acceptedHeaders }
  return { ...schema, response: { 202: accepted, ...declared } }
}
