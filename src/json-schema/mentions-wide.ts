/** What a schema mentions that has to do with 64-bit integers. */
export interface WideMentions {
  /** Their format. */
  readonly format: boolean
  /** Another schema, which may declare some and need not be known yet. */
  readonly reference: boolean
}

/**
 * May the schema declare 64-bit integers? It does if it names their format, and may if it refers to another schema,
 * which need not be known yet.
 */
export function mentionsWide(schema: unknown): boolean {
  return wideMentions(schema) !== none
}

/** What a schema mentions. Found once for each object: schemas are not changed after a route has been given them. */
export function wideMentions(schema: unknown): WideMentions {
  if (typeof schema !== 'object' || schema === null) return none
  const known = found.get(schema)
  if (known !== undefined) return known
  const mentions = { format: false, reference: false }
  look(schema, mentions, 0)
  const result = mentions.format || mentions.reference ? mentions : none
  found.set(schema, result)
  return result
}

const none: WideMentions = { format: false, reference: false }
const found = new WeakMap<object, WideMentions>()
const deepest = 200

// All routes of an app come through here: no arrays are made on the way.
function look(schema: object, mentions: { format: boolean; reference: boolean }, depth: number): void {
  if (depth > deepest) return
  if (Array.isArray(schema)) {
    for (const part of schema) {
      if (typeof part === 'object' && part !== null) look(part, mentions, depth + 1)
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
      if (value !== null) look(value, mentions, depth + 1)
    } else if (keyword === 'format' && (value === 'int64' || value === 'uint64')) mentions.format = true
  }
}
