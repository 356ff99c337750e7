import { hasLongDigits } from './json-text.js'
import { markLongLiterals } from './long-literals.js'

/** Parses JSON; throws for what is none. */
export type ParseJson = (text: string) => unknown

/** A body in which long integers have kept their digits. */
export interface ExactBody {
  /** What the native parser gives, but for long integers: they are marked strings, which `readWide` turns back. */
  readonly value: unknown
  /** How many of them the text has. */
  readonly marks: number
}

/**
 * Parses JSON by `parse`, so that no digits of long integers are lost. A text without long runs of digits is handed to
 * `parse` as it is. What `parse` refuses is refused by its own error.
 *
 * The value is not for handlers yet: `readWide` has to go over it, even if nothing in it is declared.
 */
export function parseExact(text: string, parse: ParseJson): ExactBody {
  if (!hasLongDigits(text)) return { value: parse(text), marks: 0 }
  const { json, marks } = markLongLiterals(text)
  if (marks === 0) return { value: parse(text), marks }
  return parseMarked(json, marks, parse) ?? { value: parse(text), marks: 0 }
}

function parseMarked(json: string, marks: number, parse: ParseJson): ExactBody | null {
  try {
    return { value: parse(json), marks }
  } catch {
    // The error for the client is the one about the text that the client sent.
    return null
  }
}
