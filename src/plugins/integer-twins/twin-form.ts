import { isSchemaObject } from '../../json-schema/json-schema.js'
import { type Json, type Located, type SchemaStore, schemaResolver } from '../../json-schema/schema-refs.js'

/** The kinds of values that a schema has, as far as twins differ by them. */
export interface ValueKinds {
  /** Declared 64-bit integers. */
  readonly wide: boolean
  /** Arrays: the kinds of their items. */
  readonly items: ValueKinds | null
  /** Null: the way in which the schema says so. */
  readonly null: 'type' | 'nullable' | null
  /** Anything else. */
  readonly other: boolean
}

/** Tells the kinds of values that schemas have; references are resolved against `shared`. */
export class KindReader {
  readonly #resolve

  constructor(shared: SchemaStore) {
    this.#resolve = schemaResolver(shared)
  }

  /** The kinds of values of a schema, whose local references are relative to `root`. */
  kindsOf(schema: Json | undefined, root: Json): ValueKinds {
    return this.#kinds({ schema: schema ?? true, root }, new Set()) ?? anything
  }

  // `null`: the schema does not say. One that is looked at already, further out, has nothing to add.
  #kinds({ schema, root }: Located, path: ReadonlySet<Json>): ValueKinds | null {
    if (!isSchemaObject(schema) || path.has(schema) || path.size > deepest) return null
    const within = new Set(path).add(schema)
    const kindsOf = (part: Json): ValueKinds | null => this.#kinds({ schema: part, root }, within)
    const { $ref, allOf, anyOf, oneOf, then: positive, else: negative } = schema
    const choices = [listOf(anyOf), listOf(oneOf), [positive, negative].filter((part) => part !== undefined)]
    const conjuncts = [
      this.#own(schema, kindsOf),
      typeof $ref === 'string' ? this.#kinds(this.#target($ref, root), within) : null,
      ...listOf(allOf).map(kindsOf),
      ...choices.map((options) => either(options.map(kindsOf))),
    ].filter((kinds) => kinds !== null)
    const kinds = conjuncts.length === 0 ? null : conjuncts.reduce(both)
    return schema.nullable === true ? { ...(kinds ?? anything), null: 'nullable' } : kinds
  }

  #own(schema: { readonly [keyword: string]: Json }, kindsOf: (part: Json) => ValueKinds | null) {
    // It is written as it stands in the schema.
    if (schema.const !== undefined) return { ...nothing, ...(schema.const === null ? isNull : isOther) }
    const implied = schema.items === undefined || schema.properties !== undefined ? [] : ['array']
    const types = schema.type === undefined ? implied : [schema.type].flat()
    const kinds = types.map((type): ValueKinds => {
      if (type === 'null') return { ...nothing, ...isNull }
      if (type === 'array') return { ...nothing, items: this.#items(schema, kindsOf) }
      return { ...nothing, ...(type === 'integer' && isWideFormat(schema.format) ? isWide : isOther) }
    })
    return either(kinds)
  }

  #items(
    { items, additionalItems }: { readonly [keyword: string]: Json },
    kindsOf: (part: Json) => ValueKinds | null,
  ): ValueKinds {
    if (!Array.isArray(items)) return kindsOf(items ?? true) ?? anything
    const rest = additionalItems === undefined || additionalItems === false ? [] : [anything]
    return either([...items.map(kindsOf), ...rest]) ?? anything
  }

  // What is not in the store yet has no twin yet.
  #target(ref: string, root: Json): Located {
    try {
      return this.#resolve(ref, root)
    } catch {
      return { schema: true, root }
    }
  }
}

/** Has a value of these kinds a twin that is declared: is it a 64-bit integer, or an array with some? */
export function isTwinned({ wide, items }: ValueKinds): boolean {
  return wide || (items !== null && isTwinned(items))
}

/** Has every value of these kinds such a twin? */
export function isAlwaysTwinned({ wide, items, other }: ValueKinds): boolean {
  return !other && (items === null ? wide : isTwinned(items))
}

/** The schema of the twins of values of these kinds. */
export function twinSchema(kinds: ValueKinds, description: string): Json {
  return { ...formOf(kinds, kinds.null), ...(kinds.wide ? { pattern: digits } : {}), description }
}

const deepest = 50
const digits = '^-?[0-9]+$'

const nothing: ValueKinds = { wide: false, items: null, null: null, other: false }
const isWide = { wide: true } as const
const isNull = { null: 'type' } as const
const isOther = { other: true } as const
const anything: ValueKinds = { ...nothing, ...isOther }

function formOf(
  { wide, items }: ValueKinds,
  empty: ValueKinds['null'],
): { readonly [keyword: string]: Json } {
  const types = [
    ...(wide ? ['string'] : []),
    ...(items === null ? [] : ['array']),
    ...(empty === 'type' ? ['null'] : []),
  ]
  return {
    type: types.length === 1 ? (types[0] as string) : types,
    ...(empty === 'nullable' ? { nullable: true } : {}),
    // In an array, null stands for what is no integer.
    ...(items === null ? {} : { items: formOf(items, items.null ?? (items.other ? 'type' : null)) }),
  }
}

function either(options: readonly (ValueKinds | null)[]): ValueKinds | null {
  if (options.every((kinds) => kinds === null)) return null
  return options
    .map((kinds) => kinds ?? anything)
    .reduce((one, other) => ({
      wide: one.wide || other.wide,
      items:
        one.items !== null && other.items !== null
          ? either([one.items, other.items])
          : (one.items ?? other.items),
      null: one.null ?? other.null,
      other: one.other || other.other,
    }))
}

// Both hold; where they contradict each other there is no value at all.
function both(one: ValueKinds, other: ValueKinds): ValueKinds {
  const isNullable = one.null === 'nullable' || other.null === 'nullable'
  return {
    wide: one.wide || other.wide,
    items:
      one.items !== null && other.items !== null ? both(one.items, other.items) : (one.items ?? other.items),
    null: isNullable ? 'nullable' : one.null !== null && other.null !== null ? 'type' : null,
    other: one.other && other.other,
  }
}

function isWideFormat(format: Json | undefined): boolean {
  return format === 'int64' || format === 'uint64'
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}
