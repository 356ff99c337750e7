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
 * @param text what stood in the body at the place of the Number; `null` where it is not known, or no number is long
 * @param standIn the Number that the validator was given for the text, where that is not the one that it rounds to
 */
export function integerOfNumber(
  number: number,
  text: string | null,
  range: Int64Range,
  standIn: number | undefined,
): Exact {
  const isSafe = Number.isSafeInteger(number) && !Object.is(number, -0)
  let integer = isSafe ? BigInt(number) : null
  // A validator makes Numbers of strings too: of short ones without a loss.
  if (text !== null && text.length >= longRun) {
    const isPlain = isDecimal(text)
    const exact = isPlain || isSafe ? exactInteger(text) : null
    // Another Number was not made of the text: the app has put it there.
    const isSame = isPlain && exact !== null ? Number(exact) === number : Number(text) === number
    if (isSame || standIn === number) integer = exact
  }
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
