import type { ExactDigits } from '../plugins/integer-twins/input/scalar-input.js'
import { type ParseJson, parseExact } from './exact-body.js'
import { longIntegers } from './long-literals.js'
import { markBody } from './mark-body.js'

/** A body as a parser made it, and where the digits are that the parser has rounded. */
export interface DigitsOfBody {
  /** For `readWide`, as there may be marked strings in it. */
  readonly value: unknown
  readonly digits: ExactDigits
}

/**
 * Finds the digits of the long integers of a parsed body in the text that it was parsed from. Mostly their Numbers tell
 * them; else the text is parsed once more, by `parse`.
 *
 * @param body what the app has; may be changed in place
 */
export function digitsOfBody(body: unknown, text: string, parse: ParseJson): DigitsOfBody {
  const integers = longIntegers(text)
  if (integers !== null) return { value: body, digits: { integers } }
  const { value, marks } = markBody(body, parseExact(text, parse).value)
  return { value, digits: { marks } }
}
