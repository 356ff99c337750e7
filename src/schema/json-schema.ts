import { type Int64Range, rangeOf } from '../json/int64.js'
import { each } from '../options.js'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

export type SchemaObject = { readonly [keyword: string]: Json }

export type SchemaStore = Readonly<Record<string, unknown>>

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
  const { type } = schema
  if (typeof type === 'string') return [type]
  if (type !== undefined) return schemaList(type).filter((one): one is string => typeof one === 'string')
  const implied = Object.keys(keywordsByType).find((type) =>
    keywordsByType[type]?.some((keyword) => keyword in schema),
  )
  return implied === undefined ? [] : [implied]
}

export function int64RangeOf(schema: SchemaObject): Int64Range | null {
  const isInteger = [schema.type].flat().includes('integer') && schema.const === undefined
  return isInteger ? rangeOf(schema.format) : null
}

/** Returns a document in which every reference names the document that it leads into. */
export function absoluteDocument(root: SchemaObject, id: string): SchemaObject {
  if (!mayRefer(root)) return root
  const known = new Map<Json, Json>()
  const ownId = typeof root.$id === 'string' ? root.$id.replace(/#$/, '') : id
  const visit = (schema: Json, base: string, depth: number): Json => {
    if (!isSchemaObject(schema) || depth > maxSchemaDepth) return schema
    const before = known.get(schema)
    if (before !== undefined) return before
    known.set(schema, schema)
    const inner = schema !== root && isDocumentId(schema.$id) ? schema.$id : base
    const within = mapSubschemas(schema, (one) => visit(one, inner, depth + 1))
    const $ref = typeof schema.$ref === 'string' ? absoluteReference(schema.$ref, inner) : schema.$ref
    const result = $ref === schema.$ref ? within : { ...within, $ref: $ref as Json }
    known.set(schema, result)
    return result
  }
  // A document may refer to itself by its name.
  const absoluteReference = (ref: string, base: string): string => {
    if (ref.startsWith('#')) return base + ref
    return ref === ownId || ref.startsWith(`${ownId}#`) ? id + ref.slice(ownId.length) : ref
  }
  return visit(root, id, 0) as SchemaObject
}

function isDocumentId(id: Json | undefined): id is string {
  return typeof id === 'string' && !id.startsWith('#')
}

export function subschemaWithId(document: Json, id: string): SchemaObject | undefined {
  let found: SchemaObject | undefined
  mapSchema(document, (one) => {
    if (one.$id === id) found ??= one
    return one
  })
  return found
}

/** The reference token of a JSON Pointer for a member's name (RFC 6901 §3). */
export function pointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The member's name that a reference token of a JSON Pointer stands for (RFC 6901 §4). */
export function nameOfToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** The value that a JSON Pointer leads to in a document (RFC 6901), percent-encoded as in a reference. */
export function valueAt(document: Json, pointer: string): Json | undefined {
  if (pointer === '') return document
  let part: Json | undefined = document
  for (const token of pointer.slice(1).split('/')) {
    const name = nameOfToken(decodedPart(token))
    const isThere: boolean = typeof part === 'object' && part !== null && Object.hasOwn(part, name)
    part = isThere ? (part as { readonly [key: string]: Json })[name] : undefined
  }
  return part
}

/** Returns a percent-encoded part of a reference decoded; as it is where its encoding is malformed. */
function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** A schema with what it refers to in the place of the references; `circle` returns what stands for a schema within itself. */
export function writtenOut(
  schema: Json,
  reader: { follow(reference: string): Json },
  change = (part: SchemaObject, _depth: number): SchemaObject => part,
  circle = (): Json => ({}),
): Json {
  const around = new Set<Json>()
  const visit = (part: Json, depth: number): Json => {
    if (!isSchemaObject(part) || depth > maxSchemaDepth) return part
    if (around.has(part)) return circle()
    around.add(part)
    const written = typeof part.$ref === 'string' ? target(part, depth) : within(part, depth)
    around.delete(part)
    return written
  }
  const within = (part: SchemaObject, depth: number): Json => {
    const changed = change(part, depth)
    return mapSubschemas('$id' in changed ? withoutId(changed) : changed, (one) => visit(one, depth + 1))
  }
  // What stands beside a reference describes it.
  const target = ({ $ref, ...siblings }: SchemaObject, depth: number): Json => {
    const written = visit(reader.follow($ref as string), depth)
    return isSchemaObject(written) ? { ...written, ...siblings } : siblings
  }
  return visit(schema, 0)
}

function withoutId({ $id: _, ...keywords }: SchemaObject): SchemaObject {
  return keywords
}
