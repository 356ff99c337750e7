import type { Alternative } from '../json/choose.js'
import { holdsBigInt } from '../json/exact-json.js'
import { rangeOf, type WideRange } from '../json/wide-range.js'
import { type Match, type MatcherCompiler, matcherCompiler } from './schema-match.js'
import {
  absoluteReferences,
  type Json,
  type Located,
  mergeSchemas,
  SchemaContradiction,
  type SchemaStore,
  schemaResolver,
} from './schema-refs.js'
import { fitsTuple, isLargeInteger, isOfListedType } from './type-tests.js'

/** What a response schema says of a value, in the terms that writing and projecting need. */
export type Shape = ShapeBase &
  (
    | { readonly kind: 'text'; readonly format: TextFormat | null }
    | { readonly kind: 'integer'; readonly wide: WideRange | null }
    | { readonly kind: 'number' | 'boolean' | 'null' | 'anything' }
    | { readonly kind: 'constant'; readonly json: string }
    | ObjectForm
    | { readonly kind: 'array'; readonly items: Shape }
    | { readonly kind: 'tuple'; readonly items: readonly TupleItem[]; readonly rest: boolean }
    | { readonly kind: 'choice'; readonly options: readonly ShapeOption[] }
  )

interface ShapeBase {
  readonly nullable: boolean
  /** The values that a list of types allows besides null. Absent where the schema has one type, which converts others. */
  readonly allows?: Match
  /** Whether it is of several schemas that are merged (`allOf`, `$ref` beside other keywords). */
  readonly isMerged?: true
}

/** The formats by which a string, or a Date, is written. */
export type TextFormat = 'date-time' | 'date' | 'time' | 'unsafe'

/** One place of a tuple. */
export interface TupleItem {
  readonly shape: Shape
  readonly allows: Match
}

/** The shape of an object. */
export type ObjectShape = Extract<Shape, { kind: 'object' }>

interface ObjectForm {
  readonly kind: 'object'
  /** Declared members, those that are required first. */
  readonly members: readonly Member[]
  /** Names that are required and not declared. */
  readonly alsoRequired: readonly string[]
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
export interface ShapeOption extends Alternative {
  readonly shape: Shape
}

/**
 * Reads a response schema into a shape. References are resolved against `shared` (the context's `addSchema`), once;
 * a recursive schema becomes a recursive shape.
 *
 * @param wide whether declared 64-bit integers are told from other integers, and BigInts are integers everywhere
 * @param matcher tells alternatives apart: strictly as the app's serializer does, or, not strictly, with large integers
 * in every form that handlers have them in
 * @throws TypeError for a reference to nothing, and for keywords that contradict each other
 */
export function shapeOf(
  schema: Json,
  shared: SchemaStore = {},
  wide = true,
  matcher: MatcherCompiler = matcherCompiler(shared),
): Shape {
  const reader = new ShapeReader(shared, wide, matcher)
  return reader.read(schema, schema)
}

const deepest = 200

type Draft = { nullable?: boolean; kind?: Shape['kind']; allows?: Match }

class ShapeReader {
  readonly #known = new Map<object, Draft>()
  readonly #wide: boolean
  readonly #shared: SchemaStore
  readonly #resolve
  readonly #matcher: MatcherCompiler
  #depth = 0

  constructor(shared: SchemaStore, wide: boolean, matcher: MatcherCompiler) {
    this.#wide = wide
    this.#shared = shared
    this.#resolve = schemaResolver(shared)
    this.#matcher = matcher
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
    const { plain, groups } = isCombined(schema)
      ? this.#conjunction(schema, root)
      : { plain: schema, groups: [] }
    if (groups.length > 0) return this.#choice(plain, groups, root)
    const shape = Array.isArray(plain.type)
      ? this.#types(plain, plain.type as string[], root)
      : this.#single(plain, root)
    return plain === schema ? shape : { ...shape, isMerged: true }
  }

