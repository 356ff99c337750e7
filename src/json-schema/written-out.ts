import {
  isSchemaObject,
  type Json,
  mapSubschemas,
  maxSchemaDepth,
  type SchemaObject,
  type SchemaStore,
} from './json-schema.js'
import { SchemaReader } from './reader.js'

export function writtenOut(
  schema: Json,
  shared: SchemaStore,
  change: (schema: SchemaObject, depth: number) => SchemaObject,
): Json {
  const reader = new SchemaReader(shared, { onUnresolved: () => {} })
  const around = new Set<Json>()
  const visit = (part: Json, depth: number): Json => {
    if (!isSchemaObject(part) || depth > maxSchemaDepth) return part
    if (around.has(part)) return {}
    around.add(part)
    const written = typeof part.$ref === 'string' ? target(part, depth) : within(part, depth)
    around.delete(part)
    return written
  }
  const within = (part: SchemaObject, depth: number): Json => {
    const { $id: _, ...keywords } = change(part, depth)
    return mapSubschemas(keywords, (one) => visit(one, depth + 1))
  }
  // What stands beside a reference describes it.
  const target = ({ $ref, ...siblings }: SchemaObject, depth: number): Json => {
    const { parts } = reader.read({ $ref: $ref as string })
    const [only] = parts
    const written = only === undefined || parts.length > 1 ? {} : visit(only, depth)
    return isSchemaObject(written) ? { ...written, ...siblings } : written
  }
  return visit(reader.absolute(schema, schema), 0)
}
