import { isPlainObject, type SchemaStore } from './json-schema.js'
import { SchemaReader } from './reader.js'

/** A schema of a JSON object. */
export interface ObjectSchema {
  readonly properties?: Readonly<Record<string, unknown>>
  readonly [keyword: string]: unknown
}

/** The parts of a route's schema that plugins complete. */
export interface RouteSchema {
  readonly querystring?: unknown
  readonly query?: unknown
  readonly response?: unknown
}

/** A query schema that is a reference into `shared` is written out, because it may forbid other parameters. */
export function withQueryParameters<Schema extends RouteSchema>(
  schema: Schema | undefined,
  parameters: Readonly<Record<string, unknown>>,
  shared: () => SchemaStore = () => ({}),
): Schema {
  const { querystring, query, ...rest } = schema ?? ({} as Schema)
  const declared = querystring ?? query
  if (declared === undefined) {
    const querystring = onlyOne({ type: 'object', properties: parameters })
    return { ...rest, querystring } as unknown as Schema
  }
  const completed = isObjectSchema(declared)
    ? withParameters(declared, parameters)
    : (referredQuery(declared, parameters, shared) ?? declared)
  return { ...rest, querystring: completed } as unknown as Schema
}

function withParameters(declared: ObjectSchema, parameters: Readonly<Record<string, unknown>>): ObjectSchema {
  return { ...declared, properties: { ...parameters, ...declared.properties } }
}

const known = new Map<string, ObjectSchema>()

// Validators are compiled once for a schema object: routes that ask for the same share it.
function onlyOne(schema: ObjectSchema): ObjectSchema {
  const key = JSON.stringify(schema)
  const same = known.get(key) ?? schema
  known.set(key, same)
  return same
}

/** What a reference and no more leads to, with the parameters; `null` where it cannot be written out. */
function referredQuery(
  declared: unknown,
  parameters: Readonly<Record<string, unknown>>,
  shared: () => SchemaStore,
): ObjectSchema | null {
  const $ref = onlyReference(declared)
  const written = $ref === null ? null : writtenOut($ref, shared())
  return written === null ? null : onlyOne(withParameters(written, parameters))
}

function writtenOut($ref: string, shared: SchemaStore): ObjectSchema | null {
  try {
    const { parts } = new SchemaReader(shared).read({ $ref })
    const [{ $id: _, ...schema } = {}] = parts
    // An id within would stand for two schemas.
    return parts.length === 1 && !/"\$id":"/.test(JSON.stringify(schema)) ? schema : null
  } catch {
    return null
  }
}

function onlyReference(declared: unknown): string | null {
  if (typeof declared !== 'object' || declared === null || !('$ref' in declared)) return null
  const { $ref, ...siblings } = declared
  return typeof $ref === 'string' && Object.keys(siblings).length === 0 ? $ref : null
}

export function isObjectSchema(value: unknown): value is ObjectSchema {
  return isPlainObject(value) && !('$ref' in value)
}
