import { rangeOf } from '../json/int64.js'
import {
  isLargeInteger,
  isOfListedType,
  type Match,
  type Option,
  optionsOf,
  type ShapeContext,
} from './alternatives.js'
import {
  isSchemaObject,
  type Json,
  maxSchemaDepth,
  namedSchemas,
  type SchemaObject,
  type SchemaStore,
  typesOf,
} from './json-schema.js'
import { type Alternative, constrains, SchemaContradiction, type SchemaNode, SchemaReader } from './reader.js'
import { anything, isInt64, type Member, type Shape, type ShapeOption, type TextFormat } from './shape.js'

type ShapeOptions = Partial<Omit<ShapeContext, 'reader'>>

export function shapeOf(schema: Json, shared: SchemaStore = {}, options: ShapeOptions = {}): Shape {
  const reader = new SchemaReader(shared)
  return new ShapeReader(reader, options).read(reader.absolute(schema))
}

const maxCombinations = 256

type Draft = { nullable?: boolean; kind?: Shape['kind']; allows?: Match }

export class ShapeReader {
  readonly #context: ShapeContext
  readonly #known = new Map<SchemaNode, Draft>()
  #depth = 0

  constructor(reader: SchemaReader, { compile = neverCompile, int64 = true }: ShapeOptions = {}) {
    this.#context = { reader, compile, int64 }
  }

  read(schema: Json): Shape {
    try {
      return this.#part(schema)
    } catch (error) {
      // Shapes that were being read stay unfinished.
      this.#known.clear()
      this.#depth = 0
      throw error
    }
  }

