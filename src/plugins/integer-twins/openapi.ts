import type { FastifySchema } from 'fastify'
import {
  int64RangeOf,
  isPlainObject,
  isSchemaObject,
  type Json,
  mapSchema,
  mapSubschemas,
  mayRefer,
  namedSchemas,
  type SchemaObject,
  type SchemaStore,
  schemaList,
} from '../../json-schema/json-schema.js'
import { partsOf } from '../../json-schema/parts.js'
import { SchemaReader } from '../../json-schema/reader.js'
import { mapBodies } from '../../json-schema/responses.js'
import { anything, type Shape } from '../../json-schema/shape.js'
import { ShapeReader } from '../../json-schema/shape-reader.js'
import { isAlwaysTwinned, isInt64, isTwinned, mentionsInt64, twinName } from '../../json-schema/twins.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { digitBounds } from './digits-schema.js'

/** What a completed schema is for. */
export type TwinPurpose = 'shared' | 'input' | 'output'

export function describeIntegers({ body }: FastifySchema): RouteDescription {
  return {
    problems: problemsOf({
      ...(mentionsInt64(body)
        ? { 'integer-twin-mismatch': 'An integer and its twin in the body differ' }
        : {}),
    }),
  }
}

export function withTwins(schema: Json, shared: SchemaStore = {}, purpose: TwinPurpose = 'shared'): Json {
  return new TwinCompleter(shared, schema, purpose).complete(schema)
}

/** The response schemas of a route, by status and media type, as they are with the twins of their integers. */
export function withTwinsInResponse(response: unknown, shared: SchemaStore): unknown {
  return mapBodies(response, (schema) => {
    if (!isPlainObject(schema)) return schema
    const body = schema as SchemaObject
    const completer = new TwinCompleter(shared, body, 'output')
    return completer.demandingTwins('$ref' in body ? body : withTwins(body, shared, 'output'))
  })
}

export function completeShared(shared: SchemaStore): void {
  for (const schema of Object.values(shared))
    if (isSchemaObject(schema)) Object.assign(schema, withTwins(schema, shared, 'shared'))
}

// A schema without references is completed once, however many routes have it.
const known: Readonly<Record<TwinPurpose, WeakMap<object, Json>>> = {
  shared: new WeakMap(),
  input: new WeakMap(),
  output: new WeakMap(),
}
const completedMaps = new WeakSet<object>()

class TwinCompleter {
  // A schema that is not in the store yet has no twins yet.
  readonly #reader: SchemaReader
  readonly #shapes: ShapeReader
  readonly #root: Json
  readonly #purpose: TwinPurpose

  constructor(shared: SchemaStore, root: Json, purpose: TwinPurpose) {
    this.#reader = new SchemaReader(shared, { onUnresolved: () => {} })
    this.#shapes = new ShapeReader(this.#reader)
    this.#root = root
    this.#purpose = purpose
  }

  complete(schema: Json): Json {
    if (!isSchemaObject(schema)) return schema
    if (!mentionsInt64(schema)) return schema
    if (mayRefer(schema)) return this.#completeNew(schema)
    const completed = known[this.#purpose].get(schema) ?? this.#completeNew(schema)
    known[this.#purpose].set(schema, completed)
    return completed
  }

  #completeNew(schema: SchemaObject): Json {
    const within = mapSubschemas(schema, (part, keyword) => (keyword === 'not' ? part : this.complete(part)))
    const completed = this.#withMemberTwins(within, schema)
    return this.#withMapTwins(this.#purpose === 'shared' ? completed : this.#withRequired(completed, schema))
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
    const { parts } = this.#reader.read(this.#reader.absolute(schema, this.#root))
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
    const twins = new Map(
      namedSchemas(properties)
        .filter(([name, property]) => isTwinned(this.#shapeOf(property)) && !has(properties, twinName(name)))
        .map(([name, property]) => [name, this.#twinOf(name, property)]),
    )
    if (twins.size === 0) return completed
    const entries = namedSchemas(completed.properties).flatMap(([name, property]): [string, Json][] => {
      const twin = twins.get(name)
      return twin === undefined
        ? [[name, property]]
        : [
            [name, property],
            [twinName(name), twin],
          ]
    })
    return { ...completed, properties: Object.fromEntries(entries) }
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
    const { additionalProperties, patternProperties } = schema
    const rest = additionalProperties === undefined ? undefined : this.#orTwin(additionalProperties)
    const patterns = namedSchemas(patternProperties).map(([name, one]) => [name, this.#orTwin(one)] as const)
    const changed = patterns.some(([name, one]) => one !== (patternProperties as SchemaObject)[name])
    if (rest === additionalProperties && !changed) return schema
    const completed = { ...schema, ...(rest === undefined ? {} : { additionalProperties: rest }) }
    if (!changed) return completed
    // A pattern need not match the name of the twin, which is then one of the others.
    const others = rest === undefined || rest === true ? {} : { _str$: anyTwin(rest) }
    return { ...completed, patternProperties: { ...Object.fromEntries(patterns), ...others } }
  }

  #orTwin(schema: Json): Json {
    if (!isSchemaObject(schema) || completedMaps.has(schema) || !isTwinned(this.#shapeOf(schema)))
      return schema
    return eitherOf(schema, this.#twinOf('another member', schema))
  }

  /** The shape of a part of the schema; that of anything where it cannot be read. */
  #shapeOf(schema: Json): Shape {
    if (!mentionsInt64(schema)) return anything
    try {
      return this.#shapes.read(schema, this.#root)
    } catch {
      return anything
    }
  }

  #twinOf(name: string, schema: Json): Json {
    const parts = partsOf(this.#reader, [this.#reader.absolute(schema, this.#root)])
    const hasNullable = parts.some(({ nullable }) => nullable === true)
    const shape = this.#shapeOf(schema)
    const description = `The digits of ${name}, exact in any client`
    const form = { ...twinForm([shape], hasNullable), ...annotationsOf(parts) }
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

function twinForm(shapes: readonly Shape[], hasNullable: boolean, orNull = false): SchemaObject {
  const alternatives = alternativesOf(shapes)
  const items = alternatives.flatMap((shape) => (shape.kind === 'array' ? [shape.items] : []))
  const isNull = orNull || alternatives.some(({ kind, nullable }) => kind === 'null' || nullable)
  const types = [
    ...(alternatives.some(isInt64) ? ['string'] : []),
    ...(items.length > 0 ? ['array'] : []),
    ...(isNull && !hasNullable ? ['null'] : []),
  ]
  return {
    type: types.length === 1 ? (types[0] as string) : types,
    ...(isNull && hasNullable ? { nullable: true } : {}),
    // In an array, null stands for a value that is not an integer.
    ...(items.length > 0 ? { items: twinForm(items, false, !alternativesOf(items).every(hasTwin)) } : {}),
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

function anyTwin(rest: Json): Json {
  const twin = { type: ['string', 'array', 'null'], description: 'The digits of another member' }
  return rest === false ? twin : eitherOf(rest, twin)
}

function eitherOf(...options: readonly Json[]): Json {
  const schema = { anyOf: options }
  completedMaps.add(schema)
  return schema
}

function has(schemas: Json | undefined, name: string): boolean {
  return isSchemaObject(schemas) && Object.hasOwn(schemas, name)
}
