import { isSchemaObject, type Json, mapSubschemas, maxSchemaDepth, type SchemaObject } from './json-schema.js'
import type { SchemaReader } from './reader.js'

interface WrittenOutOptions {
  /** Changes each schema. */
  readonly change?: (schema: SchemaObject, depth: number) => SchemaObject
  /** What stands for a schema within itself. */
  readonly circle?: () => Json
}

/** A schema with what it refers to in the place of the references. */
export function writtenOut(
  schema: Json,
  reader: SchemaReader,
  { change = (part) => part, circle = () => ({}) }: WrittenOutOptions = {},
): Json {
  const around = new Set<Json>()
  const visit = (part: Json, depth: number): Json => {
    if (!isSchemaObject(part) || depth > maxSchemaDepth) return part
    if (around.has(part)) return circle()
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
    const written = visit(reader.follow($ref as string), depth)
    return isSchemaObject(written) ? { ...written, ...siblings } : siblings
  }
  return visit(schema, 0)
}
