import { nameOfToken } from '../json/json-pointer.js'
import {
  isSchemaObject,
  type Json,
  mapSchema,
  mapSubschemas,
  maxSchemaDepth,
  mayRefer,
  type SchemaObject,
} from './json-schema.js'

/** A document in which every reference names the document that it leads into. */
export interface SchemaDocument {
  readonly schema: SchemaObject
  /** The parts that have changed, by what they were. */
  readonly parts: ReadonlyMap<Json, Json>
}

export function absoluteDocument(root: SchemaObject, id: string): SchemaDocument {
  if (!mayRefer(root)) return { schema: root, parts: new Map() }
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

export function subschemaWithId(document: Json, id: string): SchemaObject | undefined {
  let found: SchemaObject | undefined
  mapSchema(document, (one) => {
    if (one.$id === id) found ??= one
    return one
  })
  return found
}

/** The value that a JSON Pointer leads to in a document (RFC 6901), percent-encoded as in a reference. */
export function valueAt(document: Json, pointer: string): Json | undefined {
  if (pointer === '') return document
  let part: Json | undefined = document
  for (const token of pointer.slice(1).split('/')) {
    const name = nameOfToken(decodedPart(token))
    const isThere: boolean = typeof part === 'object' && part !== null && Object.hasOwn(part, name)
    part = isThere ? (part as { readonly [key: string]: Json })[name] : undefined
  }
  return part
}

/** Returns a percent-encoded part of a reference decoded; as it is where its encoding is malformed. */
export function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
