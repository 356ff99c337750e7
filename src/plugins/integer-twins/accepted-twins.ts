import { int64RangeOf, type Json, type SchemaObject, schemaList } from '../../json-schema/json-schema.js'
import { partsOf } from '../../json-schema/parts.js'
import type { SchemaReader } from '../../json-schema/reader.js'

/** Whether a schema declares a 64-bit integer, or has only the format of one: its type may stand in a schema around it. */
export function mayDeclareInt64(schema: SchemaObject): boolean {
  return int64RangeOf(schema.type === undefined ? { ...schema, type: 'integer' } : schema) !== null
}

/**
 * Whether a request may have a twin for a member of this schema: one of its alternatives is a 64-bit integer, or an array
 * of them.
 */
export function acceptsTwin(
  reader: SchemaReader,
  schema: Json | undefined,
  seen: Set<SchemaObject> = new Set(),
): boolean {
  const fresh = partsOf(reader, [schema ?? true]).filter((part) => !seen.has(part))
  for (const part of fresh) seen.add(part)
  const isInteger = fresh.some(({ type }) => [type].flat().includes('integer'))
  if (isInteger && fresh.some(mayDeclareInt64)) return true
  return fresh
    .flatMap(({ items, prefixItems, additionalItems }) => [
      ...[items ?? []].flat(),
      ...schemaList(prefixItems),
      additionalItems ?? true,
    ])
    .some((item) => acceptsTwin(reader, item as Json, seen))
}
