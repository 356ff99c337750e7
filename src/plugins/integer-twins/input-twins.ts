import { exactInteger, isDecimal } from '../../json/int64.js'

/** What becomes of a member that came with a string twin, or as the twin alone. */
export type TwinResult = { readonly value: unknown } | TwinFault

/** What is wrong with a twin. */
export interface TwinFault {
  readonly kind: 'mismatch' | 'invalid'
  /** Where in the twin: indices of arrays. */
  readonly path: readonly number[]
}

const maxDepth = 500

/** `null` in a twin stands for a value that is not an integer. */
export function takeTwin(value: unknown, twin: unknown, written: unknown, depth = 0): TwinResult {
  if (twin === null) return Number.isInteger(value) ? mismatch : { value: value ?? null }
  if (isDigits(twin)) {
    if (value === undefined) return { value: Number(twin) }
    const digits = digitsOf(value, written)
    return digits === twin || digits === String(Number(twin)) ? { value: Number(twin) } : mismatch
  }
  if (!Array.isArray(twin) || depth >= maxDepth) return { kind: 'invalid', path: [] }
  if (value !== undefined && !(Array.isArray(value) && value.length === twin.length)) return mismatch
  const items: unknown[] = []
  for (const [index, one] of twin.entries()) {
    const item = Array.isArray(written) ? written[index] : undefined
    const result = takeTwin(value?.[index], one, item, depth + 1)
    if ('kind' in result) return { kind: result.kind, path: [index, ...result.path] }
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

const mismatch: TwinFault = { kind: 'mismatch', path: [] }

function isDigits(twin: unknown): twin is string {
  return typeof twin === 'string' && isDecimal(twin)
}

function digitsOf(value: unknown, written: unknown): string {
  if (typeof value !== 'number') return isDigits(value) ? value : ''
  if (typeof written === 'string') return isDecimal(written) ? written : String(exactInteger(written))
  return Object.is(value, -0) ? '-0' : String(value)
}
