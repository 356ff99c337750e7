const decimal = /^(?:0|-?[1-9]\d*)$/
const maxDecimalLength = '-9223372036854775808'.length

/** Largest integer of 64 bits with sign. */
export const maxInt64 = 2n ** 63n - 1n

/** Smallest integer of 64 bits with sign. */
export const minInt64 = -(2n ** 63n)

/** Whether a text is an integer in plain decimal digits, as `String` writes a BigInt: no `+`, no `-0`, no leading zeros. */
export function isDecimal(text: string): boolean {
  return decimal.test(text)
}

/** The exact integer that a canonical decimal string stands for; `null` for other text and beyond 64 bits. */
export function parseInt64(text: string): bigint | null {
  if (text.length > maxDecimalLength || !isDecimal(text)) return null
  const value = BigInt(text)
  return value > maxInt64 || value < minInt64 ? null : value
}

/** The integers that a format allows. */
export interface Int64Range {
  readonly min: bigint
  readonly max: bigint
}

const ranges: ReadonlyMap<unknown, Int64Range> = new Map([
  ['int64', { min: minInt64, max: maxInt64 }],
  ['uint64', { min: 0n, max: 2n ** 64n - 1n }],
])

const numberLiteral = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const maxDigits = 20
const minus = 0x2d
const zero = 0x30
const nine = 0x39

/** The range of the formats `int64` and `uint64`; `null` for any other. */
export function rangeOf(format: unknown): Int64Range | null {
  return ranges.get(format) ?? null
}

/** Whether a range has an integer. */
export function isWithin(range: Int64Range, value: bigint): boolean {
  return value >= range.min && value <= range.max
}

/**
 * Returns the integer value of a JSON number literal, also of one with a fraction or an exponent, such as `1.0` or `1e3`.
 * Returns `null` for `-0`, for a value that is not an integer, and for more than 20 digits.
 */
export function exactInteger(literal: string): bigint | null {
  if (isPlain(literal)) return BigInt(literal)
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = numberLiteral.exec(literal) ?? []
  const digits = whole + fraction
  const start = skipZeros(digits, 0, 1)
  const end = skipZeros(digits, digits.length - 1, -1) + 1
  if (start >= end) return digits === '' || sign === '-' ? null : 0n
  const zeros = Number(exponent) - fraction.length + digits.length - end
  if (zeros < 0 || end - start + zeros > maxDigits) return null
  return BigInt(sign + digits.slice(start, end) + '0'.repeat(zeros))
}

// Digits only, and at least one that is not zero in front. Faster here than by a regular expression.
function isPlain(literal: string): boolean {
  const start = literal.charCodeAt(0) === minus ? 1 : 0
  if (literal.length > maxDigits + start || !(literal.charCodeAt(start) > zero)) return false
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
