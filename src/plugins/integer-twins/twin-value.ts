import { type Int64Range, isDecimal, parseInt64 } from '../../json/int64.js'

/** What becomes of a member that came with a string twin, or as the twin alone. */
export type TwinResult = { readonly value: unknown } | TwinFault

/** What is wrong with a twin. */
export interface TwinFault {
  readonly fault: 'mismatch' | 'digits' | 'range'
  /** Where in the twin: indices of arrays. */
  readonly path: readonly number[]
}

const maxDepth = 500

/**
 * Returns the value with the Numbers that the digits of a twin are rounded to. `null` in a twin stands for a value that is
 * not an integer.
 */
export function takeTwin(
  value: unknown,
  twin: unknown,
  written: unknown,
  range: Int64Range,
  depth = 0,
): TwinResult {
  if (twin === null) return Number.isInteger(value) ? mismatch : { value: value ?? null }
  if (isDigits(twin)) {
    if (value !== undefined && !isSame(value, written, twin)) return mismatch
    return parseInt64(twin, range) === null ? { fault: 'range', path: [] } : { value: Number(twin) }
  }
  if (!Array.isArray(twin) || depth >= maxDepth) return { fault: 'digits', path: [] }
  if (value !== undefined && !(Array.isArray(value) && value.length === twin.length)) return mismatch
  const items: unknown[] = []
  for (const [index, one] of twin.entries()) {
    const item = Array.isArray(written) ? written[index] : undefined
    const result = takeTwin(value?.[index], one, item, range, depth + 1)
    if ('fault' in result) return { fault: result.fault, path: [index, ...result.path] }
    items.push(result.value)
  }
  return { value: items }
}

/** Whether a value looks like the twin of another, so that it is hardly anything else. */
export function looksLikeTwin(twin: unknown, value: unknown): boolean {
  if (twin === null) return value === null
  if (!Array.isArray(twin)) return isDigits(twin)
  return twin.length === 0 ? Array.isArray(value) : twin.every((item) => item === null || isDigits(item))
}

const mismatch: TwinFault = { fault: 'mismatch', path: [] }

function isDigits(twin: unknown): twin is string {
  return typeof twin === 'string' && isDecimal(twin)
}

/** Whether a number has the digits of a twin, or is what a client has rounded them to. */
function isSame(value: unknown, written: unknown, twin: string): boolean {
  if (typeof value !== 'number') return value === twin
  if (Object.is(value, -0)) return false
  const digits = typeof written === 'string' ? written : `${value}`
  if (!isDecimal(digits)) return !Number.isSafeInteger(value) && value === Number(twin)
  return digits === twin || digits === `${Number(twin)}`
}