  #part(schema: Json): Shape {
    return this.#read(this.#context.reader.read(schema))
  }

  #read(node: SchemaNode): Shape {
    const known = this.#known.get(node)
    if (known !== undefined) return known as Shape
    if (this.#depth >= maxSchemaDepth)
      throw new TypeError(`the schema goes deeper than ${maxSchemaDepth} levels`)
    // Known before it is read, so that a schema that refers to itself finds its own shape.
    const draft: Draft = {}
    this.#known.set(node, draft)
    this.#depth++
    Object.assign(draft, this.#readNew(node))
    this.#depth--
    return draft as Shape
  }

  #readNew({ keywords, groups }: SchemaNode): Shape {
    if (groups.length > 0) return this.#choice(keywords, groups)
    return Array.isArray(keywords.type) ? this.#listed(keywords) : this.#single(keywords)
  }

  #choice({ nullable, ...siblings }: SchemaObject, groups: readonly (readonly Alternative[])[]): Shape {
    const before = constrains(siblings) ? [siblings] : []
    const combinations = combinationsOf(groups.map((group) => optionsOf(group, this.#context)))
    return {
      kind: 'choice',
      nullable: nullable === true,
      options: combinations.flatMap((picked): ShapeOption[] => {
        const shape = this.#all([...before, ...picked.map(({ schema }) => schema)], groups.length > 1)
        return shape === null ? [] : [{ shape, matches: allMatch(picked) }]
      }),
    }
  }

  #all(schemas: readonly Json[], mayContradict: boolean): Shape | null {
    const [only] = schemas
    const depth = this.#depth
    try {
      return this.#part(schemas.length === 1 && only !== undefined ? only : { allOf: schemas })
    } catch (error) {
      if (!mayContradict || !(error instanceof SchemaContradiction)) throw error
      this.#depth = depth
      return null
    }
  }

  #listed({ nullable: isNullable, ...keywords }: SchemaObject): Shape {
    const types = typesOf(keywords)
    const others = types.filter((type) => type !== 'null')
    const nullable = others.length < types.length || isNullable === true
    const [only] = others
    if (keywords.const !== undefined) return { ...this.#single(keywords), nullable }
    if (only === undefined) return { kind: 'null', nullable: true, allows: () => false }
    const options = others.map((type) => {
      const shape = this.#single({ ...keywords, type })
      return { shape, matches: this.#matchOf(shape, isOfListedType(type)) }
    })
    const [single] = options
    return options.length === 1 && single !== undefined
      ? { ...single.shape, nullable, allows: single.matches }
      : { kind: 'choice', nullable, options }
  }

  #matchOf(shape: Shape, isListed: Match): Match {
    const isInteger = shape.kind === 'integer' || shape.kind === 'number'
    if (!isInteger || !this.#context.int64) return isListed
    return (value, orLarge = false) => isListed(value) || (orLarge && isLargeInteger(value, isInt64(shape)))
  }

  #single(keywords: SchemaObject): Shape {
    const nullable = keywords.nullable === true
    if (keywords.const !== undefined)
      return { kind: 'constant', json: JSON.stringify(keywords.const), nullable }
    const [type] = typesOf(keywords)
    switch (type) {
      case 'string':
        return { kind: 'text', format: textFormats.get(keywords.format) ?? null, nullable }
      case 'integer':
        return { kind: 'integer', int64: this.#context.int64 ? rangeOf(keywords.format) : null, nullable }
      case 'number':
      case 'boolean':
        return { kind: type, nullable }
      case 'null':
        return { kind: 'null', nullable: true }
      case 'array':
        return this.#array(keywords, nullable)
      case 'object':
        return this.#object(keywords, nullable)
      default:
        return anything
    }
  }

  #array(keywords: SchemaObject, nullable: boolean): Shape {
    const { items } = keywords
    if (!Array.isArray(items))
      return {
        kind: 'array',
        items: this.#part(items ?? {}),
        isSet: keywords.uniqueItems === true,
        nullable,
      }
    const schema = this.#context.reader.bundle(keywords)
    return { kind: 'tuple', schema, items: items.map((item) => this.#part(item)), nullable }
  }

  #object(keywords: SchemaObject, nullable: boolean): Shape {
    const required = new Set(Array.isArray(keywords.required) ? (keywords.required as string[]) : [])
    const members = namedSchemas(keywords.properties).map(([name, property]): Member => {
      const fallback = this.#defaultOf(property)
      return { name, shape: this.#part(property), required: required.has(name), fallback }
    })
    const names = new Set(members.map(({ name }) => name))
    const rest = keywords.additionalProperties
    return {
      kind: 'object',
      members: [
        ...members.filter((member) => member.required),
        ...members.filter((member) => !member.required),
      ],
      alsoRequired: [...required].filter((name) => !names.has(name)),
      patterns: namedSchemas(keywords.patternProperties).map(([pattern, property]) => ({
        pattern: new RegExp(pattern),
        shape: this.#part(property),
      })),
      rest: rest === undefined || rest === false ? null : this.#part(rest),
      ...(rest === false && { isClosed: true as const }),
      nullable,
    }
  }

  #defaultOf(schema: Json): string | null {
    if (!isSchemaObject(schema)) return null
    const value = schema.default ?? this.#context.reader.read(schema).keywords.default
    return value === undefined ? null : JSON.stringify(value)
  }
}

function neverCompile(): never {
  throw new TypeError('alternatives cannot be distinguished without a serializer')
}

type Picked = readonly (Alternative & Option)[]

function combinationsOf(groups: readonly Picked[]): Picked[] {
  return groups.reduce<Picked[]>(
    (before, group) => {
      if (before.length * group.length > maxCombinations)
        throw new TypeError(`the schema has more than ${maxCombinations} combinations of alternatives`)
      return before.flatMap((picked) => group.map((option) => [...picked, option]))
    },
    [[]],
  )
}

function allMatch(picked: Picked): Match {
  const [only] = picked
  return picked.length === 1 && only !== undefined
    ? only.matches
    : (value, orLarge) => picked.every(({ matches }) => matches(value, orLarge))
}

const textFormats: ReadonlyMap<unknown, TextFormat> = new Map(
  (['date-time', 'date', 'time', 'unsafe'] as const).map((format) => [format, format]),
)
