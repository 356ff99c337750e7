import { type Match, type MatcherCompiler, matcherCompiler } from '../schema/schema-match.js'
import {
  absoluteReferences,
  type Json,
  type Located,
  mergeSchemas,
  type SchemaStore,
  schemaResolver,
} from '../schema/schema-refs.js'

/** What a response schema says of a value, in the terms that writing and projecting need. */
export type Shape = { readonly nullable: boolean } & (
  | { readonly kind: 'text'; readonly format: 'date-time' | 'date' | 'time' | null }
  | { readonly kind: 'integer'; readonly wide: boolean }
  | { readonly kind: 'number' | 'boolean' | 'null' | 'anything' }
  | { readonly kind: 'constant'; readonly json: string }
  | ObjectForm
  | { readonly kind: 'array'; readonly items: Shape }
  | { readonly kind: 'tuple'; readonly items: readonly Shape[]; readonly rest: boolean }
  | { readonly kind: 'choice'; readonly options: readonly ShapeOption[] }
)

/** The shape of an object. */
export type ObjectShape = Extract<Shape, { kind: 'object' }>

interface ObjectForm {
  readonly kind: 'object'
  /** Declared members, those that are required first. */
  readonly members: readonly Member[]
  readonly patterns: readonly { readonly pattern: RegExp; readonly shape: Shape }[]
  /** Shape of members that are not declared; `null` where they are dropped. */
  readonly rest: Shape | null
}

/** A declared member of an object. */
export interface Member {
  readonly name: string
  readonly shape: Shape
  readonly required: boolean
  /** JSON of the default, for a value that is left out; `null` for none. */
  readonly fallback: string | null
}

/** One of several shapes, and the values it is for. */
export interface ShapeOption {
  readonly shape: Shape
  readonly matches: Match
}

/**
 * Reads a response schema into a shape. References are resolved against `shared` (the context's `addSchema`), once;
 * a recursive schema becomes a recursive shape.
 *
 * @param wide whether declared 64-bit integers are told from other integers
 * @throws TypeError for a reference to nothing, and for keywords that contradict each other
 */
export function shapeOf(schema: Json, shared: SchemaStore = {}, wide = true): Shape {
  const reader = new ShapeReader(shared, wide)
  return reader.read(schema, schema)
}

const deepest = 200

type Draft = { nullable?: boolean; kind?: Shape['kind'] }

class ShapeReader {
  readonly #known = new Map<object, Draft>()
  readonly #wide: boolean
  readonly #shared: SchemaStore
  readonly #resolve
  readonly #matcher: MatcherCompiler
  #depth = 0

  constructor(shared: SchemaStore, wide: boolean) {
    this.#wide = wide
    this.#shared = shared
    this.#resolve = schemaResolver(shared)
    this.#matcher = matcherCompiler(shared)
  }

