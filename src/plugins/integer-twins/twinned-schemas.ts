import { rangeOf } from '../../json/int64.js'
import { type Json, type SchemaObject, schemaList } from '../../json-schema/json-schema.js'
import { partsOf } from '../../json-schema/parts.js'
import type { SchemaReader } from '../../json-schema/reader.js'

/** Whether a schema declares a 64-bit integer, be it by a format whose type stands in a schema around it. */
export function declaresInt64({ type, format, const: constant }: SchemaObject): boolean {
  return (
    rangeOf(format) !== null &&
    constant === undefined &&
    (type === undefined || [type].flat().includes('integer'))
  )
}

/** Whether a member of the schema has a twin: it may be a 64-bit integer, or an array of them. */
export function isTwinned(
  reader: SchemaReader,
  schema: Json | undefined,
  seen: Set<SchemaObject> = new Set(),
): boolean {
  const fresh = partsOf(reader, [schema ?? true]).filter((part) => !seen.has(part))
  for (const part of fresh) seen.add(part)
  const isInteger = fresh.some(({ type }) => [type].flat().includes('integer'))
  if (isInteger && fresh.some(declaresInt64)) return true
  return fresh
    .flatMap(({ items, prefixItems, additionalItems }) => [
      ...[items ?? []].flat(),
      ...schemaList(prefixItems),
      additionalItems ?? true,
    ])
    .some((item) => isTwinned(reader, item as Json, seen))
}
