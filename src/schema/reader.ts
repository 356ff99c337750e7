import { mergeSchemas } from '@fastify/merge-json-schemas'
import { kept } from '../kept.js'
import {
  absoluteDocument,
  isSchemaObject,
  type Json,
  mapSchema,
  maxSchemaDepth,
  namedSchemas,
  type SchemaObject,
  type SchemaStore,
  schemaList,
  subschemaWithId,
  valueAt,
} from './json-schema.js'

/** A schema whose references are resolved and whose `allOf` is merged. */
export interface SchemaNode {
  /** The schemas that all hold: the schema itself, what it refers to, and those of `allOf`. */
  readonly parts: readonly SchemaObject[]
  readonly keywords: SchemaObject
  /** What `anyOf`, `oneOf` and `if` leave open: of each group, one alternative holds as well. */
  readonly groups: readonly (readonly Alternative[])[]
}

export interface Alternative {
  readonly schema: Json
  /** The schema that decides whether the alternative holds: its own, or that of `if`. */
  readonly condition: Json
  /** Whether the alternative holds where the condition is met, rather than where it is not. */
  readonly isMet: boolean
}

export class SchemaReader {
  readonly #shared: SchemaStore
  readonly #onUnresolved: ((reference: string) => void) | undefined
  readonly #documents = new Map<SchemaObject, SchemaObject>()
  readonly #byId = new Map<string, SchemaObject>()
  readonly #nodes = new Map<SchemaObject, SchemaNode>()

  /** @param onUnresolved called for a reference to nothing, which is then read as `true`; without it, that is an error */
  constructor(shared: SchemaStore = {}, onUnresolved?: (reference: string) => void) {
    this.#shared = shared
    this.#onUnresolved = onUnresolved
  }

  /** Reads a schema whose references name their documents: see {@link absolute}. */
  read(schema: Json): SchemaNode {
    return isSchemaObject(schema) ? this.#read(schema) : anything
  }

  absolute(document: Json): Json {
    if (!isSchemaObject(document)) return document
    return this.#documentOf(document, `fastify-conventions:${this.#documents.size}`)
  }

