import { arrayTwin, unsafeDigits } from './integer-text.js'
import { hasLongDigits, textOf } from './json-text.js'

/**
 * JSON of a value that no schema describes, as `JSON.stringify` writes it, but with the exact digits of BigInts, and
 * with string twins beside integers that a Number cannot hold (`twins`). `undefined` where there is no JSON for it.
 *
 * @throws TypeError for a value that goes deeper than 500 levels, or round in a circle
 */
export function exactJson(value: unknown, twins: boolean): string | undefined {
  // The native writer is several times faster, and right wherever it meets no long integer.
  try {
    const json = JSON.stringify(value)
    if (json === undefined || !twins || !hasLongDigits(json)) return json
  } catch {
    // A BigInt, or a circle: the exact writer tells them apart.
  }
  return exact(value, '', twins, 0)
}

/** The twin of a member's value, as JSON, where it needs one. */
export function valueTwin(value: unknown): string | null {
  if (Array.isArray(value)) return arrayTwin(value, false)
  const digits = unsafeDigits(value)
  return digits === null ? null : `"${digits}"`
}

const deepest = 500

function exact(given: unknown, key: string, twins: boolean, depth: number): string | undefined {
  const value = plainValue(given, key)
  switch (typeof value) {
    case 'string':
      return textOf(value)
    case 'number':
      if (!Number.isFinite(value)) return 'null'
      return `${value}`
    case 'bigint':
      return value.toString()
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      if (depth >= deepest)
        throw new TypeError(`a value goes deeper than ${deepest} levels, or round in a circle`)
      return Array.isArray(value) ? exactArray(value, twins, depth + 1) : exactObject(value, twins, depth + 1)
    default:
      return undefined
  }
}

function exactArray(items: readonly unknown[], twins: boolean, depth: number): string {
  return `[${items.map((item, index) => exact(item, `${index}`, twins, depth) ?? 'null').join(',')}]`
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
  if ('toJSON' in value && typeof value.toJSON === 'function') return value.toJSON(key)
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return value.valueOf()
  return value
}
