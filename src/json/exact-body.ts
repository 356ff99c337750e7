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
 * Parses JSON by `parse` so that no digits of long integers are lost. A text without any is handed to `parse` as it
 * is, and what `parse` refuses is refused by its own error.
 *
 * The value is not for handlers yet: `readWide` has to go over it, whatever is declared.
 */
export function parseExact(text: string, parse: ParseJson): ExactBody {
  const { json, marks } = markLongLiterals(text)
  if (marks > 0) {
    try {
      return { value: parse(json), marks }
    } catch {
      // The error that the client gets is the one about the text that the client sent.
    }
  }
  return { value: parse(text), marks: 0 }
}
