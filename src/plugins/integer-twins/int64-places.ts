import { rangeOf } from '../../json/int64.js'
import {
  isSchemaObject,
  type Json,
  namedSchemas,
  type SchemaObject,
  type SchemaStore,
  schemaList,
} from '../../json-schema/json-schema.js'
import { type Alternative, type SchemaNode, SchemaReader } from '../../json-schema/reader.js'
import { twinName } from '../../json-schema/twins.js'
import { acceptsTwin, Conditions } from './conditions.js'
import { boundsOf } from './digits-schema.js'
import type { InputRange } from './exact-integer.js'

/** A place of an input where a schema declares a 64-bit integer, or where a path to one leads through. */
export interface Int64Place {
  /** `null` where no 64-bit integer is declared. */
  readonly range: InputRange | null
  /** Whether other numbers are valid too. */
  readonly allowsNumbers: boolean
  readonly allowsText: boolean
  readonly allowsNull: boolean
  /** Whether a twin may come beside the value, or in its place. */
  readonly acceptsTwin: boolean
  /** Whether the items of an array have to differ (`uniqueItems`). */
  readonly isSet: boolean
  /** Of the schemas that all hold (`$ref`, `allOf`), those with a 64-bit integer in a member or an item. */
  readonly parts: readonly Int64Part[]
  readonly groups: readonly (readonly Int64Option[])[]
}

/** What one schema says of members and items. */
export interface Int64Part {
  readonly members: readonly Int64Member[]
  /** The declared names, with or without a 64-bit integer behind them. */
  readonly names: ReadonlySet<string>
  readonly patterns: readonly (readonly [RegExp, Int64Place | null])[]
  /** Members that are neither declared nor match a pattern. */
  readonly others: Int64Place | null
  readonly tuple: readonly (Int64Place | null)[]
  /** Items behind those of the tuple. */
  readonly items: Int64Place | null
}

/** A declared member with a 64-bit integer in it. */
export interface Int64Member {
  readonly name: string
  readonly place: Int64Place
  readonly twin: string | null
  /** Whether the schema requires the twin, so that it stays in the body. */
  readonly requiresTwin: boolean
}

/** An alternative of `anyOf`, `oneOf` or `if`. */
export interface Int64Option {
  /** `null` where no 64-bit integer is within. */
  readonly place: Int64Place | null
  /** Whether the alternative holds for a value; with `formats`, whether the formats of the value fit too. */
  holds(value: unknown, formats: boolean): boolean
}

/** The 64-bit integers that the schema of an input declares. */
export interface Int64Places {
  readonly root: Int64Place
  /** Whether the schema contains itself, so that an input may nest without an end. */
  readonly isRecursive: boolean
  readonly hasSets: boolean
}

/** Finds the 64-bit integers that a JSON Schema declares; `null` for a schema without any. */
export function int64PlacesOf(schema: unknown, shared: SchemaStore): Int64Places | null {
  return isSchemaObject(schema) ? new PlaceFinder(shared).find(schema) : null
}

/** What the schema around alternatives says of the same value: type and format may stand in different schemas. */
interface Context {
  readonly types: readonly Json[]
  readonly format: Json | undefined
}

const noContext: Context = { types: [], format: undefined }

class PlaceFinder {
  readonly #reader: SchemaReader
  readonly #conditions: Conditions
  readonly #places = new Map<SchemaNode, Map<string, Int64Place>>()
  readonly #reaching = new Map<SchemaNode, boolean>()
  readonly #open = new Set<Int64Place>()
  #isRecursive = false
  #hasSets = false

  constructor(shared: SchemaStore) {
    this.#reader = new SchemaReader(shared)
    this.#conditions = new Conditions(this.#reader)
  }

