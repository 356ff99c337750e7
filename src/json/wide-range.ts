import { maxInt64, minInt64 } from './int64.js'

/** The integers that a declared format allows. */
export interface WideRange {
  readonly min: bigint
  readonly max: bigint
}

const ranges: ReadonlyMap<unknown, WideRange> = new Map([
  ['int64', { min: minInt64, max: maxInt64 }],
  ['uint64', { min: 0n, max: 2n ** 64n - 1n }],
])

const number = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const mostDigits = 20
const minus = 0x2d
const zero = 0x30
const nine = 0x39

/** The range of a `format`; `null` if it is none of 64-bit integers. */
export function rangeOf(format: unknown): WideRange | null {
  return ranges.get(format) ?? null
}

/** Is the integer one that the range allows? */
export function isWithin(range: WideRange, value: bigint): boolean {
  return value >= range.min && value <= range.max
}

/**
 * The integer that a JSON number literal is, also one with a fraction or an exponent, such as `1.0` or `1e3`; `null`
 * for `-0`, for what is no integer, and beyond 20 digits.
 */
export function exactInteger(literal: string): bigint | null {
  if (isPlain(literal)) return BigInt(literal)
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = number.exec(literal) ?? []
  const digits = whole + fraction
  const start = skipZeros(digits, 0, 1)
  const end = skipZeros(digits, digits.length - 1, -1) + 1
  if (start >= end) return digits === '' || sign === '-' ? null : 0n
  const zeros = Number(exponent) - fraction.length + digits.length - end
  if (zeros < 0 || end - start + zeros > mostDigits) return null
  return BigInt(sign + digits.slice(start, end) + '0'.repeat(zeros))
}

// Digits only, and at least one that is not zero in front. Faster here than by a regular expression.
function isPlain(literal: string): boolean {
  const start = literal.charCodeAt(0) === minus ? 1 : 0
  if (literal.length > mostDigits + start || !(literal.charCodeAt(start) > zero)) return false
  for (let index = start; index < literal.length; index++) {
    const code = literal.charCodeAt(index)
    if (code < zero || code > nine) return false
  }
  return true
}

function skipZeros(digits: string, from: number, step: 1 | -1): number {
  let index = from
  while (digits[index] === '0') index += step
  return index
}
