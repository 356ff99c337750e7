/** JSON Schema `pattern` of the text of an integer; `naturalPattern`, of one without a sign. */
export const decimalPattern = '^(?:0|-?[1-9][0-9]*)$'
export const naturalPattern = '^(?:0|[1-9][0-9]*)$'

const decimal = new RegExp(decimalPattern)
// The longest integer of both formats, with a sign. No BigInt is made of longer text.
const maxLength = 20

export function isDecimal(text: string): boolean {
  return decimal.test(text)
}

export interface Int64Range {
  readonly min: bigint
  readonly max: bigint
}

const int64: Int64Range = { min: -(2n ** 63n), max: 2n ** 63n - 1n }
const ranges: ReadonlyMap<unknown, Int64Range> = new Map([
  ['int64', int64],
  ['uint64', { min: 0n, max: 2n ** 64n - 1n }],
])

export function rangeOf(format: unknown): Int64Range | null {
  return ranges.get(format) ?? null
}

export function isWithin(range: Int64Range, value: bigint): boolean {
  return value >= range.min && value <= range.max
}

/** The exact integer that a canonical decimal text stands for; `null` for other text and out of range. */
export function parseInt64(text: string, range: Int64Range = int64): bigint | null {
  if (text.length > maxLength || !isDecimal(text)) return null
  const value = BigInt(text)
  return isWithin(range, value) ? value : null
}

/** Thrown for a declared 64-bit integer that is a Number beyond 2^53. */
export class LostDigitsError extends TypeError {
  constructor() {
    super(
      'a declared 64-bit integer is a Number beyond 2^53: its digits are lost; hand over a BigInt or a string',
    )
  }
}

/** The digits of a declared 64-bit integer; `null` for null. */
export function int64Digits(value: unknown, range: Int64Range): string | null {
  if (typeof value === 'bigint') return inRange(value, range).toString()
  if (typeof value === 'number' && Number.isInteger(value)) {
    if (!Number.isSafeInteger(value)) throw new LostDigitsError()
    if (value < 0 && range.min === 0n) throw outOfRange()
    return `${value}`
  }
  if (typeof value === 'string' && isDecimal(value)) {
    if (value.length > maxSafeLength || value.charCodeAt(0) === minus) {
      if (value.length > maxLength) throw outOfRange()
      inRange(BigInt(value), range)
    }
    return value
  }
  if (value === null) return null
  throw new TypeError(`a value of type ${typeof value} is not a 64-bit integer`)
}

// Text of up to 18 characters is within the range of both formats, unless it is negative.
const maxSafeLength = 18
const minus = 0x2d

function inRange(value: bigint, range: Int64Range): bigint {
  if (!isWithin(range, value)) throw outOfRange()
  return value
}

function outOfRange(): TypeError {
  return new TypeError('a declared 64-bit integer is out of the range of its format')
}

const maxSafe = BigInt(Number.MAX_SAFE_INTEGER)

/** Whether a value is a BigInt that a Number cannot hold exactly, or an array with one. */
function isUnsafe(value: unknown): boolean {
  if (typeof value === 'bigint') return value > maxSafe || value < -maxSafe
  return Array.isArray(value) && value.some(isUnsafe)
}

/** The JSON of the twin of a value without a schema; `null` if the value needs no twin. */
export function valueTwin(value: unknown): string | null {
  return isUnsafe(value) ? twinOf(value, false) : null
}

/** The JSON of the twin of an array. In it, `null` stands for what is not an integer. */
export function arrayTwin(items: readonly unknown[], isDeclared: boolean): string {
  // Holes count: `map` would skip them.
  return `[${Array.from(items, (item) => twinOf(item, isDeclared)).join(',')}]`
}

function twinOf(value: unknown, isDeclared: boolean): string {
  if (Array.isArray(value)) return arrayTwin(value, isDeclared)
  if (typeof value === 'bigint') return `"${value}"`
  if (typeof value === 'number') return Number.isSafeInteger(value) ? `"${value}"` : 'null'
  // Text is the digits of an integer only where one is declared.
  return isDeclared && typeof value === 'string' && isDecimal(value) ? `"${value}"` : 'null'
}