  /** What a schema says by itself, by references and by `allOf`, as one schema; and the alternatives that it leaves. */
  #conjunction(schema: Readonly<Record<string, Json>>, root: Json): Conjunction {
    const plains: Json[] = []
    const groups: Group[] = []
    const visit = (part: Json, depth: number): void => {
      if (!isSchemaObject(part)) return
      if (depth > deepest) throw new TypeError(`the schema goes deeper than ${deepest} levels`)
      const { $ref, allOf, anyOf, oneOf, if: condition, then: positive, else: negative, ...plain } = part
      if (typeof $ref === 'string') visit(this.#rooted(this.#resolve($ref, root), root), depth + 1)
      plains.push(plain)
      for (const options of [anyOf, oneOf]) {
        if (Array.isArray(options)) groups.push(this.#alternatives(options as Json[], root))
      }
      if (condition !== undefined && (positive !== undefined || negative !== undefined)) {
        const holds = this.#conditionOf(condition, root)
        groups.push([
          { schema: positive ?? true, matches: holds },
          { schema: negative ?? true, matches: (value) => !holds(value) },
        ])
      }
      if (Array.isArray(allOf)) for (const one of allOf as Json[]) visit(one, depth + 1)
    }
    visit(schema, 0)
    return { plain: mergeSchemas(plains) as Readonly<Record<string, Json>>, groups }
  }

  #conditionOf(condition: Json, root: Json): Match {
    const strict = this.#matcher(condition, root, true)
    if (!this.#wide || !mayBeWide(condition)) return strict
    const loose = this.#looseMatch(condition, root)
    return (value) => strict(value) || loose(value)
  }

  // Only a large integer may make a difference.
  #looseMatch(schema: Json, root: Json): Match {
    const matches = this.#matcher(schema, root, false)
    const hasText = /"(?:u?int64|\$ref)"/.test(JSON.stringify(schema))
    return (value) => holdsBigInt(value, hasText) && matches(value)
  }

  // What is merged into another document takes the references within its own along, by the name of that.
  #rooted(target: Located, root: Json): Json {
    if (target.root === root) return target.schema
    const id = Object.keys(this.#shared).find((name) => this.#shared[name] === target.root)
    return id === undefined ? target.schema : absoluteReferences(target.schema, id)
  }

  #alternatives(options: readonly Json[], root: Json): Group {
    const by = (strict: boolean): Group =>
      options.map((option) => ({
        schema: option,
        matches: strict ? this.#matcher(option, root, true) : this.#looseMatch(option, root),
        isLoose: !strict,
      }))
    return this.#wide && options.some(mayBeWide) ? [...by(true), ...by(false)] : by(true)
  }

