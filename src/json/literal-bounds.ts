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
const longRun = 16

/** What {@link eachInexactNumber} calls; `false` ends the walk. */
export type NumberVisitor = (start: number, end: number) => boolean

/**
 * Whether a text has a run of 16 digits or more, inside a string or not. Looks at every 16th character only: a run that
 * long has one of them.
 */
export function hasLongRun(text: string): boolean {
  for (let index = longRun - 1; index < text.length; index += longRun) {
    if (!isDigitAt(text, index)) continue
    // Of 16 digits around one, there is one 8 places away.
    if (!isDigitAt(text, index - longRun / 2) && !isDigitAt(text, index + longRun / 2)) continue
    if (endOfDigits(text, index) - startOfDigits(text, index) >= longRun) return true
  }
  return false
}

/**
 * Calls `visit` with each number of a JSON text that may be an integer beyond 2^53, or become an integer by rounding.
 * Digits in strings are not numbers. Looks at each character once.
 */
export function eachInexactNumber(text: string, visit: NumberVisitor): void {
  for (let index = 0; index < text.length; ) {
    const code = text.charCodeAt(index)
    if (code === quote) {
      index = endOfString(text, index + 1)
    } else if (isDigit(code) || code === minus) {
      const end = endOfNumber(text, index)
      if (mayBeInexact(text, index, end) && !visit(index, end)) return
      index = end
    } else {
      index++
    }
  }
}

/** Whether a value of JSON may stand there; not where the text is no JSON. */
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

/** The index behind the string whose first character is at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end
    while (first > start && text.charCodeAt(first - 1) === backslash) first--
    if ((end - first) % 2 === 0) return end + 1
  }
  return text.length
}

// Most numbers are short; and most long ones are coordinates, which keep a fraction.
function mayBeInexact(text: string, start: number, end: number): boolean {
  let fraction = -1
  for (let index = start; index < end; index++) {
    const code = text.charCodeAt(index)
    if ((code | 0x20) === lowerE) return true
    if (code === dot) fraction = index
  }
  return end - start >= longRun && (fraction < 0 || !keepsFraction(text, start, fraction))
}

// A Number of up to 14 digits before the dot keeps a fraction that is not nearly 0 or 1.
function keepsFraction(text: string, start: number, fraction: number): boolean {
  if (fraction - start > 15) return false
  const nearly = text.slice(fraction + 1, fraction + 3)
  return nearly !== '00' && nearly !== '99'
}

function startOfDigits(text: string, index: number): number {
  let start = index
  while (start > 0 && isDigitAt(text, start - 1)) start--
  return start
}

function endOfDigits(text: string, index: number): number {
  let end = index
  while (end < text.length && isDigitAt(text, end)) end++
  return end
}

function endOfNumber(text: string, index: number): number {
  let end = index
  while (end < text.length && isNumberPart(text.charCodeAt(end))) end++
  return end
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
