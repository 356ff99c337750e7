import {
  isSchemaObject,
  type Json,
  maxSchemaDepth,
  namedSchemas,
  type SchemaObject,
  schemaList,
  typesOf,
} from './json-schema.js'
import type { SchemaNode, SchemaReader } from './reader.js'

// With more forms, alternatives are not distinguished.
const maxForms = 64

/** All schemas that may say something about a value of one of these schemas, in whichever alternative; each once. */
export function partsOf(reader: SchemaReader, schemas: readonly Json[]): SchemaObject[] {
  const nodes = new Set(schemas.map((schema) => reader.read(schema)))
  // The loop also visits the parts that it adds to the set.
  for (const { groups } of nodes)
    for (const group of groups) for (const { schema } of group) nodes.add(reader.read(schema))
  return [...new Set([...nodes].flatMap(({ parts }) => parts))]
}

export function formsOf(reader: SchemaReader, schema: Json): readonly (readonly SchemaObject[])[] {
  const known = new Map<SchemaNode, readonly (readonly SchemaObject[])[]>()
  const visit = (one: Json, depth: number): readonly (readonly SchemaObject[])[] => {
    const node = reader.read(one)
    const forms = known.get(node)
    if (forms !== undefined) return forms
    if (depth > maxSchemaDepth) return [partsOf(reader, [one])]
    // Known before it is read: where a schema is an alternative of itself, that adds nothing.
    known.set(node, [[]])
    const read = product(node, one, depth)
    known.set(node, read)
    return read
  }
  const product = (node: SchemaNode, one: Json, depth: number): readonly (readonly SchemaObject[])[] => {
    let forms: readonly (readonly SchemaObject[])[] = [node.parts]
    for (const group of node.groups) {
      const others = group.flatMap((alternative) => visit(alternative.schema, depth + 1))
      if (forms.length * others.length > maxForms) return [partsOf(reader, [one])]
      forms = forms.flatMap((form) => others.map((other) => [...form, ...other]))
    }
    return forms
  }
  return visit(schema, 0)
}

export function propertiesOf(parts: readonly SchemaObject[]): Map<string, Json[]> {
  const properties = new Map<string, Json[]>()
  for (const part of parts) {
    for (const [name, property] of namedSchemas(part.properties))
      properties.set(name, [...(properties.get(name) ?? []), property])
  }
  return properties
}

export function namelessOf(parts: readonly SchemaObject[]): Json[] {
  return parts.flatMap((part) => [
    ...namelessKeywords.flatMap((keyword) => part[keyword] ?? []).filter(isSchemaObject),
    ...namedSchemas(part.patternProperties).map(([, schema]) => schema),
  ])
}

const namelessKeywords = [
  'items',
  'prefixItems',
  'additionalItems',
  'additionalProperties',
  'unevaluatedProperties',
] as const

/** The JSON types that a value may have; none where the schemas do not say. */
export function typesOfParts(parts: readonly SchemaObject[]): ReadonlySet<string> {
  return new Set(
    parts.flatMap((part) => {
      const values = part.type === undefined ? valuesOf([part]) : []
      return values.length > 0 ? values.map(typeOfValue) : typesOf(part)
    }),
  )
}

export function valuesOf(parts: readonly SchemaObject[]): Json[] {
  return parts.flatMap((part) => [
    ...schemaList(part.enum),
    ...(part.const === undefined ? [] : [part.const]),
  ])
}

export function isTuple(parts: readonly SchemaObject[]): boolean {
  return parts.some(({ items, prefixItems, minItems, maxItems }) => {
    const hasFixedLength = typeof minItems === 'number' && minItems > 1 && minItems === maxItems
    return Array.isArray(items) || Array.isArray(prefixItems) || hasFixedLength
  })
}

function typeOfValue(value: Json): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}
