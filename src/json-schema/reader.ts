import { mergeSchemas } from '@fastify/merge-json-schemas'
import { RefResolver } from 'json-schema-ref-resolver'
import { nameOfToken } from '../json/json-pointer.js'
import {
  isSchemaObject,
  type Json,
  mapSchema,
  mapSubschemas,
  maxSchemaDepth,
  type SchemaObject,
  type SchemaStore,
  schemaList,
} from './json-schema.js'

/** A schema whose references are resolved and whose `allOf` is merged. */
export interface SchemaNode {
  /** The keywords, without those that are resolved: `$ref`, `allOf`, `anyOf`, `oneOf`, `if`, `then`, `else`. */
  readonly keywords: SchemaObject
  /** What `anyOf`, `oneOf` and `if` leave open: of each group, one alternative holds as well. */
  readonly groups: readonly (readonly Alternative[])[]
  /** Whether the keywords of several schemas are merged. */
  readonly isMerged: boolean
}

/** One of the schemas of `anyOf` or `oneOf`, or a branch of `if`. */
export interface Alternative {
  readonly schema: Json
  /** The schema that decides whether the alternative holds: its own, or that of `if`. */
  readonly condition: Json
  /** Whether the alternative holds where the condition is met, rather than where it is not. */
  readonly isMet: boolean
}

/** Schemas that cannot be merged, as no value is valid by all of them. */
export class SchemaContradiction extends TypeError {}

export interface ReaderOptions {
  /**
   * Called for a reference to nothing, which is then read as `true`. Schemas that contradict each other are then read as
   * alternatives. Without it, both throw.
   */
  readonly onUnresolved?: (reference: string) => void
}

/**
 * Reads JSON Schemas: resolves `$ref`, within a document and into shared schemas, and merges `allOf`, both as Fastify's
 * serializer does. Each schema object is read once, so a recursive schema gives a recursive graph of nodes.
 */
export class SchemaReader {
  readonly #shared: SchemaStore
  readonly #onUnresolved: ReaderOptions['onUnresolved']
  readonly #resolver = new RefResolver()
  readonly #documents = new Map<Json, Document>()
  readonly #byId = new Map<string, Document>()
  readonly #nodes = new Map<SchemaObject, SchemaNode>()

  /** @param shared schemas that others refer to, by their `$id` */
  constructor(shared: SchemaStore = {}, options: ReaderOptions = {}) {
    this.#shared = shared
    this.#onUnresolved = options.onUnresolved
  }

  /**
   * The node of a schema.
   *
   * @param root the document that `schema` is a part of, to which its local references are relative. Schemas that come
   * out of a node have no local references any more: they need none.
   * @throws TypeError for a reference to nothing or in a circle, {@link SchemaContradiction} for schemas that cannot be
   * merged
   */
  read(schema: Json, root?: Json): SchemaNode {
    const absolute = root === undefined ? schema : this.absolute(schema, root)
    return isSchemaObject(absolute) ? this.#read(absolute) : anything
  }

  /** A part of a document, with references that name their document; the part itself where it has none. */
  absolute(schema: Json, root: Json): Json {
    if (!isSchemaObject(root) || !isSchemaObject(schema)) return schema
    const document = this.#documentOf(root, `fastify-conventions:${this.#documents.size}`)
    return document.parts.get(schema) ?? schema
  }

  /** The nodes of all that may hold for a value: of the schema itself, and of each of its alternatives. */
  branches(node: SchemaNode): readonly SchemaNode[] {
    const found = new Set([node])
    // What is added to a set while it is walked is walked too.
    for (const { groups } of found)
      for (const group of groups) for (const { schema } of group) found.add(this.read(schema))
    return [...found]
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
    const known = this.#nodes.get(schema)
    if (known !== undefined) return known
    const node = isPlain(schema) ? { keywords: schema, groups: [], isMerged: false } : this.#readNew(schema)
    this.#nodes.set(schema, node)
    return node
  }

