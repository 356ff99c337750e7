import { type Int64Range, isDecimal, isWithin } from './int64.js'

/** Called when the digits of a declared 64-bit integer are lost: the value is a Number beyond 2^53. May throw. */
export type OnLostDigits = (value: number) => void

/**
 * The digits of a declared 64-bit integer, from a BigInt, a Number, or the decimal string that a database driver
 * returns; `null` for null.
 *
 * @throws TypeError if the value is not an integer, or is out of the range. The message does not contain the value.
 */
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
const minus = 0x2d

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

/**
 * The digits of a BigInt that a Number cannot hold exactly; `null` for all other values. A Number beyond 2^53 may have
 * been rounded before, so its digits prove nothing.
 */
export function unsafeDigits(value: unknown): string | null {
  if (typeof value !== 'bigint') return null
  return value > maxSafe || value < -maxSafe ? value.toString() : null
}

const maxSafe = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * The twin of an array, as JSON: the integers as strings, `null` in place of anything else, nested arrays likewise.
 * `null` where none is needed: not `declared`, and all its integers are safe.
 */
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
