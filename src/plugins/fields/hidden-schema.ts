import { type Fields, ownFields } from '../../json/selection.js'
import { kept } from '../../kept.js'
import {
  isSchemaObject,
  type Json,
  mapSubschemas,
  namedSchemas,
  type SchemaObject,
  schemaList,
  schemaText,
} from '../../schema/json-schema.js'

// What they apply to is the same value, or each of its items.
const inPlace: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'then', 'else', 'items'])
/** What an object without some of its fields may break, besides `required`. */
export const demands = ['minProperties', 'dependentRequired', 'dependentSchemas', 'dependencies', 'not']
const samples = ['default', 'example', 'examples']
const definitions = ['$id', '$defs', 'definitions']

/** A schema that does not require some fields, nor names them unless `named`. It is written out where they may be. */
export function withoutFields(
  schema: Json,
  fields: Fields,
  reader: { follow(reference: string): Json },
  { named = false } = {},
): Json {
  const known = new Map<Fields, Map<Json, Json>>()

  function visit(part: Json, fields: Fields | true | undefined): Json {
    if (!isSchemaObject(part) || fields === undefined || fields === true) return part
    const visited = kept(known, fields, () => new Map<Json, Json>())
    const before = visited.get(part)
    if (before !== undefined) return before
    // What stands for a schema within itself.
    visited.set(part, {})
    const { $ref, ...siblings } = part
    const target = typeof $ref === 'string' ? visit(reader.follow($ref), fields) : {}
    const result = { ...(isSchemaObject(target) && target), ...within(siblings, fields) }
    visited.set(part, result)
    return result
  }

  function within(part: SchemaObject, fields: Fields): SchemaObject {
    const left = omit(part, [...demands, ...definitions])
    const result: Record<string, Json> = {
      ...mapSubschemas(left, (one, keyword) => (inPlace.has(keyword) ? visit(one, fields) : one)),
    }
    const properties = namedSchemas(part.properties).filter(([name]) => named || fields.get(name) !== true)
    if (part.properties !== undefined)
      result.properties = Object.fromEntries(
        properties.map(([name, one]) => [name, visit(one, fields.get(name))]),
      )
    const required = schemaList(part.required).filter((name) => fields.get(name as string) !== true)
    if (required.length > 0) result.required = required
    else delete result.required
    for (const one of samples)
      if (one in result && !named)
        result[one] = ownFields(result[one], { only: null, without: fields }) as Json
    // Short of a field, a value may match several alternatives.
    if (result.oneOf !== undefined && result.anyOf === undefined) {
      result.anyOf = result.oneOf
      delete result.oneOf
    }
    if (schemaText(visit(result.if ?? true, fields)) !== schemaText(result.if ?? true)) delete result.if
    return result
  }

  return visit(schema, fields)
}

export function omit(schema: SchemaObject, keywords: readonly string[]): SchemaObject {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keywords.includes(keyword)))
}
