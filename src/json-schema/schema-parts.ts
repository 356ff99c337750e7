import { type Json, type Located, type SchemaStore, schemaResolver } from './schema-refs.js'

/** A schema that is an object. */
export type SchemaObject = Readonly<Record<string, Json>>

/** One of the schemas that speak of the same value, and the document that its references are relative to. */
export interface SchemaPart {
  readonly schema: SchemaObject
  readonly root: Json
}

// Beyond these, alternatives are no longer told apart.
const mostForms = 64
const deepestForm = 64

/**
 * Takes schemas apart at `$ref`, `allOf`, `anyOf`, `oneOf` and `if`. Parts are the very objects of the schema, so
 * whoever remembers those it has seen comes to an end in a recursive schema. It never throws, whatever the schema is.
 */
export class SchemaParts {
  /** References that lead to nothing. */
  readonly unresolved = new Set<string>()
  readonly #resolve
  readonly #forms = new Map<SchemaObject, readonly (readonly SchemaPart[])[]>()

  constructor(shared: SchemaStore) {
    this.#resolve = schemaResolver(shared)
  }

  /** All that speak of a value, in whichever case. */
  partsOf(starts: readonly Located[]): SchemaPart[] {
    const [first] = starts
    if (first !== undefined && starts.length === 1 && isPlain(first.schema)) return [first as SchemaPart]
    const parts = new Map<SchemaObject, SchemaPart>()
    const pending = [...starts]
    for (const { schema, root } of pending) {
      if (!isSchemaObject(schema) || parts.has(schema)) continue
      parts.set(schema, { schema, root })
      for (const alternatives of this.#joined(schema, root)) pending.push(...alternatives)
    }
    return [...parts.values()]
  }

  /** The cases that a value may be, each with all that speak of it. */
  formsOf({ schema, root }: Located, depth = 0): readonly (readonly SchemaPart[])[] {
    if (!isSchemaObject(schema)) return [[]]
    const known = this.#forms.get(schema)
    if (known !== undefined) return known
    if (depth > deepestForm) return [this.partsOf([{ schema, root }])]
    // Known before it is read: where a schema is an alternative of itself, that adds nothing.
    this.#forms.set(schema, [[]])
    const forms = this.#product(schema, root, depth)
    this.#forms.set(schema, forms)
    return forms
  }

  #product(schema: SchemaObject, root: Json, depth: number): readonly (readonly SchemaPart[])[] {
    let forms: readonly (readonly SchemaPart[])[] = [[{ schema, root }]]
    for (const alternatives of this.#joined(schema, root)) {
      const others = alternatives.flatMap((alternative) => this.formsOf(alternative, depth + 1))
      if (forms.length * others.length > mostForms) return [this.partsOf([{ schema, root }])]
      forms = forms.flatMap((form) => others.map((other) => [...form, ...other]))
    }
    return forms
  }

  /** What holds besides the schema's own keywords: a list of alternatives each. */
  #joined(schema: SchemaObject, root: Json): Located[][] {
    const beside = (part: Json): Located => ({ schema: part, root })
    const joined = listOf(schema.allOf).map((part) => [beside(part)])
    for (const choice of [schema.anyOf, schema.oneOf]) {
      const options = listOf(choice)
      if (options.length > 0) joined.push(options.map(beside))
    }
    if (schema.if !== undefined) joined.push([beside(schema.then ?? true), beside(schema.else ?? true)])
    if (typeof schema.$ref === 'string') {
      const target = this.#follow(schema.$ref, root)
      if (target !== null) joined.push([target])
    }
    return joined
  }

  #follow(ref: string, root: Json): Located | null {
    try {
      return this.#resolve(ref, root)
    } catch {
      this.unresolved.add(ref)
      return null
    }
  }
}

/** Is it a schema with keywords, and not `true` or `false`? */
export function isSchemaObject(schema: unknown): schema is SchemaObject {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
}

/** The declared members of an object, each with all the schemas that declare it. */
export function membersOf(parts: readonly SchemaPart[]): Map<string, Located[]> {
  const members = new Map<string, Located[]>()
  for (const { schema, root } of parts) {
    if (!isSchemaObject(schema.properties)) continue
    for (const [name, property] of Object.entries(schema.properties)) {
      const declared = members.get(name) ?? []
      declared.push({ schema: property, root })
      members.set(name, declared)
    }
  }
  return members
}

/** What is in a value under no name of its own: the items of arrays, and the values of maps. */
export function namelessOf(parts: readonly SchemaPart[]): Located[] {
  const found: Located[] = []
  for (const { schema, root } of parts) {
    const places: Json[] = []
    for (const keyword of namelessKeywords) {
      const value = schema[keyword]
      if (value !== undefined) places.push(...[value].flat())
    }
    if (isSchemaObject(schema.patternProperties)) places.push(...Object.values(schema.patternProperties))
    for (const place of places) if (isSchemaObject(place)) found.push({ schema: place, root })
  }
  return found
}

const namelessKeywords = [
  'items',
  'prefixItems',
  'additionalItems',
  'additionalProperties',
  'unevaluatedProperties',
] as const

/** The JSON types that a value may have; none where the schemas do not say. */
export function typesOf(parts: readonly SchemaPart[]): ReadonlySet<string> {
  const types = new Set<string>()
  for (const { schema } of parts) for (const type of typesOfOne(schema)) types.add(type)
  return types
}

/** The values that a value is restricted to by `enum` and `const`; none where it is not. */
export function valuesOf(parts: readonly SchemaPart[]): Json[] {
  return parts.flatMap(({ schema }) => [
    ...listOf(schema.enum),
    ...(schema.const === undefined ? [] : [schema.const]),
  ])
}

/** Is an array one of places, such as a point, rather than a list? */
export function isTuple(parts: readonly SchemaPart[]): boolean {
  return parts.some(({ schema: { items, prefixItems, minItems, maxItems } }) => {
    const hasFixedLength = typeof minItems === 'number' && minItems > 1 && minItems === maxItems
    return Array.isArray(items) || Array.isArray(prefixItems) || hasFixedLength
  })
}

const joining = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if'] as const

// Most schemas: nothing holds besides their own keywords.
function isPlain(schema: Json): boolean {
  return isSchemaObject(schema) && joining.every((keyword) => schema[keyword] === undefined)
}

const impliedBy: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties', 'patternProperties', 'maxProperties'],
  array: ['items', 'prefixItems', 'maxItems', 'minItems', 'uniqueItems', 'contains'],
  string: ['maxLength', 'minLength', 'pattern'],
  number: ['multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
}

function typesOfOne(schema: SchemaObject): readonly string[] {
  if (typeof schema.type === 'string') return [schema.type]
  if (schema.type !== undefined)
    return [schema.type].flat().filter((type): type is string => typeof type === 'string')
  const values = valuesOf([{ schema, root: schema }])
  if (values.length > 0) return values.map(typeOfValue)
  return Object.keys(impliedBy).filter((type) => impliedBy[type]?.some((keyword) => keyword in schema))
}

function typeOfValue(value: Json): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}
