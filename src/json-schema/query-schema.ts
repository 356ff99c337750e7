import { absoluteReferences, type Json, type SchemaStore, schemaResolver } from './schema-refs.js'

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

/**
 * The schema of a route with more query parameters. What the route declares itself stays. A query schema that is a
 * reference into `shared` is written out, for it may let no others in; one that is no plain JSON Schema object (a
 * reference to what is added later, another validator's) is left as it is.
 *
 * @param shared gives the schemas that references lead to; asked only where there is one
 */
export function withQueryParameters<Schema extends RouteSchema>(
  schema: Schema | undefined,
  parameters: Readonly<Record<string, unknown>>,
  shared: () => SchemaStore = () => ({}),
): Schema {
  const { querystring, query, ...rest } = schema ?? ({} as Schema)
  const declared = querystring ?? query
  if (declared === undefined) return { ...rest, querystring: sharedQuery(parameters) } as unknown as Schema
  const completed = isObjectSchema(declared)
    ? withParameters(declared, parameters)
    : (referredQuery(declared, parameters, shared) ?? declared)
  return { ...rest, querystring: completed } as unknown as Schema
}

function withParameters(declared: ObjectSchema, parameters: Readonly<Record<string, unknown>>): ObjectSchema {
  return { ...declared, properties: { ...parameters, ...declared.properties } }
}

// Validators are compiled once for a schema object: routes that ask for the same share it.
const sharedQueries = new Map<string, ObjectSchema>()

function sharedQuery(parameters: Readonly<Record<string, unknown>>): ObjectSchema {
  const key = JSON.stringify(parameters)
  const known = sharedQueries.get(key) ?? { type: 'object', properties: parameters }
  sharedQueries.set(key, known)
  return known
}

// So do routes that refer to the same.
const referredQueries = new WeakMap<object, Map<string, ObjectSchema>>()

/** What a reference and no more leads to, with the parameters; `null` where it cannot be written out. */
function referredQuery(
  declared: unknown,
  parameters: Readonly<Record<string, unknown>>,
  shared: () => SchemaStore,
): ObjectSchema | null {
  const target = referredObject(declared, shared)
  if (target === null) return null
  const known = referredQueries.get(target.schema) ?? new Map<string, ObjectSchema>()
  referredQueries.set(target.schema, known)
  const key = `${target.document} ${JSON.stringify(parameters)}`
  const completed = known.get(key) ?? writtenOut(target, parameters)
  known.set(key, completed)
  return completed
}

function writtenOut(
  { schema, document }: Referred,
  parameters: Readonly<Record<string, unknown>>,
): ObjectSchema {
  const { $id: _, ...written } = absoluteReferences(schema as Json, document) as ObjectSchema
  return withParameters(written, parameters)
}

interface Referred {
  readonly schema: ObjectSchema
  /** Id of the document that it stands in. */
  readonly document: string
}

function referredObject(declared: unknown, shared: () => SchemaStore): Referred | null {
  const ref = onlyReference(declared)
  const document = ref?.split('#', 1)[0] ?? ''
  if (ref === null || document === '') return null
  try {
    const { schema } = schemaResolver(shared())(ref, {})
    // An id within would stand for two schemas.
    return isObjectSchema(schema) && !hasIdWithin(schema) ? { schema, document } : null
  } catch {
    return null
  }
}

function onlyReference(declared: unknown): string | null {
  if (typeof declared !== 'object' || declared === null || !('$ref' in declared)) return null
  const { $ref, ...siblings } = declared
  return typeof $ref === 'string' && Object.keys(siblings).length === 0 ? $ref : null
}

function hasIdWithin(schema: ObjectSchema): boolean {
  const { $id: _, ...parts } = schema
  return /"\$id":"/.test(JSON.stringify(parts))
}

/** Is it a plain object, no reference? Other validators' schemas are instances of their classes. */
export function isObjectSchema(value: unknown): value is ObjectSchema {
  if (typeof value !== 'object' || value === null || '$ref' in value) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
