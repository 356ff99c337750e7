import { marked, markedLiteral } from './long-literals.js'

/** An integer, or an array of them, that came with a string twin, or as the twin alone. */
export type TwinResult = TwinValue | TwinFault

/** The value, with the exact digits of the twin as marked strings in it. */
export interface TwinValue {
  readonly value: unknown
  /** How many marked strings there are more than before. */
  readonly marks: number
}

/** What is wrong with a twin. */
export interface TwinFault {
  readonly kind: 'mismatch' | 'invalid'
  /** Where in the twin: indices of arrays. */
  readonly path: readonly number[]
}

const decimal = /^(?:0|-?[1-9]\d*)$/
const deepest = 500

/**
 * Lays the digits of a twin over the value that it came with (`undefined`: the twin came alone). The digits win where
 * they are of the same Number, as a client's JSON may have rounded it. `null` in a twin stands for what is no integer.
 */
export function withTwin(value: unknown, twin: unknown, depth = 0): TwinResult {
  if (twin === null) return withoutDigits(value)
  if (typeof twin === 'string' && decimal.test(twin)) return withDigits(value, twin)
  if (!Array.isArray(twin) || depth >= deepest) return { kind: 'invalid', path: [] }
  if (value !== undefined && !(Array.isArray(value) && value.length === twin.length)) return mismatch
  return withItems(value, twin, depth)
}

/** Does a value look like the twin of the other, so that it is hardly anything else? */
export function looksLikeTwin(twin: unknown, value: unknown): boolean {
  if (twin === null) return value === null
  if (!Array.isArray(twin)) return isDecimal(twin)
  return twin.length === 0 ? Array.isArray(value) : twin.every((item) => item === null || isDecimal(item))
}

const mismatch: TwinFault = { kind: 'mismatch', path: [] }

function isDecimal(twin: unknown): boolean {
  return typeof twin === 'string' && decimal.test(twin)
}

function withoutDigits(value: unknown): TwinResult {
  if (value === undefined) return { value: null, marks: 0 }
  const isInteger = Number.isInteger(value) || markedLiteral(value) !== null
  return isInteger ? mismatch : { value, marks: 0 }
}

function withDigits(value: unknown, digits: string): TwinResult {
  if (value === undefined) return { value: marked(digits), marks: 1 }
  const literal = markedLiteral(value)
  const number =
    typeof value === 'number' ? value : Number(literal ?? (isDecimal(value) ? value : Number.NaN))
  if (number !== Number(digits)) return mismatch
  return { value: marked(digits), marks: literal === null ? 1 : 0 }
}

function withItems(
  value: readonly unknown[] | undefined,
  twin: readonly unknown[],
  depth: number,
): TwinResult {
  const items: unknown[] = []
  let marks = 0
  for (const [index, digits] of twin.entries()) {
    const result = withTwin(value?.[index], digits, depth + 1)
    if ('kind' in result) return { kind: result.kind, path: [index, ...result.path] }
    items.push(result.value)
    marks += result.marks
  }
  return { value: items, marks }
}
