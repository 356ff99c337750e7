import { exactInteger, type Int64Range, isDecimal, isWithin } from '../../json/int64.js'
import { longRun } from '../../json/json-text.js'

/** The integer that a value of an input is, or why it is none. */
export type Exact = { readonly integer: bigint } | { readonly fault: string }

const notDecimal = 'must be an integer in plain decimal digits'

/** The integer that a text of a path or a query is. */
export function integerOfText(text: string, range: Int64Range): Exact {
  if (!isDecimal(text)) return { fault: notDecimal }
  return within(range, exactInteger(text)) ?? { fault: outside(range) }
}

/**
 * The integer that a Number of a body was before a parser rounded it.
 *
 * @param text the text that the Number was parsed from; `null` where it is not known, or where nothing can be lost
 */
export function integerOfNumber(number: number, text: string | null, range: Int64Range): Exact {
  const isSafe = Number.isSafeInteger(number) && !Object.is(number, -0)
  // A validator makes Numbers of strings too: of short ones without a loss.
  const isLong = text !== null && text.length >= longRun
  if (isSafe && !isLong) return within(range, BigInt(number)) ?? { fault: outside(range) }
  const integer = isLong && (isSafe || isDecimal(text)) ? exactInteger(text) : null
  return within(range, integer) ?? { fault: faultOf(number, range) }
}

function within(range: Int64Range, integer: bigint | null): Exact | null {
  return integer !== null && isWithin(range, integer) ? { integer } : null
}

function faultOf(number: number, range: Int64Range): string {
  if (Object.is(number, -0)) return 'must be 0, not -0'
  const isUnsafe = Number.isInteger(number) && !Number.isSafeInteger(number)
  const isRounded = isUnsafe && number > Number(range.min) && number < Number(range.max)
  return isRounded ? 'must be written in plain digits, as it is beyond 2^53' : outside(range)
}

function outside({ min, max }: Int64Range): string {
  return `must be an integer from ${min} to ${max}`
}
