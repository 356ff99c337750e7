import type { FastifySchema } from 'fastify'
import { fieldNames } from '../../json-schema/field-names.js'
import {
  isSchemaObject,
  type Json,
  mayRefer,
  type SchemaObject,
  type SchemaStore,
} from '../../json-schema/json-schema.js'
import { isObjectSchema, type RouteSchema, withQueryParameters } from '../../json-schema/query-schema.js'
import { bodyFor, mapBodies, responseBodies } from '../../json-schema/responses.js'
import { shapeOf } from '../../json-schema/shape-reader.js'
import { writtenOut } from '../../json-schema/written-out.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { FieldsRouteOptions } from './options.js'
import { fieldBounds, itemOf } from './selection.js'

export function withFieldsParameter<Schema extends RouteSchema>(
  schema: Schema | undefined,
  { default: defaults }: FieldsRouteOptions,
  shared: () => SchemaStore = () => ({}),
): Schema {
  const otherwise = defaults === undefined ? 'all' : defaults.join(', ')
  const { maxNames, maxLength, maxDepth } = fieldBounds
  const limits = `At most ${maxNames} names, ${maxLength} characters, and ${maxDepth} names with dots between them`
  const fields = {
    // Given more than once it is a list: the union.
    anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    description: `Names of the fields to answer, separated by commas; dots lead into objects, * is all. ${limits}. Default: ${otherwise}`,
  }
  return withQueryParameters(schema, { fields }, shared)
}

export function withSelectedFields(
  schema: FastifySchema,
  lists: readonly string[],
  shared: () => SchemaStore,
): FastifySchema {
  const { response } = schema
  if (!isObjectSchema(response)) return schema
  const store = shared()
  const selected = mapBodies(response, (body) => (isSchemaObject(body) ? optional(body, lists, store) : body))
  // Others than 2xx are not projected.
  const entries = Object.entries(selected as object).map(([status, answer]) => [
    status,
    /^2(?:00|xx)$/i.test(status) ? answer : response[status],
  ])
  return { ...schema, response: Object.fromEntries(entries) }
}

function optional(body: SchemaObject, lists: readonly string[], shared: SchemaStore): Json {
  const change = (part: SchemaObject, depth: number): SchemaObject => {
    const { required, ...rest } = part
    if (required === undefined) return part
    const { properties } = part
    const isList =
      depth === 0 && lists.some((name) => isSchemaObject(properties) && isArray(properties[name]))
    return isList ? part : rest
  }
  return writtenOut(body, shared, { change })
}

function isArray(schema: Json | undefined): boolean {
  return isSchemaObject(schema) && (schema.items !== undefined || [schema.type].flat().includes('array'))
}

/** The refusal of names that are not fields, for the OpenAPI document. */
export const describeSelection: RouteDescription = {
  problems: problemsOf({ 'fields-invalid': 'fields has names that are not fields' }),
}

/** Whether the response schema of a 200 names fields. Where it cannot be read (yet), it may. */
export function namesFields(response: unknown, lists: readonly string[], shared: () => SchemaStore): boolean {
  const schema = bodyFor(responseBodies(response), 200)?.schema
  if (!isSchemaObject(schema)) return false
  try {
    const shape = shapeOf(schema, mayRefer(schema) ? shared() : {}, { int64: false })
    return fieldNames(itemOf(shape, lists).shape).length > 0
  } catch {
    return true
  }
}
