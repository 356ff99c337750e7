/**
 * May the schema declare 64-bit integers? It does if it names their format, and may if it refers to another schema,
 * which need not be known yet.
 */
export function mentionsWide(schema: unknown, depth = 0): boolean {
  if (typeof schema !== 'object' || schema === null || depth > deepest) return false
  if (Array.isArray(schema)) return schema.some((part) => mentionsWide(part, depth + 1))
  // Schemas of other validators are instances of their classes.
  const prototype = Object.getPrototypeOf(schema)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.entries(schema).some(
    ([keyword, value]) =>
      keyword === '$ref' ||
      (keyword === 'format' && wideFormats.has(value)) ||
      mentionsWide(value, depth + 1),
  )
}

const deepest = 200
const wideFormats: ReadonlySet<unknown> = new Set(['int64', 'uint64'])
