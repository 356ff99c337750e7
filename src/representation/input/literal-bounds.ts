const quote = 0x22
const plus = 0x2b
const comma = 0x2c
const minus = 0x2d
const dot = 0x2e
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const openingBracket = 0x5b
const backslash = 0x5c
const closingBracket = 0x5d
const lowerE = 0x65
const closingBrace = 0x7d

const beforeValue: ReadonlySet<number> = new Set([colon, comma, openingBracket])
const afterValue: ReadonlySet<number> = new Set([comma, closingBracket, closingBrace])

/** So many digits may be more than a Number can hold. */
export const longRun = 16

/**
 * Where the first run of 16 digits or more between two places starts; -1 if there is none. Looks at every 16th character
 * only: a run that long has one of them.
 */
export function findLongRun(text: string, from: number, to: number): number {
  for (let index = from + longRun - 1; index < to; index += longRun) {
    if (!isDigitAt(text, index)) continue
    // Of 16 digits around one, there is one 8 places away.
    if (!isDigitAt(text, index - longRun / 2) && !isDigitAt(text, index + longRun / 2)) continue
    const start = startOfDigits(text, index)
    if (endOfDigits(text, index) - start >= longRun) return start
  }
  return -1
}

/** Is there a minus at that place of a text? */
export function isMinusAt(text: string, index: number): boolean {
  return text.charCodeAt(index) === minus
}

/** Is there a dot at that place of a text? */
export function isDotAt(text: string, index: number): boolean {
  return text.charCodeAt(index) === dot
}

/** The place behind the run of digits that a place is in. */
export function endOfDigits(text: string, index: number): number {
  let end = index
  while (end < text.length && isDigit(text.charCodeAt(end))) end++
  return end
}

/** Where the run of characters starts, of which numbers consist, that goes on at a place. */
export function startOfNumber(text: string, index: number): number {
  let start = index
  while (start > 0 && isNumberPart(text.charCodeAt(start - 1))) start--
  return start
}

/** The place behind the run of characters, of which numbers consist, that a place is in. */
export function endOfNumber(text: string, index: number): number {
  let end = index
  while (end < text.length && isNumberPart(text.charCodeAt(end))) end++
  return end
}

/** The place behind the string that a place is in. */
export function endOfString(text: string, start: number): number {
  for (let index = start; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === quote) return index + 1
    if (code === backslash) index++
  }
  return text.length
}

/** May a value of JSON stand there? If not, the place is in a string, or the text is no JSON. */
export function isValue(text: string, start: number, end: number): boolean {
  let before = start - 1
  while (before >= 0 && isWhitespace(text.charCodeAt(before))) before--
  let after = end
  while (after < text.length && isWhitespace(text.charCodeAt(after))) after++
  return (
    (before < 0 || beforeValue.has(text.charCodeAt(before))) &&
    (after >= text.length || afterValue.has(text.charCodeAt(after)))
  )
}

function startOfDigits(text: string, index: number): number {
  let start = index
  while (start > 0 && isDigit(text.charCodeAt(start - 1))) start--
  return start
}

function isDigitAt(text: string, index: number): boolean {
  return isDigit(text.charCodeAt(index))
}

function isDigit(code: number): boolean {
  return code >= zero && code <= nine
}

function isNumberPart(code: number): boolean {
  return isDigit(code) || code === minus || code === dot || code === plus || (code | 0x20) === lowerE
}

function isWhitespace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}
