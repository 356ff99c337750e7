import { type Json, type Located, type SchemaStore, schemaResolver } from './schema-refs.js'

/** A schema at one place of a document; the same place is always the same object. */
export interface SchemaPlace {
  readonly id: number
  readonly schema: SchemaObject
  readonly root: Json
  /** Without what it says through other schemas (`$ref`, `allOf`, alternatives). */
  readonly alone: boolean
}

/** A schema that is not just `true` or `false`. */
export type SchemaObject = { readonly [keyword: string]: Json }

/** One of several schemas. */
export interface Alternative {
  /** `null`: it says nothing. */
  readonly place: SchemaPlace | null
  /** The schema that a value is tested by. */
  readonly test: Located
  /** What the test has to say for the alternative to apply. */
  readonly expected: boolean
}

/** What a schema says of a value: the parts that all apply, and groups of which each has parts that may apply. */
export interface FlatSchema {
  readonly parts: readonly SchemaPlace[]
  readonly groups: readonly (readonly Alternative[])[]
}

/** Reads schemas of input: follows references and takes schemas apart. */
export class SchemaReader {
  readonly #resolve
  readonly #places = new Map<Json, Map<Json, SchemaPlace>>()
  readonly #alone = new Map<SchemaPlace, SchemaPlace>()
  #count = 0

  constructor(shared: SchemaStore) {
    this.#resolve = schemaResolver(shared)
  }

  /** The place of a schema; `null` for what is no object. */
  place(schema: Json | undefined, root: Json): SchemaPlace | null {
    if (!isSchemaObject(schema)) return null
    const places = this.#places.get(root) ?? new Map<Json, SchemaPlace>()
    const place = places.get(schema) ?? { id: this.#count++, schema, root, alone: false }
    this.#places.set(root, places.set(schema, place))
    return place
  }

  /** The same place without what it says through other schemas. */
  alone(place: SchemaPlace): SchemaPlace {
    if (place.alone) return place
    const alone = this.#alone.get(place) ?? { ...place, id: this.#count++, alone: true }
    this.#alone.set(place, alone)
    return alone
  }

  /** Follows `$ref`, `allOf` and dependent schemas. */
  flatten(places: readonly SchemaPlace[]): FlatSchema {
    const parts = new Set<SchemaPlace>()
    const groups: (readonly Alternative[])[] = []
    const left = [...places].reverse()
    for (let place = left.pop(); place !== undefined; place = left.pop()) {
      if (parts.has(place)) continue
      parts.add(place)
      if (place.alone) continue
      left.push(...this.conjuncts(place))
      groups.push(...this.groups(place))
    }
    return { parts: [...parts], groups }
  }

  /** The schemas that hold wherever this one does. */
  conjuncts(place: SchemaPlace): SchemaPlace[] {
    const { schema, root } = place
    const named = [...entriesOf(schema.dependentSchemas), ...entriesOf(schema.dependencies)]
    const parts = this.#placesOf([...listOf(schema.allOf), ...named.map(([, part]) => part)], root)
    const target = this.#target(place)
    return target === null ? parts : [target, ...parts]
  }

  /** The alternatives that a schema offers. */
  groups({ schema, root }: SchemaPlace): (readonly Alternative[])[] {
    const groups = [listOf(schema.anyOf), listOf(schema.oneOf)]
      .filter((options) => options.length > 0)
      .map((options) =>
        options.map((option) => ({
          place: this.place(option, root),
          test: { schema: option, root },
          expected: true,
        })),
      )
    const { if: condition, then: positive, else: negative } = schema
    if (condition === undefined || (positive === undefined && negative === undefined)) return groups
    const test = { schema: condition, root }
    const branches = [
      { place: this.place(positive, root), test, expected: true },
      { place: this.place(negative, root), test, expected: false },
    ]
    return [...groups, branches]
  }

  /** What a part says of a member. */
  ofMember({ schema, root }: SchemaPlace, name: string): SchemaPlace[] {
    const said: (Json | undefined)[] = entriesOf(schema.patternProperties)
      .filter(([pattern]) => patternOf(pattern).test(name))
      .map(([, part]) => part)
    if (hasOwn(schema.properties, name)) said.push(schema.properties[name])
    return this.#placesOf(said.length > 0 ? said : [restOf(schema)], root)
  }

  /** What a part says of members that it does not name. */
  ofOthers({ schema, root }: SchemaPlace): SchemaPlace[] {
    const matching = entriesOf(schema.patternProperties).map(([, part]) => part)
    return this.#placesOf([...matching, restOf(schema)], root)
  }

  /** The patterns that a part has for names. */
  patterns({ schema }: SchemaPlace): RegExp[] {
    return entriesOf(schema.patternProperties).map(([pattern]) => patternOf(pattern))
  }

  /** What a part says of an item. */
  ofItem({ schema, root }: SchemaPlace, index: number): SchemaPlace[] {
    const tuple = tupleOf(schema)
    const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items
    return this.#placesOf([index < tuple.length ? tuple[index] : (rest ?? schema.unevaluatedItems)], root)
  }

  /** All schemas within this one, one step down. */
  within(place: SchemaPlace): SchemaPlace[] {
    const { schema, root } = place
    const { properties, items, additionalItems, unevaluatedItems } = schema
    const options = this.groups(place).flatMap((group) => group.map((option) => option.place))
    const members = entriesOf(properties).map(([, part]) => part)
    const parts = [...members, ...tupleOf(schema), items, additionalItems, unevaluatedItems]
    return [
      ...this.conjuncts(place),
      ...options.filter((option) => option !== null),
      ...this.ofOthers(place),
      ...this.#placesOf(parts, root),
    ]
  }

  #placesOf(schemas: readonly (Json | undefined)[], root: Json): SchemaPlace[] {
    return schemas.map((schema) => this.place(schema, root)).filter((place) => place !== null)
  }

