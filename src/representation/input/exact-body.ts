import { findLongRun } from './literal-bounds.js'
import { type MarkedJson, markLongLiterals } from './long-literals.js'

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
  if (findLongRun(text, 0, text.length) < 0) return unmarked(text, parse)
  const quick = markLongLiterals(text, 'nothing')
  if (quick.marks === 0) return unmarked(text, parse)
  return parseMarked(quick, parse) ?? parseMinding(text, quick, parse)
}

// Either there are long integers in strings, or the text is no JSON.
function parseMinding(text: string, quick: MarkedJson, parse: ParseJson): ExactBody {
  const minding = markLongLiterals(text, 'strings')
  const isNew = minding.marks > 0 && minding.marks < quick.marks
  // The error that the client gets is the one about the text that the client sent.
  return (isNew ? parseMarked(minding, parse) : null) ?? unmarked(text, parse)
}

function unmarked(text: string, parse: ParseJson): ExactBody {
  return { value: parse(text), marks: 0 }
}

function parseMarked({ json, marks }: MarkedJson, parse: ParseJson): ExactBody | null {
  try {
    return { value: parse(json), marks }
  } catch {
    return null
  }
}
