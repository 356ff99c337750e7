import type { Ajv } from 'ajv'
import { utcDateTime } from '../http/date-time.js'
import { isDecimal } from '../json/int64.js'
import { rangeOf } from '../json/wide-range.js'
import { absoluteReferences, type Json, type SchemaStore } from './schema-refs.js'

/** Is the value one that the schema is for? */
export type Match = (value: unknown) => boolean

/**
 * Makes a {@link Match} of a schema; local references in it are relative to `root`.
 *
 * @param formats whether a value has to be of its format too, where that is one that tells shapes apart
 */
export type MatcherCompiler = (schema: Json, root: Json, formats?: boolean) => Match

/**
 * Matches values as they are before they are JSON: a BigInt, or its decimal string, is an integer; a Date is a
 * string, and so is what writes itself as one (`toJSON`).
 */
export function matcherCompiler(shared: SchemaStore): MatcherCompiler {
  const [loose, strict] = [false, true].map((formats) => oneCompiler(shared, formats))
  return function compileMatcher(schema, root, formats = false) {
    return ((formats ? strict : loose) as OneCompiler)(schema, root)
  }
}

type OneCompiler = (schema: Json, root: Json) => Match

function oneCompiler(shared: SchemaStore, formats: boolean): OneCompiler {
  let ajv: Ajv | undefined
  const documents = new Map<Json, string>()
  const prepared = (schema: Json): Json => relaxed(schema, formats)
  return (schema, root) => {
    // Most schemas have no alternatives: Ajv is not made for them.
    ajv ??= newAjv(shared, prepared)
    const refersToRoot = JSON.stringify(schema).includes('"#')
    if (!refersToRoot) return lazily(ajv, { ...(prepared(schema) as object) })
    // A relative id: references to shared schemas are not resolved against it.
    const id = documents.get(root) ?? `fastify-conventions-${documents.size}`
    if (!documents.has(root)) {
      documents.set(root, id)
      ajv.addSchema({ ...(prepared(withoutId(root)) as object), $id: id })
    }
    return lazily(ajv, { allOf: [absoluteReferences(prepared(schema), id)] })
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

let ajvClass: typeof Ajv | undefined

/** Loads Ajv. A convention that reads response schemas awaits this at registration: an import takes no Ajv along. */
export async function loadAjv(): Promise<void> {
  ajvClass ??= (await import('ajv')).Ajv
}

function newAjv(shared: SchemaStore, prepared: (schema: Json) => Json): Ajv {
  if (ajvClass === undefined) throw new Error('Ajv is not loaded: await loadAjv() first')
  const ajv = new ajvClass({
    strict: false,
    validateFormats: false,
    allowUnionTypes: true,
    coerceTypes: false,
  })
  ajv.addKeyword({ keyword: 'writesAs', schemaType: 'string', validate: writesAs })
  ajv.addKeyword({ keyword: 'isOfFormat', schemaType: 'string', validate: isOfFormat })
  for (const [id, schema] of Object.entries(shared)) {
    ajv.addSchema({ ...(prepared(withoutId(schema as Json)) as object), $id: id })
  }
  return ajv
}

function writesAs(type: string, value: unknown): boolean {
  if (type === 'string') return typeof value === 'string' || typeof jsonOf(value) === 'string'
  if (type === 'object') return typeof jsonOf(value) === 'object'
  if (typeof value === 'bigint') return true
  if (type === 'digits') return Number.isInteger(value) || (typeof value === 'string' && isDecimal(value))
  return type === 'integer' ? Number.isInteger(value) : typeof value === 'number' && Number.isFinite(value)
}

// A Date is written by its format, of those that dates have.
function isOfFormat(format: string, value: unknown): boolean {
  if (value instanceof Date) return format !== 'uuid'
  const json = jsonOf(value)
  if (format === 'date-time') return typeof json === 'string' && utcDateTime(json) !== null
  if (format === 'uuid') return typeof json === 'string' && uuid.test(json)
  if (typeof json === 'string') {
    // BigInt takes quadratic time for a long text.
    return json.length <= maxLength && isDecimal(json) && isWithin(format, BigInt(json))
  }
  return (typeof json === 'number' || typeof json === 'bigint') && isWithin(format, json)
}

const maxLength = '18446744073709551615'.length

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

// A Number at the very end of a range stands for the integers that are rounded to it.
function isWithin(format: string, value: number | bigint): boolean {
  const range = rangeOf(format)
  if (range === null) return true
  return typeof value === 'bigint'
    ? value >= range.min && value <= range.max
    : value >= Number(range.min) && value <= Number(range.max)
}

function jsonOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { toJSON } = value as { readonly toJSON?: unknown }
  return typeof toJSON === 'function' ? toJSON.call(value) : value
}

// An id of its own would stay inside of what a nullable schema becomes, beside that of the whole.
function withoutId(schema: Json): Json {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema
  const { $id: _, ...rest } = schema as Record<string, Json>
  return rest
}

// What Ajv's own `type` would refuse of values that are not JSON yet.
function relaxed(schema: Json, formats: boolean): Json {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map((part) => relaxed(part, formats))
  const { type, nullable, $schema: _, ...rest } = schema as Record<string, Json>
  const own = Object.fromEntries(
    Object.entries(rest).map(([keyword, value]) => [keyword, relaxedKeyword(keyword, value, formats)]),
  )
  const typed =
    type === undefined ? own : { ...own, ...anyTypeOf([type].flat() as string[], rest.format, formats) }
  return nullable === true ? { anyOf: [{ type: 'null' }, typed] } : typed
}

const literals = new Set(['const', 'enum', 'default', 'example', 'examples', 'required'])
const named = new Set(['properties', 'patternProperties', 'definitions', '$defs', 'dependencies'])

function relaxedKeyword(keyword: string, value: Json, formats: boolean): Json {
  if (literals.has(keyword) || typeof value !== 'object' || value === null) return value
  if (!named.has(keyword)) return relaxed(value, formats)
  return Object.fromEntries(
    Object.entries(value).map(([name, schema]) => [name, relaxed(schema as Json, formats)]),
  )
}

function anyTypeOf(
  types: readonly string[],
  format: Json | undefined,
  formats: boolean,
): Record<string, Json> {
  const [only] = types
  return types.length === 1 && only !== undefined
    ? typeOf(only, format, formats)
    : { allOf: [{ anyOf: types.map((type) => typeOf(type, format, formats)) }] }
}

const tellingFormats: Readonly<Record<string, readonly unknown[]>> = {
  string: ['date-time', 'uuid'],
  integer: ['int64', 'uint64'],
}

function typeOf(type: string, format: Json | undefined, formats: boolean): Record<string, Json> {
  const isTelling = formats && format !== undefined && tellingFormats[type]?.includes(format) === true
  const ofFormat: Record<string, Json> = isTelling ? { isOfFormat: format } : {}
  if (type === 'integer') return { writesAs: rangeOf(format) === null ? 'integer' : 'digits', ...ofFormat }
  if (type === 'object') return { type, writesAs: type }
  return type === 'string' || type === 'number' ? { writesAs: type, ...ofFormat } : { type }
}
