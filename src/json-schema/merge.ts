import { mergeSchemas } from '@fastify/merge-json-schemas'
import { type Json, type SchemaObject, schemaList } from './json-schema.js'

/** Schemas that cannot be merged, as no value is valid by all of them. */
export class SchemaContradiction extends TypeError {}

/**
 * Merges schemas as Fastify's serializer does, with two exceptions. A closed part (`additionalProperties: false`) closes
 * the whole and does not take away what the other parts declare. Alternatives and references that stand in several parts
 * become an `allOf`, so that they are not multiplied out before they are read.
 */
export function mergeKeywords(all: readonly SchemaObject[]): SchemaObject {
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
