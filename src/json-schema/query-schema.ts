import { isPlainObject, type Json, type SchemaStore } from './json-schema.js'
import { writtenOut } from './written-out.js'

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
  if (!isPlainObject(declared) || Object.keys(declared).join() !== '$ref') return null
  const written = writtenOut(declared as Json, shared())
  const isKnown = isObjectSchema(written) && Object.keys(written).length > 0
  return isKnown && written.allOf === undefined ? onlyOne(withParameters(written, parameters)) : null
}

export function isObjectSchema(value: unknown): value is ObjectSchema {
  return isPlainObject(value) && !('$ref' in value)
}
