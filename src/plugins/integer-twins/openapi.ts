import type { Int64Range } from '../../json/int64.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import {
  int64RangeOf,
  isSchemaObject,
  type Json,
  mapSchema,
  mapSubschemas,
  namedSchemas,
  type SchemaObject,
  schemaList,
  writtenOut,
} from '../../schema/json-schema.js'
import {
  in30,
  mapContent,
  mapResponseSchemas,
  type OpenApi,
  type OpenApiDocument,
  type Operation,
  type Parameter,
} from '../../schema/openapi.js'
import { partsOf, type SchemaReader } from '../../schema/reader.js'
import { isObjectSchema } from '../../schema/responses.js'
import {
  anything,
  isAlwaysTwinned,
  isInt64,
  isTwinned,
  mentionsInt64,
  type Shape,
  twinName,
} from '../../schema/shape.js'
import { ShapeReader } from '../../schema/shape-reader.js'

/** What a completed schema is for: a component is for requests and responses. */
export type TwinPurpose = 'component' | 'input' | 'output'

export function describeIntegers(body: unknown): RouteDescription {
  return {
    problems: problemsOf({
      ...(mentionsInt64(body)
        ? { 'integer-twin-mismatch': 'An integer and its twin in the body differ' }
        : {}),
    }),
  }
}

/** Adds twins to an operation, and to the components that it may refer to. A response that only Fastify can write has none. */
export function documentTwins(operation: Operation, openapi: OpenApi, isReadable: boolean): Operation {
  completeComponents(openapi)
  const { parameters, requestBody } = operation
  const described = {
    ...operation,
    ...(parameters && { parameters: parameters.map((one) => withDigitsOf(one, openapi)) }),
    ...(requestBody?.content && {
      requestBody: {
        ...requestBody,
        content: mapContent(requestBody.content, (schema) =>
          isObjectSchema(schema) ? withTwins(schema, openapi, 'input') : schema,
        ),
      },
    }),
  }
  return isReadable
    ? mapResponseSchemas(described, /./, (schema) => withTwinsInResponse(schema, openapi))
    : described
}

const completed = new WeakSet<OpenApiDocument>()

function completeComponents(openapi: OpenApi): void {
  const { document } = openapi
  if (completed.has(document)) return
  completed.add(document)
  const schemas = document.components?.schemas ?? {}
  for (const [name, schema] of Object.entries(schemas))
    schemas[name] = withTwins(schema, openapi, 'component')
}

/** A 64-bit integer of a path or a query is a text of digits. */
function withDigitsOf(parameter: Parameter, { reader }: OpenApi): Parameter {
  const { description, schema } = parameter
  const isInUrl = parameter.in === 'path' || parameter.in === 'query'
  if (!isInUrl || !isSchemaObject(schema) || !mentionsInt64(schema)) return parameter
  const one = description === undefined ? schema : { ...schema, description }
  const { description: completed, ...digits } = withDigits(one, reader) as SchemaObject
  return { ...parameter, ...(typeof completed === 'string' && { description: completed }), schema: digits }
}

type Context = Pick<OpenApi, 'reader' | 'is30'>

export function withTwins(schema: Json, context: Context, purpose: TwinPurpose): Json {
  return new TwinCompleter(context, purpose).complete(schema)
}

export function withTwinsInResponse(schema: Json, context: Context): Json {
  const completer = new TwinCompleter(context, 'output')
  return completer.demandingTwins(isObjectSchema(schema) ? completer.complete(schema) : schema)
}

class TwinCompleter {
  readonly #reader: SchemaReader
  readonly #shapes: ShapeReader
  readonly #is30: boolean
  readonly #purpose: TwinPurpose

  constructor({ reader, is30 }: Context, purpose: TwinPurpose) {
    this.#reader = reader
    this.#shapes = new ShapeReader(reader)
    this.#is30 = is30
    this.#purpose = purpose
  }

