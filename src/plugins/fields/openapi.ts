import { type Fields, fieldsOf, isHidden, ownFields, splitPath } from '../../json/selection.js'
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
import {
  type Content,
  type DocumentOperation,
  mapContent,
  mapResponses,
  withQuery,
} from '../../schema/openapi.js'
import { isPlain, type SchemaReader } from '../../schema/reader.js'
import { bodyFor, responseBodies } from '../../schema/responses.js'
import { shapeOf } from '../../schema/shape-reader.js'
import { demands, omit, withoutFields } from './hidden-schema.js'
import { fieldBounds, type HiddenField, itemOf, type RouteFacts } from './hooks.js'
import type { FieldsRouteOptions } from './options.js'

/** Adds the parameter `fields`, if the route has it, and says of responses that fields may be left out. */
export function documentFields(
  { default: defaults, hidden = {} }: FieldsRouteOptions,
  { reads, lists }: Pick<RouteFacts, 'reads' | 'lists'>,
  hiddenIn: (status: number) => readonly HiddenField[],
): DocumentOperation {
  const fromAll = fromEverybody(Object.entries(hidden))
  const shown = defaults?.filter((path) => !isHidden(fromAll, splitPath(path)))
  const { maxNames, maxLength, maxDepth } = fieldBounds
  const limits = `At most ${maxNames} names, ${maxLength} characters, and ${maxDepth} names with dots between them`
  const fields = {
    // Given more than once it is a list: the union.
    anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    description: `Names of the fields to answer, separated by commas; dots lead into objects, * is all. ${limits}. Default: ${shown?.join(', ') ?? 'all'}`,
  }
  return (operation, { reader }) => {
    const described = reads ? withQuery(operation, { fields }) : operation
    const hasSuccess = Object.keys(operation.responses ?? {}).some((status) => status.startsWith('2'))
    // Only a 2xx is projected.
    return mapResponses(described, hasSuccess ? /^2/ : /^default$/, (content, status) => {
      const hidden = hiddenIn(Number(status.replace('XX', '99')) || 200)
      const visible = hidden.length === 0 ? content : withoutHidden(content, hidden, reader)
      // A 202 has all fields that are not hidden.
      const isSelected = reads && status !== '202'
      return isSelected ? mapContent(visible, (body) => optional(body, lists, reader)) : visible
    })
  }
}

function fromEverybody(hidden: readonly HiddenField[]): Fields {
  return fieldsOf(hidden.filter(([, hides]) => hides === true).map(([path]) => path))
}

/** Fields that are hidden from everybody are not named, and those that may be hidden are not required. */
function withoutHidden(content: Content, hidden: readonly HiddenField[], reader: SchemaReader): Content {
  const without = fromEverybody(hidden)
  const mayLack = fieldsOf(hidden.map(([path]) => path))
  const left = (value: unknown): Json => ownFields(value, { only: null, without }) as Json
  const bodies = Object.entries(content).map(([type, { schema, example, examples = {}, ...body }]) => {
    const samples = Object.entries(examples).map(([name, one]) => [name, { ...one, value: left(one.value) }])
    return [
      type,
      {
        ...body,
        ...(schema !== undefined && {
          schema: withoutFields(withoutFields(schema, without, reader), mayLack, reader, { named: true }),
        }),
        ...(example !== undefined && { example: left(example) }),
        ...(samples.length > 0 && { examples: Object.fromEntries(samples) }),
      },
    ]
  })
  return Object.fromEntries(bodies)
}

const demanding = ['required', ...demands]

function optional(body: Json, lists: readonly string[], reader: SchemaReader): Json {
  const change = (part: SchemaObject, depth: number): SchemaObject => {
    if (!demanding.some((keyword) => keyword in part)) return part
    const { properties } = part
    const isList =
      depth === 0 && lists.some((name) => isSchemaObject(properties) && isArray(properties[name]))
    return isList ? part : omit(part, demanding)
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