  read(schema: Json, root: Json): Shape {
    if (!isSchemaObject(schema)) return anything
    if (isPlainReference(schema)) return this.#follow(schema.$ref, root)
    const known = this.#known.get(schema)
    if (known !== undefined) return known as Shape
    if (this.#depth >= deepest) throw new TypeError(`the schema goes deeper than ${deepest} levels`)
    // Known before it is read, so that a schema that refers to itself finds its own shape.
    const draft: Draft = {}
    this.#known.set(schema, draft)
    this.#depth++
    Object.assign(draft, this.#readNew(schema, root))
    this.#depth--
    return draft as Shape
  }

  #follow(ref: string, root: Json): Shape {
    let target = this.#resolve(ref, root)
    for (let steps = 0; isSchemaObject(target.schema) && isPlainReference(target.schema); steps++) {
      if (steps >= deepest) throw new TypeError(`the schema refers to itself: ${ref}`)
      target = this.#resolve(target.schema.$ref, target.root)
    }
    return this.read(target.schema, target.root)
  }

  #readNew(schema: Readonly<Record<string, Json>>, root: Json): Shape {
    if (typeof schema.$ref === 'string') {
      const { $ref, ...siblings } = schema
      return this.read(mergeSchemas([this.#rooted(this.#resolve($ref, root), root), siblings]), root)
    }
    if (Array.isArray(schema.allOf)) {
      const { allOf, ...rest } = schema
      return this.read(mergeSchemas([rest, ...(allOf as Json[]).map((part) => this.#flat(part, root))]), root)
    }
    const options = schema.anyOf ?? schema.oneOf
    if (Array.isArray(options)) {
      const { anyOf: _, oneOf: __, ...rest } = schema
      return this.#choice(rest, options as Json[], root)
    }
    if (schema.if !== undefined && (schema.then !== undefined || schema.else !== undefined)) {
      return this.#condition(schema, root)
    }
    if (Array.isArray(schema.type)) return this.#types(schema, schema.type as string[], root)
    return this.#single(schema, root)
  }

  // allOf merges what its parts say, so a part that is a reference has to be followed first.
  #flat(part: Json, root: Json): Json {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    const ref = (part as Record<string, Json>).$ref
    if (typeof ref !== 'string') return part
    const target = this.#resolve(ref, root)
    return this.#flat(this.#rooted(target, root), root)
  }

  // What is merged into another document takes the references within its own along, by the name of that.
  #rooted(target: Located, root: Json): Json {
    if (target.root === root) return target.schema
    const id = Object.keys(this.#shared).find((name) => this.#shared[name] === target.root)
    return id === undefined ? target.schema : absoluteReferences(target.schema, id)
  }

  #choice(rest: Readonly<Record<string, Json>>, options: readonly Json[], root: Json): Shape {
    const { nullable, ...siblings } = rest
    return {
      kind: 'choice',
      nullable: nullable === true,
      options: options.map((option) => ({
        shape: saysSomething(siblings)
          ? this.read(mergeSchemas([siblings, this.#flat(option, root)]), root)
          : this.read(option, root),
        matches: this.#matcher(option, root),
      })),
    }
  }

  #condition(schema: Readonly<Record<string, Json>>, root: Json): Shape {
    const { if: condition, then: positive, else: negative, ...rest } = schema
    const branch = (part: Json | undefined): Shape =>
      this.read(part === undefined ? { ...rest } : mergeSchemas([rest, part]), root)
    return {
      kind: 'choice',
      nullable: schema.nullable === true,
      options: [
        { shape: branch(positive), matches: this.#matcher(condition as Json, root) },
        { shape: branch(negative), matches: () => true },
      ],
    }
  }

  #types(schema: Readonly<Record<string, Json>>, types: readonly string[], root: Json): Shape {
    const others = types.filter((type) => type !== 'null')
    const nullable = others.length < types.length || schema.nullable === true
    const [only] = others
    if (only === undefined) return { kind: 'null', nullable: true }
    if (others.length === 1) return { ...this.#single({ ...schema, type: only }, root), nullable }
    return {
      kind: 'choice',
      nullable,
      options: others.map((type) => ({
        shape: this.#single({ ...schema, type }, root),
        matches: this.#matcher({ type }, root),
      })),
    }
  }

  #single(schema: Readonly<Record<string, Json>>, root: Json): Shape {
    const nullable = schema.nullable === true
    if (schema.const !== undefined) return { kind: 'constant', json: JSON.stringify(schema.const), nullable }
    switch (schema.type ?? impliedType(schema)) {
      case 'string':
        return { kind: 'text', format: textFormat(schema.format), nullable }
      case 'integer':
        return {
          kind: 'integer',
          wide: this.#wide && (schema.format === 'int64' || schema.format === 'uint64'),
          nullable,
        }
      case 'number':
        return { kind: 'number', nullable }
      case 'boolean':
        return { kind: 'boolean', nullable }
      case 'null':
        return { kind: 'null', nullable: true }
      case 'array':
        return this.#array(schema, root, nullable)
      case 'object':
        return this.#object(schema, root, nullable)
      default:
        return anything
    }
  }

  #array(schema: Readonly<Record<string, Json>>, root: Json, nullable: boolean): Shape {
    const { items, additionalItems } = schema
    if (!Array.isArray(items)) return { kind: 'array', items: this.read(items ?? {}, root), nullable }
    const each = (items as Json[]).map((item) => this.read(item, root))
    return { kind: 'tuple', items: each, rest: Boolean(additionalItems), nullable }
  }

  #object(schema: Readonly<Record<string, Json>>, root: Json, nullable: boolean): Shape {
    const required = new Set(Array.isArray(schema.required) ? (schema.required as string[]) : [])
    const members = entriesOf(schema.properties).map(([name, property]): Member => {
      const shape = this.read(property, root)
      const fallback = defaultOf(property, (ref) => this.#resolve(ref, root).schema)
      return { name, shape, required: required.has(name), fallback }
    })
    const rest = schema.additionalProperties
    return {
      kind: 'object',
      // The order in which fast-json-stringify writes them.
      members: [
        ...members.filter((member) => member.required),
        ...members.filter((member) => !member.required),
      ],
      patterns: entriesOf(schema.patternProperties).map(([pattern, property]) => ({
        pattern: new RegExp(pattern),
        shape: this.read(property, root),
      })),
      rest: rest === undefined || rest === false ? null : this.read(rest, root),
      nullable,
    }
  }
}

function isSchemaObject(schema: Json): schema is Readonly<Record<string, Json>> {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
}

/** The shape of what a schema says nothing of. */
export const anything: Shape = { kind: 'anything', nullable: true }

function isPlainReference(
  schema: Readonly<Record<string, Json>>,
): schema is Readonly<Record<string, Json>> & { readonly $ref: string } {
  const { $ref, ...siblings } = schema
  return typeof $ref === 'string' && !saysSomething(siblings)
}

const silent = new Set([
  '$id',
  '$schema',
  '$comment',
  'title',
  'description',
  'example',
  'examples',
  'deprecated',
  'default',
])

function saysSomething(schema: Readonly<Record<string, Json>>): boolean {
  return Object.keys(schema).some((keyword) => !silent.has(keyword))
}

function impliedType(schema: Readonly<Record<string, Json>>): string | undefined {
  const implies = Object.entries(keywordsOfType).find(([, keywords]) =>
    keywords.some((keyword) => keyword in schema),
  )
  return implies?.[0]
}

const keywordsOfType = {
  object: [
    'properties',
    'required',
    'additionalProperties',
    'patternProperties',
    'maxProperties',
    'minProperties',
  ],
  array: ['items', 'additionalItems', 'maxItems', 'minItems', 'uniqueItems', 'contains'],
  string: ['maxLength', 'minLength', 'pattern'],
  number: ['multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
}

function textFormat(format: Json | undefined): 'date-time' | 'date' | 'time' | null {
  return format === 'date-time' || format === 'date' || format === 'time' ? format : null
}

function entriesOf(schemas: Json | undefined): [string, Json][] {
  return typeof schemas === 'object' && schemas !== null ? Object.entries(schemas) : []
}

function defaultOf(schema: Json, resolve: (ref: string) => Json): string | null {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return null
  const { $ref, default: value } = schema as Record<string, Json>
  if (value !== undefined) return JSON.stringify(value)
  return typeof $ref === 'string' ? defaultOf(resolve($ref), resolve) : null
}
