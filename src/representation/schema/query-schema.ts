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
 * The schema of a route with more query parameters. What the route declares itself stays; a query schema that is no
 * plain JSON Schema object (a `$ref`, another validator's) is left as it is.
 */
export function withQueryParameters<Schema extends RouteSchema>(
  schema: Schema | undefined,
  parameters: Readonly<Record<string, unknown>>,
): Schema {
  const { querystring, query, ...rest } = schema ?? ({} as Schema)
  const declared = querystring ?? query
  if (declared === undefined) return { ...rest, querystring: sharedQuery(parameters) } as unknown as Schema
  const completed = isObjectSchema(declared)
    ? { ...declared, properties: { ...parameters, ...declared.properties } }
    : declared
  return { ...rest, querystring: completed } as unknown as Schema
}

// Validators are compiled once for a schema object: routes that ask for the same share it.
const sharedQueries = new Map<string, ObjectSchema>()

function sharedQuery(parameters: Readonly<Record<string, unknown>>): ObjectSchema {
  const key = JSON.stringify(parameters)
  const known = sharedQueries.get(key) ?? { type: 'object', properties: parameters }
  sharedQueries.set(key, known)
  return known
}

/** Is it a plain object, no reference? Other validators' schemas are instances of their classes. */
export function isObjectSchema(value: unknown): value is ObjectSchema {
  if (typeof value !== 'object' || value === null || '$ref' in value) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
