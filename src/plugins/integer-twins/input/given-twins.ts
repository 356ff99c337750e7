import { isDecimal } from '../../../json/int64.js'
import { marked, markedLiteral } from '../../../json/long-literals.js'
import { exactInteger } from '../../../json/wide-range.js'

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

/** Gives the digits that a Number of the input was written with. */
export type WrittenDigits = (number: number) => string

const deepest = 500

/**
 * Lays the digits of a twin over the value that it came with (`undefined`: the twin came alone). The value has to have
 * been written with the same digits, or with those that JavaScript writes a Number of the twin with: then a client has
 * rounded it, and the twin wins. `null` in a twin stands for what is no integer.
 */
export function withTwin(value: unknown, twin: unknown, written: WrittenDigits, depth = 0): TwinResult {
  if (twin === null) return withoutDigits(value)
  if (isDigits(twin)) return withDigits(value, twin, written)
  if (!Array.isArray(twin) || depth >= deepest) return { kind: 'invalid', path: [] }
  if (value !== undefined && !(Array.isArray(value) && value.length === twin.length)) return mismatch
  return withItems(value, twin, written, depth)
}

/** Does a value look like the twin of the other, so that it is hardly anything else? */
export function looksLikeTwin(twin: unknown, value: unknown): boolean {
  if (twin === null) return value === null
  if (!Array.isArray(twin)) return isDigits(twin)
  return twin.length === 0 ? Array.isArray(value) : twin.every((item) => item === null || isDigits(item))
}

const mismatch: TwinFault = { kind: 'mismatch', path: [] }

function isDigits(twin: unknown): twin is string {
  return typeof twin === 'string' && isDecimal(twin)
}

function withoutDigits(value: unknown): TwinResult {
  if (value === undefined) return { value: null, marks: 0 }
  const isInteger = Number.isInteger(value) || markedLiteral(value) !== null
  return isInteger ? mismatch : { value, marks: 0 }
}

function withDigits(value: unknown, digits: string, written: WrittenDigits): TwinResult {
  if (value === undefined) return { value: marked(digits), marks: 1 }
  const literal = markedLiteral(value)
  const given = literal === null ? digitsOf(value, written) : String(exactInteger(literal))
  if (given !== digits && given !== String(Number(digits))) return mismatch
  return { value: marked(digits), marks: literal === null ? 1 : 0 }
}

function digitsOf(value: unknown, written: WrittenDigits): string {
  if (typeof value === 'number') return written(value)
  return isDigits(value) ? value : ''
}

function withItems(
  value: readonly unknown[] | undefined,
  twin: readonly unknown[],
  written: WrittenDigits,
  depth: number,
): TwinResult {
  const items: unknown[] = []
  let marks = 0
  for (const [index, digits] of twin.entries()) {
    const result = withTwin(value?.[index], digits, written, depth + 1)
    if ('kind' in result) return { kind: result.kind, path: [index, ...result.path] }
    items.push(result.value)
    marks += result.marks
  }
  return { value: items, marks }
}