  complete(schema: Json): Json {
    if (!isSchemaObject(schema) || !mentionsInt64(schema)) return schema
    const within = mapSubschemas(schema, (part, keyword) => (keyword === 'not' ? part : this.complete(part)))
    const completed = this.#withMemberTwins(within, schema)
    return this.#withMapTwins(
      this.#purpose === 'component' ? completed : this.#withRequired(completed, schema),
    )
  }

  demandingTwins(schema: Json): Json {
    return mapSchema(schema, (part) => {
      const { $ref, ...siblings } = part
      const demand = typeof $ref === 'string' ? this.#demandOf({ $ref }, 0) : null
      return demand === null ? part : { ...siblings, allOf: [{ $ref: $ref as string }, demand] }
    })
  }

  /** What is demanded of a value besides its schema; `null` for nothing. */
  #demandOf(schema: Json, depth: number): SchemaObject | null {
    if (depth > maxDemandDepth || !mentionsInt64(schema)) return null
    const { parts } = this.#reader.read(schema)
    const required: string[] = []
    const properties: Record<string, Json> = {}
    let items: SchemaObject | null = null
    for (const part of parts) {
      const names: readonly Json[] = Array.isArray(part.required) ? part.required : []
      for (const [name, property] of namedSchemas(part.properties)) {
        const twin = twinName(name)
        const isDemanded = names.includes(name) && !names.includes(twin) && !required.includes(twin)
        if (isDemanded && isAlwaysTwinned(this.#shapeOf(property))) {
          required.push(twin)
          // A generated client has a type for a required member only if the member is described beside it.
          properties[twin] = this.#twinOf(name, property)
        }
        const demand = this.#demandOf(property, depth + 1)
        if (demand !== null) properties[name] = demand
      }
      if (isSchemaObject(part.items)) items ??= this.#demandOf(part.items, depth + 1)
    }
    if (items !== null) return { items }
    if (Object.keys(properties).length === 0) return null
    return { ...(required.length === 0 ? {} : { required }), properties }
  }

  #withMemberTwins(completed: SchemaObject, { properties }: SchemaObject): SchemaObject {
    const isTwinAdded = (name: string, property: Json) =>
      isTwinned(this.#shapeOf(property)) && !has(properties, twinName(name))
    const declared = isSchemaObject(properties) ? properties : {}
    const entries = namedSchemas(completed.properties).flatMap(([name, property]): [string, Json][] => {
      const before = declared[name] as Json
      if (!isTwinAdded(name, before)) return [[name, property]]
      return [
        [name, property],
        [twinName(name), this.#twinOf(name, before)],
      ]
    })
    return entries.length === Object.keys(declared).length
      ? completed
      : { ...completed, properties: Object.fromEntries(entries) }
  }

  #withRequired(completed: SchemaObject, { properties, required }: SchemaObject): SchemaObject {
    if (!isSchemaObject(properties) || !Array.isArray(required)) return completed
    const isTwinAdded = (name: string): boolean =>
      has(properties, name) &&
      !has(properties, twinName(name)) &&
      isAlwaysTwinned(this.#shapeOf(properties[name] as Json))
    const twinned = required.filter(isTwinAdded)
    if (twinned.length === 0) return completed
    if (this.#purpose === 'output') {
      const names = required.flatMap((name: string) => (isTwinAdded(name) ? [name, twinName(name)] : name))
      return { ...completed, required: names }
    }
    const either = twinned.map((name) => ({
      anyOf: [{ required: [name] }, { required: [twinName(name)] }],
    }))
    const { required: _, ...optional } = completed
    const others = required.filter((name) => !twinned.includes(name))
    return {
      ...optional,
      ...(others.length === 0 ? {} : { required: others }),
      allOf: [...schemaList(completed.allOf), ...either],
    }
  }

  #withMapTwins(schema: SchemaObject): SchemaObject {
    const { additionalProperties: rest } = schema
    if (rest === undefined || !isTwinned(this.#shapeOf(rest))) return schema
    return { ...schema, additionalProperties: { anyOf: [rest, this.#twinOf('another member', rest)] } }
  }

  /** The shape of a part of the schema; that of anything where it cannot be read. */
  #shapeOf(schema: Json): Shape {
    if (!mentionsInt64(schema)) return anything
    try {
      return this.#shapes.read(schema)
    } catch {
      return anything
    }
  }

  #twinOf(name: string, schema: Json): Json {
    const twin = this.#twinOf31(name, schema)
    return this.#is30 ? in30(twin) : twin
  }

  #twinOf31(name: string, schema: Json): SchemaObject {
    const parts = partsOf(this.#reader, [schema])
    const shape = this.#shapeOf(schema)
    const description = `The digits of ${name}, exact in any client`
    const form = { ...twinForm([shape]), ...annotationsOf(parts) }
    if (!alternativesOf([shape]).some(isInt64)) return { ...form, description }
    const [declared, ...others] = parts
    const range = declared === undefined || others.length > 0 ? null : int64RangeOf(declared)
    if (this.#purpose !== 'input' || declared === undefined || range === null)
      return { ...form, pattern: '^-?[0-9]+$', description }
    const { description: bounds, ...digits } = digitBounds(declared, range)
    return { ...form, ...digits, description: `${description}; ${bounds}` }
  }
}

function annotationsOf(parts: readonly SchemaObject[]): SchemaObject {
  const names = ['readOnly', 'writeOnly', 'deprecated'].filter((name) =>
    parts.some((part) => part[name] === true),
  )
  return Object.fromEntries(names.map((name) => [name, true]))
}

// Deeper, the twins of what is referred to are optional in the document.
const maxDemandDepth = 5

function twinForm(shapes: readonly Shape[], orNull = false): SchemaObject {
  const alternatives = alternativesOf(shapes)
  const items = alternatives.flatMap((shape) => (shape.kind === 'array' ? [shape.items] : []))
  const isNull = orNull || alternatives.some(({ kind, nullable }) => kind === 'null' || nullable)
  const types = [
    ...(alternatives.some(isInt64) ? ['string'] : []),
    ...(items.length > 0 ? ['array'] : []),
    ...(isNull ? ['null'] : []),
  ]
  return {
    type: types.length === 1 ? (types[0] as string) : types,
    // In an array, null stands for a value that is not an integer.
    ...(items.length > 0 ? { items: twinForm(items, !alternativesOf(items).every(hasTwin)) } : {}),
  }
}

function hasTwin(shape: Shape): boolean {
  return shape.kind === 'null' || isTwinned(shape)
}

function alternativesOf(shapes: readonly Shape[]): readonly Shape[] {
  return shapes.flatMap((shape) =>
    shape.kind === 'choice'
      ? [shape, ...alternativesOf(shape.options.map((option) => option.shape))]
      : [shape],
  )
}

function has(schemas: Json | undefined, name: string): boolean {
  return isSchemaObject(schemas) && Object.hasOwn(schemas, name)
}

export function withDigits(schema: Json, reader: SchemaReader): Json {
  if (!mentionsInt64(schema)) return schema
  const plain = writtenOut(schema, reader)
  return mapSchema(plain, (part) => {
    const range = int64RangeOf(part)
    return range === null ? part : digitsOf(part, range)
  })
}

function digitsOf(part: SchemaObject, range: Int64Range): SchemaObject {
  const { format: _, minimum: _a, maximum: _b, exclusiveMinimum: _c, exclusiveMaximum: _d, ...rest } = part
  const { multipleOf: _e, type, default: fallback, enum: values, description, ...others } = rest
  const types = [type].flat().map((one) => (one === 'integer' ? 'string' : one)) as string[]
  const { description: bounds, ...form } = digitBounds(part, range)
  return {
    ...others,
    type: types.length === 1 ? (types[0] as string) : types,
    ...form,
    description: typeof description === 'string' ? `${description}; ${bounds}` : bounds,
    ...(fallback === undefined ? {} : { default: asText(fallback) }),
    ...(Array.isArray(values) ? { enum: values.map(asText) } : {}),
  }
}

/** `description` has those that a pattern cannot express. */
export function digitBounds(
  schema: SchemaObject,
  range: Int64Range,
): { readonly pattern: string; readonly maxLength: number; readonly description: string } {
  const { min, max } = boundsOf(schema, range)
  const { multipleOf } = schema
  const sign = min < 0n ? '-' : ''
  return {
    pattern: `^${sign === '' ? '' : '-?'}[0-9]+$`,
    maxLength: `${sign}${range.max}`.length,
    description: `an integer from ${min} to ${max}${isNumber(multipleOf) ? `, a multiple of ${multipleOf}` : ''}`,
  }
}

function boundsOf(
  { minimum, maximum, exclusiveMinimum, exclusiveMaximum }: SchemaObject,
  { min, max }: Int64Range,
): Int64Range {
  const above = [minimum, isNumber(exclusiveMinimum) ? Math.floor(exclusiveMinimum) + 1 : undefined]
  const below = [maximum, isNumber(exclusiveMaximum) ? Math.ceil(exclusiveMaximum) - 1 : undefined]
  const from = above.filter(isNumber).map((bound) => BigInt(Math.ceil(bound)))
  const to = below.filter(isNumber).map((bound) => BigInt(Math.floor(bound)))
  return {
    min: from.reduce((one, other) => (one > other ? one : other), min),
    max: to.reduce((one, other) => (one < other ? one : other), max),
  }
}

function isNumber(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function asText(value: Json): Json {
  return typeof value === 'number' ? String(value) : value
}
