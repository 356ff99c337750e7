import { isSchemaObject, type SchemaObject } from '../../json-schema/json-schema.js'
import { mentionsWide, wideMentions } from '../../json-schema/mentions-wide.js'
import { isObjectSchema } from '../../json-schema/query-schema.js'
import type { Json, SchemaStore } from '../../json-schema/schema-refs.js'
import { twinName } from '../../json-schema/twins.js'
import { isAlwaysTwinned, isTwinned, KindReader, twinSchema } from './twin-form.js'

/** What a completed schema is for. */
export type TwinPurpose =
  /** To validate by: members have their twins, and nothing is demanded or allowed besides. */
  | 'validation'
  /** To read what may come in: maps have their twins too. */
  | 'input'
  /** To read what goes out: the twin of a required member is required. */
  | 'output'

/**
 * A schema in which every declared 64-bit integer has its string twin right behind it, at every depth; the given one
 * where there is none. Schemas that it refers to are left to {@link completeShared}.
 */
export function withTwins(schema: Json, shared: SchemaStore = {}, purpose: TwinPurpose = 'validation'): Json {
  return new TwinCompleter(shared, schema, purpose).complete(schema)
}

/** The response schemas of a route, by status and media type, as they are with the twins of their integers. */
export function withTwinsInResponse(response: unknown, shared: SchemaStore): unknown {
  if (!isObjectSchema(response)) return response
  return mapped(response, (answer) => {
    if (!isObjectSchema(answer)) return answer
    const { content } = answer
    if (!isObjectSchema(content)) return withTwins(answer as Json, shared, 'output')
    const completed = mapped(content, (media) => {
      if (!isObjectSchema(media) || !isObjectSchema(media.schema)) return media
      const schema = withTwins(media.schema as Json, shared, 'output')
      return schema === media.schema ? media : { ...media, schema }
    })
    return completed === content ? answer : { ...answer, content: completed }
  })
}

/**
 * Adds the twins to shared schemas in place: the OpenAPI document shows what stands in the store of the context, which
 * is Fastify's own copy. The app may still compile something of them: so nothing is demanded that was not.
 */
export function completeShared(shared: SchemaStore): void {
  for (const schema of Object.values(shared)) {
    if (typeof schema === 'object' && schema !== null) {
      Object.assign(schema, withTwins(schema as Json, shared, 'input'))
    }
  }
}

// What refers to nothing is completed once, however many routes have it.
const known: Readonly<Record<TwinPurpose, WeakMap<object, Json>>> = {
  validation: new WeakMap(),
  input: new WeakMap(),
  output: new WeakMap(),
}
const completedMaps = new WeakSet<object>()

class TwinCompleter {
  readonly #kinds: KindReader
  readonly #root: Json
  readonly #purpose: TwinPurpose

  constructor(shared: SchemaStore, root: Json, purpose: TwinPurpose) {
    this.#kinds = new KindReader(shared)
    this.#root = root
    this.#purpose = purpose
  }

  complete(schema: Json): Json {
    if (typeof schema !== 'object' || schema === null) return schema
    const { format, reference } = wideMentions(schema)
    if (!format && !reference) return schema
    if (reference) return this.#completeNew(schema)
    const completed = known[this.#purpose].get(schema) ?? this.#completeNew(schema)
    known[this.#purpose].set(schema, completed)
    return completed
  }

  #completeNew(schema: Json): Json {
    if (Array.isArray(schema)) {
      const completed = schema.map((part) => this.complete(part))
      return completed.every((part, index) => part === schema[index]) ? schema : completed
    }
    if (!isSchemaObject(schema)) return schema
    const completed = mapped(schema, (value, keyword) => this.#keyword(keyword, value))
    return this.#purpose === 'validation'
      ? completed
      : this.#withMapTwins(this.#withRequired(completed, schema))
  }

  #keyword(keyword: string, value: Json): Json {
    if (keyword === 'properties') return this.#properties(value)
    if (named.has(keyword) && isSchemaObject(value)) return mapped(value, (one) => this.complete(one))
    return nested.has(keyword) ? this.complete(value) : value
  }

  #properties(properties: Json): Json {
    if (!isSchemaObject(properties)) return properties
    const completed: [string, Json][] = []
    let changed = false
    for (const [name, property] of Object.entries(properties)) {
      const whole = this.complete(property)
      completed.push([name, whole])
      const twin = this.#twinOf(properties, name)
      if (twin !== null) completed.push([twinName(name), twin])
      changed ||= whole !== property || twin !== null
    }
    return changed ? Object.fromEntries(completed) : properties
  }

