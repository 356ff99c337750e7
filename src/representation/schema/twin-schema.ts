import { twinName } from '../output/twins.js'
import { isObjectSchema } from './query-schema.js'
import { type Json, type SchemaStore, schemaResolver } from './schema-refs.js'

type Schema = Readonly<Record<string, Json>>

/**
 * A schema in which every declared 64-bit integer has its string twin right behind it, at every depth; the given one
 * where there is none. Schemas that it refers to are left to {@link completeShared}.
 */
export function withTwins(schema: Json, shared: SchemaStore = {}): Json {
  return new TwinCompleter(shared, schema).complete(schema)
}

/** The response schemas of a route, by status and media type, with the twins of their integers. */
export function withTwinsInResponse(response: unknown, shared: SchemaStore): unknown {
  if (!isObjectSchema(response)) return response
  const completed = Object.entries(response).map(([status, schema]) => {
    if (!isObjectSchema(schema)) return [status, schema]
    if (!isObjectSchema(schema.content)) return [status, withTwins(schema as Json, shared)]
    const content = Object.entries(schema.content).map(([mediaType, media]) =>
      isObjectSchema(media) && isObjectSchema(media.schema)
        ? [mediaType, { ...media, schema: withTwins(media.schema as Json, shared) }]
        : [mediaType, media],
    )
    return [status, { ...schema, content: Object.fromEntries(content) }]
  })
  return Object.fromEntries(completed)
}

/**
 * Adds the twins to shared schemas in place: the OpenAPI document shows what stands in the store of the context, which
 * is Fastify's own copy.
 */
export function completeShared(shared: SchemaStore): void {
  for (const schema of Object.values(shared)) {
    if (typeof schema !== 'object' || schema === null) continue
    Object.assign(schema, new TwinCompleter(shared, schema as Json).complete(schema as Json))
  }
}

class TwinCompleter {
  readonly #resolve
  readonly #root: Json

  constructor(shared: SchemaStore, root: Json) {
    this.#resolve = schemaResolver(shared)
    this.#root = root
  }

  complete(schema: Json): Json {
    if (!isSchema(schema))
      return Array.isArray(schema)
        ? same(
            schema,
            schema.map((part) => this.complete(part)),
          )
        : schema
    const completed = Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.#keyword(keyword, value)]),
    )
    return same(schema, completed)
  }

  #keyword(keyword: string, value: Json): Json {
    if (keyword === 'properties') return this.#properties(value)
    if (named.has(keyword) && isSchema(value)) {
      return same(
        value,
        Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.complete(one)])),
      )
    }
    return nested.has(keyword) ? this.complete(value) : value
  }

  #properties(properties: Json): Json {
    if (!isSchema(properties)) return properties
    const entries = Object.entries(properties).flatMap(([name, property]): [string, Json][] => {
      const completed: [string, Json] = [name, this.complete(property)]
      const twin = Object.hasOwn(properties, twinName(name)) ? null : this.#twinOf(property, name, 0)
      return twin === null ? [completed] : [completed, [twinName(name), twin]]
    })
    return same(properties, Object.fromEntries(entries))
  }

  // What is not in the store yet has no twin yet: it gets one with the store.
  #target(ref: string): Json {
    try {
      return this.#resolve(ref, this.#root).schema
    } catch {
      return true
    }
  }

  /** The schema of the twin of a member; `null` where it is no declared 64-bit integer, nor an array of them. */
  #twinOf(schema: Json, name: string, depth: number): Schema | null {
    if (!isSchema(schema) || depth > deepest) return null
    if (typeof schema.$ref === 'string') return this.#twinOf(this.#target(schema.$ref), name, depth + 1)
    const description = `The digits of ${name}, exact in any client`
    const nullable = schema.nullable === true ? { nullable: true } : {}
    if (isWideInteger(schema)) {
      const isNullable = Array.isArray(schema.type) && schema.type.includes('null')
      return {
        type: isNullable ? ['string', 'null'] : 'string',
        ...nullable,
        pattern: '^-?[0-9]+$',
        description,
      }
    }
    const items = Array.isArray(schema.items) ? { anyOf: schema.items } : schema.items
    if (items !== undefined) {
      const item = this.#twinOf(items, name, depth + 1)
      return item === null
        ? null
        : { type: 'array', ...nullable, items: { type: item.type ?? 'string' }, description }
    }
    const options = schema.anyOf ?? schema.oneOf ?? schema.allOf
    if (!Array.isArray(options)) return null
    return (
      (options as Json[])
        .map((option) => this.#twinOf(option, name, depth + 1))
        .find((twin) => twin !== null) ?? null
    )
  }
}

const deepest = 50

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

function isSchema(schema: Json | undefined): schema is Schema {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
}

function isWideInteger({ type, format }: Schema): boolean {
  const isInteger = type === 'integer' || (Array.isArray(type) && type.includes('integer'))
  return isInteger && (format === 'int64' || format === 'uint64')
}

// The given object itself, where nothing in it has changed.
function same<Container extends Json>(before: Container, after: Json): Json {
  const [old, now] = [Object.entries(before as object), Object.entries(after as object)]
  return old.length === now.length &&
    old.every(([key, value], index) => now[index]?.[0] === key && now[index]?.[1] === value)
    ? before
    : after
}