  find(schema: SchemaObject): Int64Places | null {
    const root = this.#place(this.#reader.absolute(schema, schema))
    if (root === null) return null
    return { root, isRecursive: this.#isRecursive, hasSets: this.#hasSets }
  }

  #place(schema: Json | undefined, context = noContext): Int64Place | null {
    if (schema === undefined) return null
    const node = this.#reader.read(schema)
    if (!this.#reaches(schema, node)) return null
    const own = contextOf(node, context)
    const places = this.#places.get(node) ?? new Map<string, Int64Place>()
    this.#places.set(node, places)
    const key = JSON.stringify(own)
    const known = places.get(key)
    if (known !== undefined) {
      if (this.#open.has(known)) this.#isRecursive = true
      return known
    }
    // Known before it is complete: a schema may contain itself.
    const place = {} as Int64Place
    places.set(key, place)
    this.#open.add(place)
    const { parts } = node
    const isSet = parts.some(({ uniqueItems }) => uniqueItems === true)
    this.#hasSets ||= isSet
    Object.assign(place, {
      range: own.types.includes('integer') && isVariable(node) ? inputRange(own.format, parts) : null,
      allowsNumbers: own.types.includes('number'),
      allowsText: own.types.includes('string'),
      allowsNull: own.types.includes('null') || parts.some(({ nullable }) => nullable === true),
      acceptsTwin: acceptsTwin(this.#reader, schema),
      isSet,
      parts: parts.map((part) => this.#part(part, node)).filter((part) => part !== null),
      groups: this.#groups(node, own),
    })
    this.#open.delete(place)
    return place
  }

  #reaches(schema: Json, node: SchemaNode): boolean {
    const known = this.#reaching.get(node)
    if (known !== undefined) return known
    const reaches = this.#mentionsInt64(schema)
    this.#reaching.set(node, reaches)
    return reaches
  }

  /** Whether a 64-bit integer is in a schema, or in what it refers to. */
  #mentionsInt64(schema: Json): boolean {
    try {
      return /"format":"u?int64"/.test(JSON.stringify(this.#reader.bundle(schema)))
    } catch {
      return true
    }
  }

  #part(part: SchemaObject, { parts }: SchemaNode): Int64Part | null {
    const properties = namedSchemas(part.properties)
    const patterns = namedSchemas(part.patternProperties).map(
      ([pattern, schema]) => [regExpOf(pattern), this.#place(schema)] as const,
    )
    const others = this.#place(part.additionalProperties ?? part.unevaluatedProperties)
    const isTuple = Array.isArray(part.items)
    const tuple = schemaList(isTuple ? part.items : part.prefixItems).map((item) => this.#place(item))
    const items = this.#place((isTuple ? part.additionalItems : part.items) ?? part.unevaluatedItems)
    const members = properties.flatMap(([name, schema]): Int64Member[] => {
      const place = this.#place(schema)
      if (place === null) return []
      const twin = this.#twinOf(name, part)
      return [
        {
          name,
          place,
          twin,
          requiresTwin: parts.some(({ required }) => schemaList(required).includes(twin)),
        },
      ]
    })
    const places = [...members, others, items, ...tuple, ...patterns.map(([, place]) => place)]
    if (places.every((place) => place === null)) return null
    return { members, names: new Set(properties.map(([name]) => name)), patterns, others, tuple, items }
  }

  /** The name of the twin of a declared member; `null` where it has none. */
  #twinOf(name: string, { properties }: SchemaObject): string | null {
    const declared = (properties ?? {}) as SchemaObject
    const twin = twinName(name)
    if (!acceptsTwin(this.#reader, declared[name])) return null
    return Object.hasOwn(declared, twin) && acceptsTwin(this.#reader, declared[twin]) ? null : twin
  }

  #groups(node: SchemaNode, context: Context): Int64Option[][] {
    const groups = groupsOf(node)
      .map((group) => group.map((one) => ({ ...one, place: this.#place(one.schema, context) })))
      .filter((group) => group.some(({ place }) => place !== null))
    return groups.map((group) =>
      group.map(({ place, ...one }) => ({ place, holds: this.#conditions.test(one) })),
    )
  }
}

function contextOf({ parts }: SchemaNode, context: Context): Context {
  const types = parts.flatMap(({ type }) => type ?? [])
  const format = parts.map((part) => part.format).find((one) => one !== undefined)
  return { types: types.length === 0 ? context.types : types, format: format ?? context.format }
}

function isVariable({ parts }: SchemaNode): boolean {
  return parts.every((part) => part.const === undefined)
}

function groupsOf({ parts, groups }: SchemaNode): (readonly Alternative[])[] {
  const dependent = parts
    .flatMap((part) => [...namedSchemas(part.dependencies), ...namedSchemas(part.dependentSchemas)])
    .filter(([, schema]) => !Array.isArray(schema))
    .map(([name, schema]) => {
      const condition = { required: [name] }
      return [
        { schema, condition, isMet: true },
        { schema: true, condition, isMet: false },
      ]
    })
  return [...groups, ...dependent]
}

// Ajv compiles patterns with the flag, unless its option `unicodeRegExp` is false; some are valid only without it.
function regExpOf(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return new RegExp(pattern)
  }
}

function inputRange(format: Json | undefined, parts: readonly SchemaObject[]): InputRange | null {
  const range = rangeOf(format)
  return range && { ...range, bounds: parts.reduce((left, part) => boundsOf(part, left), range) }
}