  #readNew(schema: SchemaObject): SchemaNode {
    // A reference alone is the node that it leads to.
    const target = referenceAlone(schema)
    if (target !== null) {
      const end = this.#follow(target)
      return isSchemaObject(end) ? this.#read(end) : anything
    }
    const parts: SchemaObject[] = []
    const groups: Alternative[][] = []
    const collect = (part: Json, depth: number): void => {
      if (!isSchemaObject(part)) return
      if (depth > maxSchemaDepth) {
        if (this.#onUnresolved === undefined) throw tooDeep()
        return
      }
      const { $ref, allOf, anyOf, oneOf, if: condition, then: positive, else: negative, ...keywords } = part
      if (typeof $ref === 'string') collect(this.#resolve($ref), depth + 1)
      if (Object.keys(keywords).length > 0) parts.push(keywords)
      for (const options of [anyOf, oneOf]) {
        if (Array.isArray(options) && options.length > 0) groups.push(options.map(alternative))
      }
      if (condition !== undefined && (positive !== undefined || negative !== undefined)) {
        groups.push([
          { schema: positive ?? true, condition, isMet: true },
          { schema: negative ?? true, condition, isMet: false },
        ])
      }
      for (const one of schemaList(allOf)) collect(one, depth + 1)
    }
    collect(schema, 0)
    const [only = {}] = parts
    if (parts.length <= 1) return { keywords: only, groups, isMerged: typeof schema.$ref === 'string' }
    return this.#merged(parts, groups)
  }

  #merged(parts: readonly SchemaObject[], groups: readonly (readonly Alternative[])[]): SchemaNode {
    try {
      return { keywords: merge(parts), groups, isMerged: true }
    } catch (error) {
      if (this.#onUnresolved === undefined) throw new SchemaContradiction((error as Error).message)
      return { keywords: {}, groups: [...groups, parts.map(alternative)], isMerged: true }
    }
  }

  /** The schema that a chain of references ends at. */
  #follow(reference: string): Json {
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
    try {
      this.#load(id)
      if (pointer === '' || pointer.startsWith('/'))
        return at(this.#byId.get(id)?.schema ?? this.#resolver.getSchema(id), pointer)
      return (this.#resolver.getSchema(id, `#${pointer}`) ?? undefined) as Json | undefined
    } catch {
      return undefined
    }
  }

  /** Makes a document known to the resolver; all of them where it is not known by this name. */
  #load(id: string): void {
    if (this.#resolver.hasSchema(id)) return
    const document = this.#byId.get(id) ?? this.#sharedDocument(id)
    const added = document === null ? this.#allDocuments() : [[id, document] as const]
    for (const [name, { schema }] of added) {
      if (this.#resolver.hasSchema(name)) continue
      const { $id: _, ...keywords } = schema
      this.#resolver.addSchema(keywords, name)
    }
  }

  #allDocuments(): (readonly [string, Document])[] {
    for (const id of Object.keys(this.#shared)) this.#sharedDocument(id)
    return [...this.#byId]
  }

  #sharedDocument(id: string): Document | null {
    const schema = Object.hasOwn(this.#shared, id) ? this.#shared[id] : undefined
    return isSchemaObject(schema) ? this.#documentOf(schema, id) : null
  }

  #documentOf(root: SchemaObject, id: string): Document {
    const known = this.#documents.get(root)
    if (known !== undefined) return known
    const document = absoluteDocument(root, id)
    this.#documents.set(root, document)
    this.#byId.set(id, document)
    return document
  }
}

/** A document in which every reference names the document that it leads into. */
interface Document {
  readonly schema: SchemaObject
  /** The parts that have changed, by what they were. */
  readonly parts: ReadonlyMap<Json, Json>
}

function absoluteDocument(root: SchemaObject, id: string): Document {
  const parts = new Map<Json, Json>()
  const seen = new Set<Json>()
  const ownId = typeof root.$id === 'string' ? root.$id.replace(/#$/, '') : id
  const visit = (schema: Json, base: string, depth: number): Json => {
    if (!isSchemaObject(schema) || depth > maxSchemaDepth) return schema
    const known = parts.get(schema)
    if (known !== undefined || seen.has(schema)) return known ?? schema
    seen.add(schema)
    const inner = schema !== root && isDocumentId(schema.$id) ? schema.$id : base
    const within = mapSubschemas(schema, (one) => visit(one, inner, depth + 1))
    const $ref = typeof schema.$ref === 'string' ? absoluteReference(schema.$ref, inner) : schema.$ref
    const result = $ref === schema.$ref ? within : { ...within, $ref: $ref as Json }
    if (result !== schema) parts.set(schema, result)
    return result
  }
  // A document may refer to itself by its name.
  const absoluteReference = (ref: string, base: string): string => {
    if (ref.startsWith('#')) return base + ref
    return ref === ownId || ref.startsWith(`${ownId}#`) ? id + ref.slice(ownId.length) : ref
  }
  return { schema: visit(root, id, 0) as SchemaObject, parts }
}

function isDocumentId(id: Json | undefined): id is string {
  return typeof id === 'string' && !id.startsWith('#')
}

function at(document: Json, pointer: string): Json | undefined {
  if (pointer === '') return document
  let part: Json | undefined = document
  for (const token of pointer.slice(1).split('/')) {
    const name = nameOfToken(decodeURIComponent(token))
    const isThere: boolean = typeof part === 'object' && part !== null && Object.hasOwn(part, name)
    part = isThere ? (part as { readonly [key: string]: Json })[name] : undefined
  }
  return part
}

const anything: SchemaNode = { keywords: {}, groups: [], isMerged: false }

const resolved = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if'] as const

function isPlain(schema: SchemaObject): boolean {
  return resolved.every((keyword) => schema[keyword] === undefined)
}

function alternative(schema: Json): Alternative {
  return { schema, condition: schema, isMet: true }
}

/** Keywords that say nothing about a value. */
const annotations: ReadonlySet<string> = new Set([
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

/** Whether a schema says something about a value, rather than only describing it. */
export function constrains(schema: SchemaObject): boolean {
  return Object.keys(schema).some((keyword) => !annotations.has(keyword))
}

function referenceAlone(schema: SchemaObject): string | null {
  const { $ref, ...others } = schema
  return typeof $ref === 'string' && !constrains(others) ? $ref : null
}

function tooDeep(): TypeError {
  return new TypeError(`the schema goes deeper than ${maxSchemaDepth} levels`)
}

/**
 * Merges schemas as Fastify's serializer does, with two exceptions. A closed part (`additionalProperties: false`) closes
 * the whole and does not take away what the other parts declare. Alternatives and references that stand in several parts
 * become an `allOf`, so that they are not multiplied out before they are read.
 */
function merge(parts: readonly SchemaObject[]): SchemaObject {
  const isClosed = parts.some((part) => part.additionalProperties === false)
  // References name the document that they lead into, so definitions need not come along.
  const open = parts.map(({ additionalProperties, definitions: _, $defs: __, ...keywords }) =>
    additionalProperties === undefined || additionalProperties === false
      ? keywords
      : { ...keywords, additionalProperties },
  )
  const merged = mergeSchemas(open, { onConflict: 'skip', resolvers }) as SchemaObject
  return isClosed ? { ...merged, additionalProperties: false } : merged
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
