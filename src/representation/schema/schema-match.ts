import { Ajv } from 'ajv'
import { absoluteReferences, type Json, type SchemaStore } from './schema-refs.js'

/** Is the value one that the schema is for? */
export type Match = (value: unknown) => boolean

/** Makes a {@link Match} of a schema; local references in it are relative to `root`. */
export type MatcherCompiler = (schema: Json, root: Json) => Match

/**
 * Matches values as they are before they are JSON: a BigInt, or its decimal string, is an integer; a Date is a
 * string. Formats are not looked at: they do not tell shapes apart.
 */
export function matcherCompiler(shared: SchemaStore): MatcherCompiler {
  let ajv: Ajv | undefined
  const documents = new Map<Json, string>()
  return function compileMatcher(schema, root) {
    // Most schemas have no alternatives: Ajv is not made for them.
    ajv ??= newAjv(shared)
    const refersToRoot = JSON.stringify(schema).includes('"#')
    if (!refersToRoot) return lazily(ajv, { ...(relaxed(schema) as object) })
    // A relative id: references to shared schemas are not resolved against it.
    const id = documents.get(root) ?? `fastify-conventions-${documents.size}`
    if (!documents.has(root)) {
      documents.set(root, id)
      ajv.addSchema({ ...(relaxed(withoutId(root)) as object), $id: id })
    }
    return lazily(ajv, { allOf: [absoluteReferences(relaxed(schema), id)] })
  }
}

// Compiled when first needed: a schema may refer to one that is being read.
function lazily(ajv: Ajv, schema: object): Match {
  let validate: Match | undefined
  return (value) => {
    validate ??= ajv.compile(schema) as Match
    return validate(value)
  }
}

function newAjv(shared: SchemaStore): Ajv {
  const ajv = new Ajv({ strict: false, validateFormats: false, allowUnionTypes: true, coerceTypes: false })
  ajv.addKeyword({ keyword: 'writesAs', schemaType: 'string', validate: writesAs })
  for (const [id, schema] of Object.entries(shared)) {
    ajv.addSchema({ ...(relaxed(withoutId(schema as Json)) as object), $id: id })
  }
  return ajv
}

function writesAs(type: string, value: unknown): boolean {
  if (type === 'string') return typeof value === 'string' || value instanceof Date
  if (typeof value === 'bigint') return true
  if (type === 'digits')
    return Number.isInteger(value) || (typeof value === 'string' && /^-?\d+$/.test(value))
  return type === 'integer' ? Number.isInteger(value) : typeof value === 'number' && Number.isFinite(value)
}

// An id of its own would stay inside of what a nullable schema becomes, beside that of the whole.
function withoutId(schema: Json): Json {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema
  const { $id: _, ...rest } = schema as Record<string, Json>
  return rest
}

// What Ajv's own `type` would refuse of values that are not JSON yet.
function relaxed(schema: Json): Json {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(relaxed)
  const { type, nullable, $schema: _, ...rest } = schema as Record<string, Json>
  const own = Object.fromEntries(
    Object.entries(rest).map(([keyword, value]) => [keyword, relaxedKeyword(keyword, value)]),
  )
  const typed = type === undefined ? own : { ...own, ...anyTypeOf([type].flat() as string[], rest.format) }
  return nullable === true ? { anyOf: [{ type: 'null' }, typed] } : typed
}

const literals = new Set(['const', 'enum', 'default', 'example', 'examples', 'required'])
const named = new Set(['properties', 'patternProperties', 'definitions', '$defs', 'dependencies'])

function relaxedKeyword(keyword: string, value: Json): Json {
  if (literals.has(keyword) || typeof value !== 'object' || value === null) return value
  if (!named.has(keyword)) return relaxed(value)
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, relaxed(schema as Json)]))
}

function anyTypeOf(types: readonly string[], format: Json | undefined): Record<string, Json> {
  const [only] = types
  return types.length === 1 && only !== undefined
    ? typeOf(only, format)
    : { allOf: [{ anyOf: types.map((type) => typeOf(type, format)) }] }
}

function typeOf(type: string, format: Json | undefined): Record<string, Json> {
  if (type === 'integer')
    return { writesAs: format === 'int64' || format === 'uint64' ? 'digits' : 'integer' }
  return type === 'string' || type === 'number' ? { writesAs: type } : { type }
}
