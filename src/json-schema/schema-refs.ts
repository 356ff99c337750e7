/** A value of JSON; a JSON Schema is one. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** Schemas that others refer to, by their `$id`. */
export type SchemaStore = Readonly<Record<string, unknown>>

/** A schema and the document that local references in it are relative to. */
export interface Located {
  readonly schema: Json
  readonly root: Json
}

/**
 * Follows `$ref`: `#/definitions/x` within the document, `name#`, `name#/properties/x` and `name` into the shared
 * schemas.
 *
 * @throws TypeError for a reference to nothing
 */
export function schemaResolver(shared: SchemaStore): (ref: string, root: Json) => Located {
  return function resolve(ref, root) {
    const [id = '', pointer = ''] = ref.split('#', 2)
    const document = id === '' ? root : (shared[id] as Json | undefined)
    const schema = document === undefined ? undefined : at(document, pointer)
    if (document === undefined || schema === undefined)
      throw new TypeError(`the schema refers to nothing: ${ref}`)
    return { schema, root: document }
  }
}

function at(document: Json, pointer: string): Json | undefined {
  if (pointer === '') return document
  if (!pointer.startsWith('/')) return anchored(document, `#${pointer}`)
  const tokens = pointer
    .slice(1)
    .split('/')
    .map((token) => decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~'))
  return tokens.reduce<Json | undefined>(
    (schema, token) =>
      typeof schema === 'object' && schema !== null && Object.hasOwn(schema, token)
        ? (schema as Record<string, Json>)[token]
        : undefined,
    document,
  )
}

// A definition may be named by an `$id` of its own: `{ "$id": "#address" }`.
function anchored(document: Json, anchor: string): Json | undefined {
  if (typeof document !== 'object' || document === null) return undefined
  if ((document as Record<string, Json>).$id === anchor) return document
  for (const part of Object.values(document)) {
    const found = anchored(part as Json, anchor)
    if (found !== undefined) return found
  }
  return undefined
}

/** Schemas that cannot be merged, as no value is of all of them. */
export class SchemaContradiction extends TypeError {}

/** One schema that says what all of them say (`allOf`): members are united, a type has to agree. */
export function mergeSchemas(schemas: readonly Json[]): Json {
  const merged: Record<string, Json> = {}
  for (const schema of schemas) {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) continue
    for (const [keyword, value] of Object.entries(schema))
      merged[keyword] = mergeKeyword(keyword, merged[keyword], value)
  }
  return merged
}

function mergeKeyword(keyword: string, before: Json | undefined, value: Json): Json {
  if (before === undefined) return value
  if (
    keyword === 'properties' ||
    keyword === 'patternProperties' ||
    keyword === 'definitions' ||
    keyword === '$defs'
  ) {
    return mergeNamed(before as Record<string, Json>, value as Record<string, Json>)
  }
  if (keyword === 'required') return [...new Set([...(before as string[]), ...(value as string[])])]
  if (keyword === 'additionalProperties') return before === false || value === false ? false : value
  if (keyword === 'nullable') return before === true && value === true
  if (keyword === 'allOf') return [...(before as Json[]), ...(value as Json[])]
  if (keyword === 'anyOf' || keyword === 'oneOf') {
    throw new SchemaContradiction(`schemas to be merged both have ${keyword}`)
  }
  if (keyword === 'type' && before !== value && !Array.isArray(before) && !Array.isArray(value)) {
    throw new SchemaContradiction(`schemas to be merged differ in type: ${String(before)}, ${String(value)}`)
  }
  return value
}

function mergeNamed(before: Record<string, Json>, value: Record<string, Json>): Json {
  const merged: Record<string, Json> = { ...before }
  for (const [name, schema] of Object.entries(value)) {
    const other = merged[name]
    merged[name] = other === undefined ? schema : { allOf: [other, schema] }
  }
  return merged
}

/** A schema whose references within its document name the document. */
export function absoluteReferences(schema: Json, id: string): Json {
  return mapReferences(schema, (ref) => (ref.startsWith('#') ? id + ref : ref))
}

/** A schema with other references. */
export function mapReferences(schema: Json, map: (ref: string) => string): Json {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map((part) => mapReferences(part, map))
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) =>
      keyword === '$ref' && typeof value === 'string'
        ? [keyword, map(value)]
        : [keyword, mapReferences(value as Json, map)],
    ),
  )
}
