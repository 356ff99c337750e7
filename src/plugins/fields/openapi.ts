import type { FastifySchema } from 'fastify'
import {
  isSchemaObject,
  type Json,
  mayRefer,
  namedSchemas,
  type SchemaObject,
  type SchemaStore,
} from '../../json-schema/json-schema.js'
import { partsOf, propertiesOf } from '../../json-schema/parts.js'
import { isObjectSchema, type RouteSchema, withQueryParameters } from '../../json-schema/query-schema.js'
import { isPlain, SchemaReader } from '../../json-schema/reader.js'
import { bodyFor, mapBodies, responseBodies } from '../../json-schema/responses.js'
import { writtenOut } from '../../json-schema/written-out.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { ResolvedFields } from './options.js'

/**
 * The schema of a route with the `fields` parameter in its query.
 *
 * @param shared gives the schemas that a query schema may refer to
 */
export function withFieldsParameter<Schema extends RouteSchema>(
  schema: Schema | undefined,
  { default: defaults, maxNames, maxLength, maxDepth }: ResolvedFields,
  shared: () => SchemaStore = () => ({}),
): Schema {
  const otherwise = defaults === undefined ? 'all' : defaults.join(', ')
  const limits = `At most ${maxNames} names, ${maxLength} characters, and ${maxDepth} names with dots between them`
  const fields = {
    // Given more than once it is a list: the union.
    anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    description: `Names of the fields to answer, separated by commas; dots lead into objects, * is all. ${limits}. Default: ${otherwise}`,
  }
  return withQueryParameters(schema, { fields }, shared)
}

/**
 * The schema of a route whose responses may lack fields, for the document: nothing is required of what is selected from. What
 * is beside the items of a list stays required.
 *
 * @param lists names that the member with the items of a list may have
 */
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
  return writtenOut(body, shared, (part, depth) => {
    const { required, ...rest } = part
    if (required === undefined) return part
    const { properties } = part
    const isList =
      depth === 0 && lists.some((name) => isSchemaObject(properties) && isArray(properties[name]))
    return isList ? part : rest
  })
}

function isArray(schema: Json | undefined): boolean {
  return isSchemaObject(schema) && (schema.items !== undefined || [schema.type].flat().includes('array'))
}

/** The refusal of names that are not fields, for the OpenAPI document. */
export const describeSelection: RouteDescription = {
  problems: problemsOf({ 'fields-invalid': 'fields has names that are not fields' }),
}

/**
 * Whether the response schemas name fields of the JSON of a 200, so that a client can select some.
 * Where a reference leads to nothing (yet), they may.
 *
 * @param lists names that the member with the items of a list may have
 * @param shared gives the schemas that the response schemas may refer to
 */
export function namesFields(response: unknown, lists: readonly string[], shared: () => SchemaStore): boolean {
  const schema = bodyFor(responseBodies(response), 200)?.schema
  if (!isSchemaObject(schema)) return false
  if (plainlyNamesFields(schema, lists)) return true
  let isUnresolved = false
  const onUnresolved = (): void => {
    isUnresolved = true
  }
  const reader = new SchemaReader(mayRefer(schema) ? shared() : {}, { onUnresolved })
  const members = propertiesOf(itemParts(reader, [reader.absolute(schema, schema)]))
  const items = lists
    .map((name) => itemsOf(partsOf(reader, members.get(name) ?? [])))
    .find((schemas) => schemas.length > 0)
  const named = items === undefined ? members : propertiesOf(itemParts(reader, items))
  return named.size > 0 || isUnresolved
}

/** Fast path for an object, or an object with a list, without references and alternatives. */
function plainlyNamesFields(schema: SchemaObject, lists: readonly string[]): boolean {
  const { properties, items } = schema
  if (!isPlain(schema) || items !== undefined || !isSchemaObject(properties)) return false
  const list = lists.find((name) => Object.hasOwn(properties, name) && !isPlainScalar(properties[name]))
  if (list === undefined) return hasProperties(schema)
  const member = properties[list]
  return isSchemaObject(member) && isPlain(member) && hasProperties(member.items)
}

function isPlainScalar(schema: Json | undefined): boolean {
  return isSchemaObject(schema) && isPlain(schema) && schema.items === undefined
}

function hasProperties(schema: Json | undefined): boolean {
  return isSchemaObject(schema) && namedSchemas(schema.properties).length > 0
}

/** All that may hold for a value, or for the items of an array of such values. */
function itemParts(reader: SchemaReader, schemas: readonly Json[]): readonly SchemaObject[] {
  const found = new Set(partsOf(reader, schemas))
  // What is added to a set while it is walked is walked too.
  for (const part of found) for (const item of partsOf(reader, itemsOf([part]))) found.add(item)
  return [...found]
}

function itemsOf(parts: readonly SchemaObject[]): SchemaObject[] {
  return parts.map(({ items }) => items).filter(isSchemaObject)
}
