import { valueTwin } from './int64.js'
import { textOf } from './json-text.js'

/** The JSON of a value as `JSON.stringify` writes it, and BigInts as numbers; with `twins`, unsafe ones have twins. */
export function exactJson(value: unknown, twins: boolean): string | undefined {
  // The native writer is several times faster. It refuses a BigInt, unless the app has taught it otherwise.
  if (!isBigIntPatched() || !holdsBigInt(value)) {
    try {
      return JSON.stringify(value)
    } catch {
      // A BigInt, or a circle: the exact writer tells them apart.
    }
  }
  return exact(value, '', twins, 0)
}

/** Whether the app has given BigInts a `toJSON`, so that `JSON.stringify` writes them. */
export function isBigIntPatched(): boolean {
  return 'toJSON' in BigInt.prototype
}

export function holdsBigInt(value: unknown): boolean {
  const seen = new Set<object>()
  const visit = (given: unknown, key: string): boolean => {
    if (typeof given === 'bigint') return true
    if (typeof given !== 'object' || given === null || seen.has(given)) return false
    seen.add(given)
    const plain = plainValue(given, key)
    if (typeof plain !== 'object' || plain === null) return visit(plain, key)
    if (plain !== given) {
      if (seen.has(plain)) return false
      seen.add(plain)
    }
    if (ArrayBuffer.isView(plain)) return plain instanceof BigInt64Array || plain instanceof BigUint64Array
    return Object.keys(plain).some((name) => visit((plain as Readonly<Record<string, unknown>>)[name], name))
  }
  try {
    return visit(value, '')
  } catch {
    // A getter that throws may belong to a member that is not written. If it is written, the writer gets the error.
    return false
  }
}

const maxDepth = 500

function exact(given: unknown, key: string, twins: boolean, depth: number): string | undefined {
  const value = plainValue(given, key)
  if (typeof value === 'string') return textOf(value)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (depth >= maxDepth)
    throw new TypeError(`a value goes deeper than ${maxDepth} levels, or round in a circle`)
  return Array.isArray(value) ? exactArray(value, twins, depth + 1) : exactObject(value, twins, depth + 1)
}

function exactArray(items: readonly unknown[], twins: boolean, depth: number): string {
  // Holes count: `map` would skip them.
  const written = Array.from(items, (item, index) => exact(item, `${index}`, twins, depth) ?? 'null')
  return `[${written.join(',')}]`
}

function exactObject(object: object, twins: boolean, depth: number): string {
  const members: string[] = []
  for (const [key, value] of Object.entries(object)) {
    const json = exact(value, key, twins, depth)
    if (json === undefined) continue
    members.push(`${textOf(key)}:${json}`)
    const twin = twins && !Object.hasOwn(object, `${key}_str`) ? valueTwin(value) : null
    if (twin !== null) members.push(`${textOf(`${key}_str`)}:${twin}`)
  }
  return `{${members.join(',')}}`
}

function plainValue(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return value
  // `Object(1n)` is a BigInt, whatever `toJSON` the app has given to BigInts.
  if (value instanceof BigInt) return value.valueOf()
  const json = jsonValueOf(value, key)
  if (json !== value) return json
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return value.valueOf()
  return value
}

export function jsonValueOf(value: unknown, key?: string): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return value
  const { toJSON } = value as { readonly toJSON?: unknown }
  return typeof toJSON === 'function' ? toJSON.call(value, key) : value
}