  /** A schema with all that it refers to as its own definitions, so that it can be compiled by itself. */
  bundle(schema: Json): Json {
    const names = new Map<Json, string>()
    const definitions: Record<string, Json> = {}
    const referring = (part: Json): Json =>
      mapSchema(part, ({ $id: _, ...one }) =>
        typeof one.$ref === 'string' ? { ...one, $ref: referenceTo(this.#resolve(one.$ref)) } : one,
      )
    const referenceTo = (target: Json): string => {
      const name = names.get(target) ?? `${names.size}`
      if (!names.has(target)) {
        names.set(target, name)
        definitions[name] = referring(target)
      }
      return `#/definitions/${name}`
    }
    const bundled = referring(schema)
    if (names.size === 0 || !isSchemaObject(bundled)) return bundled
    return { ...bundled, definitions }
  }

  #read(schema: SchemaObject): SchemaNode {
    return kept(this.#nodes, schema, () => (isPlain(schema) ? plainNode(schema) : this.#readNew(schema)))
  }

  #readNew(schema: SchemaObject): SchemaNode {
    // A reference alone is the node that it leads to.
    const target = referenceAlone(schema)
    if (target !== null) {
      const end = this.follow(target)
      return isSchemaObject(end) ? this.#read(end) : anything
    }
    const seen = new Set<SchemaObject>()
    const parts: SchemaObject[] = []
    const groups: Alternative[][] = []
    const collect = (part: Json, depth: number): void => {
      if (!isSchemaObject(part) || seen.has(part)) return
      if (depth > maxSchemaDepth) {
        if (this.#onUnresolved !== undefined) return
        throw new TypeError(`the schema goes deeper than ${maxSchemaDepth} levels`)
      }
      seen.add(part)
      if (typeof part.$ref === 'string') collect(this.follow(part.$ref), depth + 1)
      parts.push(part)
      groups.push(...groupsOf(part))
      for (const one of schemaList(part.allOf)) collect(one, depth + 1)
    }
    collect(schema, 0)
    return mergedNode(parts, groups)
  }

  /** What a reference leads to, through references alone. */
  follow(reference: string): Json {
    let target = this.#resolve(reference)
    for (let steps = 0; ; steps++) {
      const next = isSchemaObject(target) ? referenceAlone(target) : null
      if (next === null) return target
      if (steps > maxSchemaDepth) {
        if (this.#onUnresolved !== undefined) return true
        throw new TypeError(`the schema refers to itself: ${reference}`)
      }
      target = this.#resolve(next)
    }
  }

  #resolve(reference: string): Json {
    const target = this.#target(reference)
    if (target !== undefined) return target
    const shown = reference.replace(/^fastify-conventions:\d+/, '')
    if (this.#onUnresolved === undefined) throw new TypeError(`the schema refers to nothing: ${shown}`)
    this.#onUnresolved(shown)
    return true
  }

  #target(reference: string): Json | undefined {
    const [id = '', pointer = ''] = reference.split('#', 2)
    const document = this.#documentNamed(id)
    if (document === undefined) return undefined
    return pointer === '' || pointer.startsWith('/')
      ? valueAt(document, pointer)
      : subschemaWithId(document, `#${pointer}`)
  }

  /** A document, or a part of one with this `$id`. */
  #documentNamed(id: string): Json | undefined {
    const known = this.#byId.get(id) ?? this.#sharedDocument(id)
    if (known !== null) return known
    for (const name of Object.keys(this.#shared)) this.#sharedDocument(name)
    for (const schema of this.#byId.values()) {
      const part = subschemaWithId(schema, id)
      if (part !== undefined) return part
    }
    return undefined
  }

  #sharedDocument(id: string): SchemaObject | null {
    const schema = Object.hasOwn(this.#shared, id) ? this.#shared[id] : undefined
    return isSchemaObject(schema) ? this.#documentOf(schema, id) : null
  }

  #documentOf(root: SchemaObject, id: string): SchemaObject {
    return kept(this.#documents, root, () => {
      const document = absoluteDocument(root, id)
      this.#byId.set(id, document)
      return document
    })
  }
}

/** All schemas that may say something about a value of one of these schemas, in whichever alternative; each once. */
export function partsOf(reader: SchemaReader, schemas: readonly Json[]): readonly SchemaObject[] {
  const [only] = schemas
  if (schemas.length === 1 && isSchemaObject(only) && isPlain(only)) return schemas as readonly SchemaObject[]
  const nodes = new Set(schemas.map((schema) => reader.read(schema)))
  // The loop also visits the parts that it adds to the set.
  for (const { groups } of nodes)
    for (const group of groups) for (const { schema } of group) nodes.add(reader.read(schema))
  return [...new Set([...nodes].flatMap(({ parts }) => parts))]
}

export function formsOf(reader: SchemaReader, schema: Json): readonly (readonly SchemaObject[])[] {
  const forms: (readonly SchemaObject[])[] = []
  const start = reader.read(schema)
  const seen = new Set([start])
  const pending: { readonly node: SchemaNode; readonly above: readonly SchemaObject[] }[] = [
    { node: start, above: [] },
  ]
  for (const { node, above } of pending) {
    const parts = [...above, ...node.parts]
    const alternatives = node.groups.flat()
    if (alternatives.length === 0) forms.push(parts)
    for (const alternative of alternatives) {
      const next = reader.read(alternative.schema)
      if (seen.has(next)) continue
      seen.add(next)
      pending.push({ node: next, above: parts })
    }
  }
  return forms
}

export function propertiesOf(parts: readonly SchemaObject[]): Map<string, Json[]> {
  const properties = new Map<string, Json[]>()
  for (const part of parts) {
    for (const [name, property] of namedSchemas(part.properties))
      properties.set(name, [...(properties.get(name) ?? []), property])
  }
  return properties
}

/** Its keywords are merged when they are first read: schemas may contradict each other. */
function mergedNode(parts: readonly SchemaObject[], groups: readonly (readonly Alternative[])[]): SchemaNode {
  let merged: SchemaObject | null = null
  return {
    parts,
    groups,
    get keywords() {
      merged ??= mergeKeywords(parts.map(ownKeywords))
      return merged
    },
  }
}

function plainNode(schema: SchemaObject): SchemaNode {
  return { parts: [schema], keywords: schema, groups: [] }
}

const anything = plainNode({})

function groupsOf({
  anyOf,
  oneOf,
  if: condition,
  then: positive,
  else: negative,
}: SchemaObject): Alternative[][] {
  const groups = [schemaList(anyOf), schemaList(oneOf)]
    .filter((options) => options.length > 0)
    .map((options) => options.map((schema) => ({ schema, condition: schema, isMet: true })))
  if (condition === undefined || (positive === undefined && negative === undefined)) return groups
  const branches = [
    { schema: positive ?? true, condition, isMet: true },
    { schema: negative ?? true, condition, isMet: false },
  ]
  return [...groups, branches]
}

function ownKeywords(part: SchemaObject): SchemaObject {
  const { $ref: _, allOf: _a, anyOf: _b, oneOf: _c, if: _d, then: _e, else: _f, ...keywords } = part
  return keywords
}

const resolved: ReadonlySet<string> = new Set(['$ref', 'allOf', 'anyOf', 'oneOf', 'if'])

/** Whether no keyword of a schema refers to other schemas that hold for the same value. */
export function isPlain(schema: SchemaObject): boolean {
  for (const keyword in schema) if (resolved.has(keyword) && schema[keyword] !== undefined) return false
  return true
}

// Of JSON Schema, and of the Response Object of OpenAPI.
const annotations: ReadonlySet<string> = new Set(
  '$comment $id $schema content default deprecated description example examples headers links summary title'.split(
    ' ',
  ),
)

/** Whether a schema says something about a value, rather than only describing it. */
export function constrains(schema: SchemaObject): boolean {
  return Object.keys(schema).some((keyword) => !annotations.has(keyword) && !keyword.startsWith('x-'))
}

function referenceAlone(schema: SchemaObject): string | null {
  const { $ref, ...others } = schema
  return typeof $ref === 'string' && !constrains(others) ? $ref : null
}

/** Schemas that cannot be merged, as no value is valid by all of them. */
export class SchemaContradiction extends TypeError {}

/** Merges schemas as Fastify's serializer does, with two exceptions. */
function mergeKeywords(all: readonly SchemaObject[]): SchemaObject {
  const parts = all.filter((part) => Object.keys(part).length > 0)
  const [only = {}] = parts
  if (parts.length <= 1) return only
  const isClosed = parts.some((part) => part.additionalProperties === false)
  // References name the document that they lead into, so definitions need not come along.
  const open = parts.map(({ additionalProperties, definitions: _, $defs: __, ...keywords }) =>
    additionalProperties === undefined || additionalProperties === false
      ? keywords
      : { ...keywords, additionalProperties },
  )
  try {
    const merged = mergeSchemas(open, { onConflict: 'skip', resolvers }) as SchemaObject
    return isClosed ? { ...merged, additionalProperties: false } : merged
  } catch (error) {
    throw new SchemaContradiction((error as Error).message)
  }
}

function keepAll(keyword: string, values: readonly Json[], merged: Record<string, Json>): void {
  const [only] = values
  if (values.length === 1 && only !== undefined && keyword !== 'allOf') merged[keyword] = only
  else {
    const parts = keyword === 'allOf' ? values.flat() : values.map((value) => ({ [keyword]: value }))
    merged.allOf = [...schemaList(merged.allOf), ...parts]
  }
}

const resolvers = { $ref: keepAll, allOf: keepAll, anyOf: keepAll, oneOf: keepAll }