  #choice(plain: Readonly<Record<string, Json>>, groups: readonly Group[], root: Json): Shape {
    const { nullable, ...siblings } = plain
    const before = saysSomething(siblings) ? [siblings] : []
    const known: { readonly schemas: readonly Json[]; readonly shape: Shape | null }[] = []
    const shapeOfAll = (schemas: readonly Json[]): Shape | null => {
      const same = known.find((one) => one.schemas.every((schema, index) => schema === schemas[index]))
      if (same !== undefined) return same.shape
      const shape = this.#readAll(schemas, root, groups.length > 1)
      known.push({ schemas, shape })
      return shape
    }
    return {
      kind: 'choice',
      nullable: nullable === true,
      options: combinationsOf(groups).flatMap((picked): ShapeOption[] => {
        const shape = shapeOfAll([...before, ...picked.map((option) => option.schema)])
        const isLoose = picked.some((option) => option.isLoose === true)
        return shape === null ? [] : [{ shape, matches: allMatch(picked), isLoose }]
      }),
    }
  }

  /** The shape of what all the schemas say; `null` for alternatives that contradict each other (`mayDiffer`). */
  #readAll(schemas: readonly Json[], root: Json, mayDiffer: boolean): Shape | null {
    const [only] = schemas
    if (schemas.length === 1 && only !== undefined) return this.read(only, root)
    const depth = this.#depth
    try {
      return this.read({ allOf: schemas }, root)
    } catch (error) {
      if (!mayDiffer || !(error instanceof SchemaContradiction)) throw error
      this.#depth = depth
      return null
    }
  }

  #types(schema: Readonly<Record<string, Json>>, types: readonly string[], root: Json): Shape {
    const others = types.filter((type) => type !== 'null')
    const nullable = others.length < types.length || schema.nullable === true
    const [only] = others
    if (schema.const !== undefined) return { ...this.#single(schema, root), nullable }
    if (only === undefined) return { kind: 'null', nullable: true, allows: () => false }
    if (others.length === 1) {
      const { type: _, nullable: __, ...rest } = schema
      return { ...this.#single({ ...rest, type: only }, root), nullable, allows: isOfListedType(only) }
    }
    const { nullable: _, ...rest } = schema
    const shapes = others.map((type) => this.#single({ ...rest, type }, root))
    const options = shapes.map((shape, index) => ({ shape, matches: isOfListedType(others[index] ?? '') }))
    const large = shapes
      .filter(({ kind }) => kind === 'integer' || kind === 'number')
      .map((shape) => ({ shape, matches: (value: unknown) => isLargeInteger(value, shape), isLoose: true }))
    return { kind: 'choice', nullable, options: this.#wide ? [...options, ...large] : options }
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
          wide: this.#wide ? rangeOf(schema.format) : null,
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
    const each = (items as Json[]).map((item) => {
      const located =
        isSchemaObject(item) && isPlainReference(item) ? this.#resolve(item.$ref, root).schema : item
      return { shape: this.read(item, root), allows: fitsTuple(located, impliedType) }
    })
    return { kind: 'tuple', items: each, rest: Boolean(additionalItems), nullable }
  }

  #object(schema: Readonly<Record<string, Json>>, root: Json, nullable: boolean): Shape {
    const required = new Set(Array.isArray(schema.required) ? (schema.required as string[]) : [])
    const members = entriesOf(schema.properties).map(([name, property]): Member => {
      const shape = this.read(property, root)
      const fallback = defaultOf(property, (ref) => this.#resolve(ref, root).schema)
      return { name, shape, required: required.has(name), fallback }
    })
    const names = new Set(members.map(({ name }) => name))
    const rest = schema.additionalProperties
    return {
      kind: 'object',
      // The order in which fast-json-stringify writes them.
      members: [
        ...members.filter((member) => member.required),
        ...members.filter((member) => !member.required),
      ],
      alsoRequired: [...required].filter((name) => !names.has(name)),
      patterns: entriesOf(schema.patternProperties).map(([pattern, property]) => ({
        pattern: new RegExp(pattern),
        shape: this.read(property, root),
      })),
      rest: rest === undefined || rest === false ? null : this.read(rest, root),
      nullable,
    }
  }
}

interface Conjunction {
  readonly plain: Readonly<Record<string, Json>>
  readonly groups: readonly Group[]
}

/** Alternatives of which a value is of the first that it matches. */
type Group = readonly (Alternative & { readonly schema: Json })[]

const mostCombinations = 256

/** One of each group, in all combinations; those of the first alternatives first. */
function combinationsOf(groups: readonly Group[]): Group[] {
  const [first = [], ...others] = groups
  return others.reduce<Group[]>(
    (before, group) => {
      if (before.length * group.length > mostCombinations)
        throw new TypeError(`the schema has more than ${mostCombinations} combinations of alternatives`)
      return before.flatMap((picked) => group.map((option) => [...picked, option]))
    },
    first.map((option) => [option]),
  )
}

function allMatch(options: Group): Match {
  const [only] = options
  return options.length === 1 && only !== undefined
    ? only.matches
    : (value) => options.every(({ matches }) => matches(value))
}

const combining = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if']

function isCombined(schema: Readonly<Record<string, Json>>): boolean {
  return combining.some((keyword) => schema[keyword] !== undefined)
}

// Large integers come as BigInts and as text, which the app's serializer takes for no number.
function mayBeWide(schema: Json): boolean {
  return /"(?:integer|number|\$ref)"/.test(JSON.stringify(schema))
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

const textFormats: ReadonlySet<unknown> = new Set<TextFormat>(['date-time', 'date', 'time', 'unsafe'])

function textFormat(format: Json | undefined): TextFormat | null {
  return textFormats.has(format) ? (format as TextFormat) : null
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
