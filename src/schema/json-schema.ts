import { type Int64Range, rangeOf } from '../json/int64.js'
import { each } from '../options.js'

/** A value of JSON; a JSON Schema is one. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** A JSON Schema with keywords: neither `true` nor `false`. */
export type SchemaObject = { readonly [keyword: string]: Json }

/** Schemas that others refer to, by their `$id`. */
export type SchemaStore = Readonly<Record<string, unknown>>

/** Nested schemas deeper than this are not read. */
export const maxSchemaDepth = 200

export function isSchemaObject(schema: unknown): schema is SchemaObject {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
}

export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

export function schemaList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

export function namedSchemas(value: Json | undefined): [name: string, schema: Json][] {
  return isSchemaObject(value) ? Object.entries(value) : []
}

const subschemaKeywords: Readonly<Record<string, 'one' | 'list' | 'named'>> = {
  ...each(['allOf', 'anyOf', 'oneOf', 'prefixItems'], 'list'),
  ...each(
    ['properties', 'patternProperties', 'definitions', '$defs', 'dependencies', 'dependentSchemas'],
    'named',
  ),
  ...each(['items', 'additionalItems', 'additionalProperties', 'contains', 'propertyNames', 'not'], 'one'),
  ...each(['unevaluatedItems', 'unevaluatedProperties', 'if', 'then', 'else'], 'one'),
}

export function mapSubschemas(
  schema: SchemaObject,
  map: (subschema: Json, keyword: string) => Json,
): SchemaObject {
  let changed: Record<string, Json> | null = null
  for (const keyword in schema) {
    const kind = Object.hasOwn(subschemaKeywords, keyword) ? subschemaKeywords[keyword] : undefined
    const value = schema[keyword]
    if (kind === undefined || value === undefined) continue
    const mapped = mapParts(kind, value, (one) => map(one, keyword))
    if (mapped === value) continue
    changed ??= { ...schema }
    changed[keyword] = mapped
  }
  return changed ?? schema
}

function mapParts(kind: 'one' | 'list' | 'named', value: Json, map: (subschema: Json) => Json): Json {
  if (Array.isArray(value)) {
    const mapped = value.map((one) => map(one))
    return mapped.some((one, index) => one !== value[index]) ? mapped : value
  }
  if (kind !== 'named') return kind === 'one' ? map(value) : value
  const named = namedSchemas(value)
  // A dependency may be a list of names.
  const mapped = named.map(([name, one]) => [name, Array.isArray(one) ? one : map(one)] as const)
  return mapped.some(([, one], index) => one !== named[index]?.[1]) ? Object.fromEntries(mapped) : value
}

/** What goes deeper than maxSchemaDepth stays as it is. */
export function mapSchema(schema: Json, change: (schema: SchemaObject, before: SchemaObject) => Json): Json {
  const known = new Map<Json, Json>()
  const visit = (part: Json, depth: number): Json => {
    if (!isSchemaObject(part) || depth > maxSchemaDepth) return part
    const result = known.get(part)
    if (result !== undefined) return result
    known.set(part, part)
    const mapped = change(
      mapSubschemas(part, (one) => visit(one, depth + 1)),
      part,
    )
    known.set(part, mapped)
    return mapped
  }
  return visit(schema, 0)
}

/** The JSON of a schema; `null` for one that contains itself. */
export function schemaText(schema: Json): string | null {
  try {
    return JSON.stringify(schema)
  } catch {
    return null
  }
}

/** At boot every schema is asked, and engines write JSON faster than code walks a schema. */
export function mayRefer(schema: Json): boolean {
  return schemaText(schema)?.includes('"$ref"') ?? true
}

const keywordsByType: Readonly<Record<string, readonly string[]>> = {
  object: [
    'properties',
    'required',
    'additionalProperties',
    'patternProperties',
    'maxProperties',
    'minProperties',
    'dependencies',
  ],
  array: ['items', 'additionalItems', 'maxItems', 'minItems', 'uniqueItems', 'contains'],
  string: ['maxLength', 'minLength', 'pattern'],
  number: ['multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
}

/** The types that a schema names, else the one that its keywords imply to Fastify's serializer; none for any type. */
export function typesOf(schema: SchemaObject): readonly string[] {
  if (schema.type !== undefined)
    return [schema.type].flat().filter((type): type is string => typeof type === 'string')
  const implied = Object.keys(keywordsByType).find((type) =>
    keywordsByType[type]?.some((keyword) => keyword in schema),
  )
  return implied === undefined ? [] : [implied]
}

/** Returns `null` for any other schema. */
export function int64RangeOf(schema: SchemaObject): Int64Range | null {
  const isInteger = [schema.type].flat().includes('integer') && schema.const === undefined
  return isInteger ? rangeOf(schema.format) : null
}
