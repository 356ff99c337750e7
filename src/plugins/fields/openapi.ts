import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { fieldNames } from '../../schema/field-names.js'
import {
  isSchemaObject,
  type Json,
  mayRefer,
  type SchemaObject,
  type SchemaStore,
  writtenOut,
} from '../../schema/json-schema.js'
import { type DocumentOperation, mapResponseSchemas, withQuery } from '../../schema/openapi.js'
import { isPlain, type SchemaReader } from '../../schema/reader.js'
import { bodyFor, responseBodies } from '../../schema/responses.js'
import { shapeOf } from '../../schema/shape-reader.js'
import { fieldBounds, itemOf, type RouteFacts } from './hooks.js'
import type { FieldsRouteOptions } from './options.js'

/** Adds the parameter `fields`, if the route has it, and says of responses that fields may be left out. */
export function documentFields(
  { default: defaults }: FieldsRouteOptions,
  { reads, lists }: Pick<RouteFacts, 'reads' | 'lists'>,
): DocumentOperation {
  const otherwise = defaults === undefined ? 'all' : defaults.join(', ')
  const { maxNames, maxLength, maxDepth } = fieldBounds
  const limits = `At most ${maxNames} names, ${maxLength} characters, and ${maxDepth} names with dots between them`
  const fields = {
    // Given more than once it is a list: the union.
    anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    description: `Names of the fields to answer, separated by commas; dots lead into objects, * is all. ${limits}. Default: ${otherwise}`,
  }
  return (operation, { reader }) => {
    const described = reads ? withQuery(operation, { fields }) : operation
    // Only a 2xx is projected.
    return mapResponseSchemas(described, /^2(?:00|XX)$/, (body) => optional(body, lists, reader))
  }
}

function optional(body: Json, lists: readonly string[], reader: SchemaReader): Json {
  const change = (part: SchemaObject, depth: number): SchemaObject => {
    if (part.required === undefined) return part
    const { required: _, ...rest } = part
    const { properties } = part
    const isList =
      depth === 0 && lists.some((name) => isSchemaObject(properties) && isArray(properties[name]))
    return isList ? part : rest
  }
  return writtenOut(body, reader, change)
}

function isArray(schema: Json | undefined): boolean {
  return isSchemaObject(schema) && (schema.items !== undefined || [schema.type].flat().includes('array'))
}

export const describeSelection: RouteDescription = {
  problems: problemsOf({ 'fields-invalid': 'fields has names that are not fields' }),
}

/** Whether the response schema of a 200 names fields. Where it cannot be read (yet), it may. */
export function namesFields(response: unknown, lists: readonly string[], shared: () => SchemaStore): boolean {
  const schema = bodyFor(responseBodies(response), 200)?.schema
  if (!isSchemaObject(schema)) return false
  if (namesFieldsPlainly(schema, lists)) return true
  try {
    const shape = shapeOf(schema, mayRefer(schema) ? shared() : {}, { int64: false })
    return fieldNames(itemOf(shape, lists).shape).length > 0
  } catch {
    return true
  }
}

/** Whether a schema names fields by itself, as most do: their shapes need not be read before the app gets ready. */
function namesFieldsPlainly(schema: SchemaObject, lists: readonly string[]): boolean {
  const properties = plainProperties(schema)
  const list = lists.find((name) => Object.hasOwn(properties, name) && !isPlainValue(properties[name]))
  const item = list === undefined ? properties : plainItemProperties(properties[list])
  return Object.keys(item).length > 0
}

/** Whether a schema says by itself that its values are not lists. */
function isPlainValue(schema: Json | undefined): boolean {
  return (
    isSchemaObject(schema) && isPlain(schema) && typeof schema.type === 'string' && schema.type !== 'array'
  )
}

function plainItemProperties(list: Json | undefined): SchemaObject {
  const isPlainList = isSchemaObject(list) && list.type === 'array' && isPlain(list)
  return isPlainList ? plainProperties(list.items) : {}
}

function plainProperties(schema: Json | undefined): SchemaObject {
  const isPlainObject = isSchemaObject(schema) && schema.type === 'object' && isPlain(schema)
  return isPlainObject && isSchemaObject(schema.properties) ? schema.properties : {}
}