  #target({ schema, root }: SchemaPlace): SchemaPlace | null {
    if (typeof schema.$ref !== 'string') return null
    const target = this.#resolve(withoutOwnId(schema.$ref, root), root)
    return this.place(target.schema, target.root)
  }
}

/** The schemas that the first items of an array have to themselves. */
export function tupleOf({ items, prefixItems }: SchemaObject): readonly Json[] {
  return Array.isArray(items) ? items : listOf(prefixItems)
}

/** The named schemas under a keyword. */
export function entriesOf(schemas: Json | undefined): [string, Json][] {
  return isSchemaObject(schemas) ? Object.entries(schemas) : []
}

const patterns = new Map<string, RegExp>()

function patternOf(pattern: string): RegExp {
  const known = patterns.get(pattern) ?? compiled(pattern)
  patterns.set(pattern, known)
  return known
}

// With the flag, as Ajv does unless told otherwise; some patterns are for Ajv that was told so.
function compiled(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return new RegExp(pattern)
  }
}

function restOf({ additionalProperties, unevaluatedProperties }: SchemaObject): Json | undefined {
  return additionalProperties ?? unevaluatedProperties
}

function isSchemaObject(schema: Json | undefined): schema is SchemaObject {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
}

function listOf(schemas: Json | undefined): readonly Json[] {
  return Array.isArray(schemas) ? schemas : []
}

function hasOwn(schemas: Json | undefined, name: string): schemas is SchemaObject {
  return isSchemaObject(schemas) && Object.hasOwn(schemas, name)
}

// A document may refer to itself by its name.
function withoutOwnId(ref: string, root: Json): string {
  const id = isSchemaObject(root) && typeof root.$id === 'string' ? root.$id.replace(/#$/, '') : ''
  return id !== '' && (ref === id || ref.startsWith(`${id}#`)) ? `#${ref.slice(id.length + 1)}` : ref
}
