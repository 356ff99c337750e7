const decimal = /^(?:0|-?[1-9]\d*)$/
const maxDecimalLength = '-9223372036854775808'.length

export const maxInt64 = 2n ** 63n - 1n

export const minInt64 = -(2n ** 63n)

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

export function isWithin(range: Int64Range, value: bigint): boolean {
  return value >= range.min && value <= range.max
}

/** Returns `null` for `-0`, for a value that is not an integer, and for more than 20 digits. */
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

/** Called when the digits of a declared 64-bit integer are lost: the value is a Number beyond 2^53. */
export type OnLostDigits = (value: number) => void

export function int64Digits(value: unknown, range: Int64Range, onLost: OnLostDigits): string | null {
  if (typeof value === 'bigint') return inRange(value, range).toString()
  if (typeof value === 'number' && Number.isInteger(value)) {
    if (Number.isSafeInteger(value)) {
      if (value < 0 && range.min === 0n) throw outOfRange()
      return `${value}`
    }
    onLost(value)
    return BigInt(value).toString()
  }
  if (typeof value === 'string' && isDecimal(value)) {
    if (value.length > maxSafeLength || value.charCodeAt(0) === minus) checkDecimal(value, range)
    return value
  }
  if (value === null) return null
  throw new TypeError(`a value of type ${typeof value} is not a 64-bit integer`)
}

// Text of up to 18 characters is within the range of both formats, unless it is negative.
const maxSafeLength = 18
// A BigInt is not made of text that is longer than any 64-bit integer.
const maxLength = 20

function checkDecimal(text: string, range: Int64Range): void {
  if (text.length > maxLength) throw outOfRange()
  inRange(BigInt(text), range)
}

function inRange(value: bigint, range: Int64Range): bigint {
  if (!isWithin(range, value)) throw outOfRange()
  return value
}

function outOfRange(): TypeError {
  return new TypeError('a declared 64-bit integer is out of the range of its format')
}

/** The digits of a BigInt that a Number cannot hold exactly; `null` for all other values. */
export function unsafeDigits(value: unknown): string | null {
  if (typeof value !== 'bigint') return null
  return value > maxSafe || value < -maxSafe ? value.toString() : null
}

const maxSafe = BigInt(Number.MAX_SAFE_INTEGER)

export function arrayTwin(items: readonly unknown[], declared: boolean): string | null {
  if (!declared && !items.some(isUnsafe)) return null
  return itemsTwin(items, declared)
}

function itemsTwin(items: readonly unknown[], declared: boolean): string {
  // Holes count: `map` would skip them.
  return `[${Array.from(items, (item) => itemTwin(item, declared)).join(',')}]`
}

function itemTwin(item: unknown, declared: boolean): string {
  if (Array.isArray(item)) return itemsTwin(item, declared)
  if (typeof item === 'bigint') return `"${item}"`
  if (typeof item === 'number') return Number.isSafeInteger(item) ? `"${item}"` : 'null'
  // Text is the digits of an integer only where one is declared.
  return declared && typeof item === 'string' && isDecimal(item) ? `"${item}"` : 'null'
}

function isUnsafe(item: unknown): boolean {
  return typeof item === 'object' ? Array.isArray(item) && item.some(isUnsafe) : unsafeDigits(item) !== null
}