  /** The schema of the twin of a member; `null` where it has none, or the schema has one already. */
  #twinOf(properties: SchemaObject, name: string): Json | null {
    const property = properties[name]
    if (!mentionsWide(property)) return null
    if (Object.hasOwn(properties, twinName(name))) return null
    const kinds = this.#kinds.kindsOf(property, this.#root)
    return isTwinned(kinds) ? twinSchema(kinds, `The digits of ${name}, exact in any client`) : null
  }

  #withRequired(completed: SchemaObject, { properties, required }: SchemaObject): SchemaObject {
    if (this.#purpose !== 'output' || !isSchemaObject(properties) || !Array.isArray(required))
      return completed
    const names = required.flatMap((name: string) => {
      const isAdded = Object.hasOwn(properties, name) && !Object.hasOwn(properties, twinName(name))
      const mayBeThere = isAdded && mentionsWide(properties[name])
      const isThere = mayBeThere && isAlwaysTwinned(this.#kinds.kindsOf(properties[name], this.#root))
      return isThere ? [name, twinName(name)] : name
    })
    return names.length === required.length ? completed : { ...completed, required: names }
  }

  /** The twins of members that have no name in the schema stand among them. */
  #withMapTwins(schema: SchemaObject): SchemaObject {
    const { additionalProperties, patternProperties } = schema
    const rest = additionalProperties === undefined ? undefined : this.#orTwin(additionalProperties)
    const patterns = isSchemaObject(patternProperties)
      ? mapped(patternProperties, (property) => this.#orTwin(property))
      : patternProperties
    if (rest === additionalProperties && patterns === patternProperties) return schema
    const completed = { ...schema, ...(rest === undefined ? {} : { additionalProperties: rest }) }
    if (patterns === patternProperties || !isSchemaObject(patterns)) return completed
    // A pattern need not match the name of the twin, which is then one of the others.
    const others = rest === undefined || rest === true ? {} : { _str$: anyTwin(rest) }
    return { ...completed, patternProperties: { ...patterns, ...others } }
  }

  #orTwin(schema: Json): Json {
    if (!isSchemaObject(schema) || completedMaps.has(schema)) return schema
    const kinds = this.#kinds.kindsOf(schema, this.#root)
    return isTwinned(kinds)
      ? eitherOf(schema, twinSchema(kinds, 'The digits of another member, exact in any client'))
      : schema
  }
}

const named = new Set(['patternProperties', 'definitions', '$defs'])
const nested = new Set([
  'items',
  'additionalItems',
  'additionalProperties',
  'anyOf',
  'oneOf',
  'allOf',
  'if',
  'then',
  'else',
])

function anyTwin(rest: Json): Json {
  const twin = { type: ['string', 'array', 'null'], description: 'The digits of another member' }
  return rest === false ? twin : eitherOf(rest, twin)
}

function eitherOf(...options: readonly Json[]): Json {
  const schema = { anyOf: options }
  completedMaps.add(schema)
  return schema
}

// The given object itself, where nothing in it changes.
function mapped<Container extends Readonly<Record<string, unknown>>>(
  object: Container,
  change: (part: Container[string], name: string) => unknown,
): Container {
  let changed: Record<string, unknown> | null = null
  for (const [name, part] of Object.entries(object)) {
    const result = change(part as Container[string], name)
    if (result === part) continue
    changed ??= { ...object }
    changed[name] = result
  }
  return (changed ?? object) as Container
}
