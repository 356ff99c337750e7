import { decimalPattern, type Int64Range, naturalPattern } from '../../json/int64.js'
import { each } from '../../options.js'
import {
  int64RangeOf,
  isSchemaObject,
  type Json,
  mapSchema,
  mapSubschemas,
  namedSchemas,
  type SchemaObject,
  schemaList,
  schemaText,
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

type Context = Pick<OpenApi, 'reader' | 'is30'>

/** Adds twins to an operation, and to the components that it may refer to. A response that only Fastify can write has none. */
export function documentTwins(operation: Operation, openapi: OpenApi, hasTwins: boolean): Operation {
  completeComponents(openapi)
  const { parameters, requestBody } = operation
  const described = {
    ...operation,
    ...(parameters && { parameters: parameters.map((one) => withDigitsOf(one, openapi.reader)) }),
    ...(requestBody?.content && {
      requestBody: {
        ...requestBody,
        content: mapContent(requestBody.content, (schema) =>
          isObjectSchema(schema) ? withTwins(schema, openapi, 'input') : schema,
        ),
      },
    }),
  }
  return hasTwins
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

/** Adds the twins that a schema does not declare itself. */
export function withTwins(schema: Json, context: Context, purpose: TwinPurpose): Json {
  const { shapeOf, twinOf } = twinReader(context, purpose)

  function complete(part: Json): Json {
    if (!isSchemaObject(part) || !mentionsInt64(part)) return part
    const within = mapSubschemas(part, (one, keyword) => (keyword === 'not' ? one : complete(one)))
    const { properties } = part
    const twinned = new Map(
      namedSchemas(properties).filter(
        ([name, one]) => !has(properties, twinName(name)) && isTwinned(shapeOf(one)),
      ),
    )
    const members = namedSchemas(within.properties).flatMap(([name, one]): [string, Json][] => {
      const given = twinned.get(name)
      return given === undefined
        ? [[name, one]]
        : [
            [name, one],
            [twinName(name), twinOf(name, given)],
          ]
    })
    const rest = within.additionalProperties ?? false
    const isMap = isTwinned(shapeOf(rest))
    if (twinned.size === 0 && !isMap) return within
    return {
      ...withRequired(within, twinned),
      ...(twinned.size > 0 && { properties: Object.fromEntries(members) }),
      ...(isMap && { additionalProperties: { anyOf: [rest, twinOf('another member', rest)] } }),
    }
  }

  function withRequired(within: SchemaObject, twinned: ReadonlyMap<string, Json>): SchemaObject {
    const { required, ...optional } = within
    const isAlways = (name: string): boolean =>
      twinned.has(name) && isAlwaysTwinned(shapeOf(twinned.get(name) ?? {}))
    const names: readonly string[] = Array.isArray(required) ? required : []
    const always = names.filter(isAlways)
    if (purpose === 'component' || always.length === 0) return within
    if (purpose === 'output')
      return {
        ...within,
        required: names.flatMap((name) => (isAlways(name) ? [name, twinName(name)] : name)),
      }
    const others = names.filter((name) => !isAlways(name))
    const either = always.map((name) => ({ anyOf: [{ required: [name] }, { required: [twinName(name)] }] }))
    return {
      ...optional,
      ...(others.length > 0 && { required: others }),
      allOf: [...schemaList(within.allOf), ...either],
    }
  }

  return complete(schema)
}

// Deeper, the twins of what is referred to are optional in the document.
const maxDemandDepth = 5

/** Requires also the twins of the components that a response refers to, which are for requests, too. */
export function withTwinsInResponse(schema: Json, context: Context): Json {
  if (!mentionsInt64(schema)) return schema
  const { shapeOf, twinOf } = twinReader(context, 'output')

  /** What is demanded of a value besides its schema; `null` for nothing. */
  function demandOf(part: Json, depth: number): SchemaObject | null {
    if (depth > maxDemandDepth || !mentionsInt64(part)) return null
    const required: string[] = []
    const properties: Record<string, Json> = {}
    let items: SchemaObject | null = null
    for (const one of context.reader.read(part).parts) {
      const names: readonly Json[] = Array.isArray(one.required) ? one.required : []
      for (const [name, property] of namedSchemas(one.properties)) {
        const twin = twinName(name)
        const isDemanded = names.includes(name) && !names.includes(twin) && !required.includes(twin)
        if (isDemanded && isAlwaysTwinned(shapeOf(property))) {
          required.push(twin)
          // A generated client has a type for a required member only if the member is described beside it.
          properties[twin] = twinOf(name, property)
        }
        const demand = demandOf(property, depth + 1)
        if (demand !== null) properties[name] = demand
      }
      if (isSchemaObject(one.items)) items ??= demandOf(one.items, depth + 1)
    }
    if (items !== null) return { items }
    if (Object.keys(properties).length === 0) return null
    return { ...(required.length > 0 && { required }), properties }
  }

  const twinned = isObjectSchema(schema) ? withTwins(schema, context, 'output') : schema
  if (schemaText(twinned)?.includes('"$ref"') === false) return twinned
  return mapSchema(twinned, (part) => {
    const { $ref, ...siblings } = part
    const demand = typeof $ref === 'string' ? demandOf({ $ref }, 0) : null
    return demand === null ? part : { ...siblings, allOf: [{ $ref: $ref as string }, demand] }
  })
}

function twinReader({ reader, is30 }: Context, purpose: TwinPurpose) {
  const shapes = new ShapeReader(reader)

  /** The shape of a part of the schema; that of anything where it cannot be read. */
  function shapeOf(schema: Json): Shape {
    if (!mentionsInt64(schema)) return anything
    try {
      return shapes.read(schema)
    } catch {
      return anything
    }
  }

  function twinOf(name: string, schema: Json): Json {
    const parts = partsOf(reader, [schema])
    const shape = shapeOf(schema)
    const [declared = {}, ...others] = parts
    const range = others.length > 0 ? null : int64RangeOf(declared)
    const annotations = ['readOnly', 'writeOnly', 'deprecated'].filter((one) =>
      parts.some((part) => part[one] === true),
    )
    const twin: Record<string, Json> = { ...twinForm([shape]), ...each(annotations, true) }
    twin.description = `The digits of ${name}, exact in any client`
    if (purpose === 'input' && range !== null) Object.assign(twin, digitForm(declared, range))
    else if (alternativesOf([shape]).some(isInt64)) twin.pattern = decimalPattern
    return is30 ? in30(twin) : twin
  }

  return { shapeOf, twinOf }
}

function twinForm(shapes: readonly Shape[], orNull = false): SchemaObject {
  const alternatives = alternativesOf(shapes)
  const items = alternatives.flatMap((shape) => (shape.kind === 'array' ? [shape.items] : []))
  const isNull = orNull || alternatives.some(({ kind, nullable }) => kind === 'null' || nullable)
  const types = [
    ...(alternatives.some(isInt64) ? ['string'] : []),
    ...(items.length > 0 ? ['array'] : []),
    ...(isNull ? ['null'] : []),
  ]
  // In an array, null stands for a value that is not an integer.
  const hasOthers = alternativesOf(items).some((shape) => !isTwinned(shape))
  return {
    type: types.length === 1 ? (types[0] as string) : types,
    ...(items.length > 0 && { items: twinForm(items, hasOthers) }),
  }
}

function alternativesOf(shapes: readonly Shape[]): readonly Shape[] {
  return shapes.flatMap((shape) =>
    shape.kind === 'choice' ? [shape, ...alternativesOf(shape.options.map((one) => one.shape))] : [shape],
  )
}

function has(schemas: Json | undefined, name: string): boolean {
  return isSchemaObject(schemas) && Object.hasOwn(schemas, name)
}

/** A 64-bit integer of a path or a query is a text of digits. */
function withDigitsOf(parameter: Parameter, reader: SchemaReader): Parameter {
  const { schema } = parameter
  const isInUrl = parameter.in === 'path' || parameter.in === 'query'
  return isInUrl && isSchemaObject(schema) ? { ...parameter, schema: withDigits(schema, reader) } : parameter
}

export function withDigits(schema: Json, reader: SchemaReader): Json {
  return mapSchema(writtenOut(schema, reader), (part) => {
    const range = int64RangeOf(part)
    return range === null ? part : digitsOf(part, range)
  })
}

function digitsOf(part: SchemaObject, range: Int64Range): SchemaObject {
  const { format: _, minimum: _a, maximum: _b, exclusiveMinimum: _c, exclusiveMaximum: _d, ...rest } = part
  const { multipleOf: _e, type, ...others } = rest
  const types = [type].flat().map((one) => (one === 'integer' ? 'string' : one)) as string[]
  return {
    ...others,
    type: types.length === 1 ? (types[0] as string) : types,
    ...digitForm(part, range),
    ...(part.default !== undefined && { default: asText(part.default) }),
    ...(Array.isArray(part.enum) && { enum: part.enum.map(asText) }),
  }
}

// In OpenAPI 3.0, `exclusiveMinimum` is a boolean.
function digitForm({ minimum, exclusiveMinimum }: SchemaObject, range: Int64Range) {
  const isNatural =
    (typeof minimum === 'number' && minimum > -1) ||
    (typeof exclusiveMinimum === 'number' && exclusiveMinimum >= -1)
  const isSigned = range.min < 0n && !isNatural
  const maxLength = `${range.max}`.length
  return isSigned
    ? { pattern: decimalPattern, maxLength: maxLength + 1 }
    : { pattern: naturalPattern, maxLength }
}

function asText(value: Json): Json {
  return typeof value === 'number' ? String(value) : value
}
