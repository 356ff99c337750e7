import { isPlainObject, type Json, type SchemaObject, writtenOut } from './json-schema.js'
import { SchemaReader } from './reader.js'
import { mapBodies } from './responses.js'

/** Whether a schema describes what a client sends or what it receives. They differ by defaults and conversions. */
export type SchemaDirection = 'input' | 'output'

/**
 * Returns the JSON Schema of a schema of another library; `undefined` if it cannot.
 *
 * @param schema as the route declares it
 * @param direction `input` for a body, parameters, a query and headers; `output` for a response
 */
export type ToJsonSchema = (schema: unknown, direction: SchemaDirection) => object | undefined

/** Whether a schema is of a library whose schemas are not JSON Schemas, such as Zod. */
export function isProviderSchema(schema: unknown): schema is object {
  if (typeof schema === 'function') return true
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return false
  return '~standard' in schema || '_zod' in schema || !isPlainObject(schema)
}

/** Returns the JSON Schema that a function, or the schema itself (Zod 4, Standard JSON Schema), gives; else `undefined`. */
export function jsonSchemaOf(
  schema: object,
  direction: SchemaDirection,
  convert?: ToJsonSchema,
): object | undefined {
  try {
    return convert?.(schema, direction) ?? ownJsonSchema(schema, direction)
  } catch {
    return undefined
  }
}

/** The response schemas of a route with JSON Schemas in the place of others. */
export function mapResponses<Response>(response: Response, map: (schema: object) => unknown): Response {
  return mapBodies(response, (schema) => (isProviderSchema(schema) ? map(schema) : schema)) as Response
}

/** What Zod gives to the function that may change the JSON Schema of a part. */
interface Part {
  readonly zodSchema: ZodSchema
  readonly jsonSchema: Record<string, unknown>
}

interface ZodSchema {
  readonly _zod: {
    readonly def: {
      readonly type: string
      readonly format?: unknown
      readonly in?: unknown
      readonly out?: unknown
    }
  }
  readonly toJSONSchema?: (options: object) => object
}

interface StandardSchema {
  readonly '~standard': {
    readonly jsonSchema?: Readonly<Record<SchemaDirection, (options: object) => object>>
  }
}

function ownJsonSchema(schema: object, direction: SchemaDirection): object | undefined {
  const { toJSONSchema } = schema as Partial<ZodSchema>
  if ('_zod' in schema && typeof toJSONSchema === 'function') {
    return alone(toJSONSchema.call(schema, zodOptions(direction)))
  }
  const standard = (schema as Partial<StandardSchema>)['~standard']
  const json = standard?.jsonSchema?.[direction]({ target: 'draft-07' })
  return json === undefined ? undefined : alone(json)
}

/** Returns the options of Zod's `toJSONSchema()`, by which a schema describes the JSON that is sent. */
export function zodOptions(direction: SchemaDirection): object {
  return {
    io: direction,
    target: 'draft-07',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }: Part) => describePart(zodSchema, jsonSchema, direction),
  }
}

function describePart(schema: ZodSchema, json: Record<string, unknown>, direction: SchemaDirection): void {
  const { type, in: encoded, out: decoded } = schema._zod.def
  const integer = integerOf(type === 'pipe' ? (decoded as ZodSchema) : schema)
  if (integer !== null) {
    // What a codec accepts in the place of an integer is not for clients.
    delete json.anyOf
    Object.assign(json, { ...integer, ...json })
  } else if (type === 'date' && direction === 'output') {
    json.type ??= 'string'
    json.format ??= 'date-time'
  } else if (type === 'number' && direction === 'input' && isInt64Format(json.format)) {
    // Such a schema accepts Numbers only.
    delete json.format
  } else if (type === 'pipe' && direction === 'output' && 'reverseTransform' in schema._zod.def) {
    // A response is what a codec encodes.
    const sent = isProviderSchema(encoded) ? ownJsonSchema(encoded, direction) : undefined
    if (sent === undefined) return
    for (const keyword of Object.keys(json)) delete json[keyword]
    Object.assign(json, sent)
  }
}

function integerOf(schema: ZodSchema): object | null {
  const { type, format } = schema._zod.def
  if (type !== 'bigint') return null
  return isInt64Format(format) ? { type: 'integer', format } : { type: 'integer' }
}

function isInt64Format(format: unknown): boolean {
  return format === 'int64' || format === 'uint64'
}

/** A schema without the name of its dialect, and without definitions if none refers to itself. */
function alone(schema: object): object {
  const { $schema: _, '~standard': _standard, ...keywords } = schema as Record<string, unknown>
  if (!isPlainObject(keywords.definitions)) return keywords
  try {
    const reader = new SchemaReader({}, () => {})
    const absolute = reader.absolute(keywords as Json)
    const { definitions: _definitions, ...plain } = writtenOut(
      absolute,
      reader,
      undefined,
      circle,
    ) as SchemaObject
    return plain
  } catch {
    return keywords
  }
}

function circle(): never {
  throw new TypeError('the schema is recursive')
}
