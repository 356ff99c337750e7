import { maxSchemaDepth } from './json-schema.js'

/** What a schema mentions that has to do with 64-bit integers. */
export interface Int64Mentions {
  /** Their format. */
  readonly format: boolean
  /** Another schema, which may declare some and need not be known yet. */
  readonly reference: boolean
}

/**
 * Whether a schema may declare 64-bit integers: it mentions their format, or refers to another schema, which need not be
 * known yet.
 */
export function mentionsInt64(schema: unknown): boolean {
  return int64Mentions(schema) !== none
}

/** What a schema mentions. Found once for each object: schemas are not changed after a route has been given them. */
export function int64Mentions(schema: unknown): Int64Mentions {
  if (typeof schema !== 'object' || schema === null) return none
  const known = found.get(schema)
  if (known !== undefined) return known
  const mentions = { format: false, reference: false }
  visit(schema, mentions, 0)
  const result = mentions.format || mentions.reference ? mentions : none
  found.set(schema, result)
  return result
}

const none: Int64Mentions = { format: false, reference: false }
const found = new WeakMap<object, Int64Mentions>()

// Every schema of an app is visited: no arrays are made on the way. A level of a schema is up to two of its objects.
function visit(schema: object, mentions: { format: boolean; reference: boolean }, depth: number): void {
  if (depth > 2 * maxSchemaDepth) return
  if (Array.isArray(schema)) {
    for (const part of schema) {
      if (typeof part === 'object' && part !== null) visit(part, mentions, depth + 1)
    }
    return
  }
  // Schemas of other validators are instances of their classes.
  const prototype = Object.getPrototypeOf(schema)
  if (prototype !== Object.prototype && prototype !== null) return
  for (const keyword in schema) {
    const value = (schema as Readonly<Record<string, unknown>>)[keyword]
    if (keyword === '$ref') mentions.reference = true
    else if (typeof value === 'object') {
      if (value !== null) visit(value, mentions, depth + 1)
    } else if (keyword === 'format' && (value === 'int64' || value === 'uint64')) mentions.format = true
  }
}
