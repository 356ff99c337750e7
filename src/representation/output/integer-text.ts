/** Told when the digits of a declared 64-bit integer are lost already: the value is a Number beyond 2^53. May throw. */
export type OnLostDigits = (value: number) => void

const decimal = /^(?:0|-?[1-9]\d*)$/

/**
 * The digits of a declared 64-bit integer, from a BigInt, a Number, or the decimal string that a database driver
 * returns; `null` for null.
 *
 * @throws TypeError for what is no integer
 */
export function wideDigits(value: unknown, onLost: OnLostDigits): string | null {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number' && Number.isInteger(value)) {
    if (Number.isSafeInteger(value)) return `${value}`
    onLost(value)
    return BigInt(value).toString()
  }
  if (typeof value === 'string' && decimal.test(value)) return value
  if (value === null) return null
  throw new TypeError(`a value of type ${typeof value} is no 64-bit integer`)
}

/** The digits of a value that a Number cannot hold exactly: an unsafe BigInt or integer; `null` for all others. */
export function unsafeDigits(value: unknown): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? null : unsafeNumberDigits(value)
  if (typeof value !== 'bigint') return null
  return value > maxSafe || value < -maxSafe ? value.toString() : null
}

function unsafeNumberDigits(value: number): string | null {
  if (!Number.isInteger(value)) return null
  // From 1e21 on a Number is written with an exponent: nobody means a count by that.
  return Math.abs(value) < 1e21 ? String(value) : null
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
  return `[${items.map((item) => itemTwin(item, declared)).join(',')}]`
}

function itemTwin(item: unknown, declared: boolean): string {
  if (Array.isArray(item)) return itemsTwin(item, declared)
  if (typeof item === 'bigint') return `"${item}"`
  if (typeof item === 'number') return Number.isInteger(item) && Math.abs(item) < 1e21 ? `"${item}"` : 'null'
  // Text is the digits of an integer only where one is declared.
  return declared && typeof item === 'string' && decimal.test(item) ? `"${item}"` : 'null'
}

function isUnsafe(item: unknown): boolean {
  return typeof item === 'object' ? Array.isArray(item) && item.some(isUnsafe) : unsafeDigits(item) !== null
}
