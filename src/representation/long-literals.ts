/** JSON in which long integers are marked strings. */
export interface MarkedJson {
  readonly json: string
  /** How many there are. */
  readonly marks: number
}

// Nobody outside can write such a string, as nobody can guess it; so a string in a body never passes for a number.
const mark = globalThis.crypto.randomUUID()
const opening = `"${mark}`

const fewestDigits = 16
// 2^64 has 20 digits.
const mostDigits = 20
const largestSafe = `${Number.MAX_SAFE_INTEGER}`
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const longRun = /\d{16}/

/**
 * Puts a marked string in place of each number that would lose digits and may be an integer of 64 bits: integers of
 * 16 to 20 digits beyond 2^53, and fractions of so many digits that a Number makes an integer of them. Other numbers,
 * and whatever is not JSON, stay as they are: the result is JSON if and only if the text is.
 */
export function markLongLiterals(text: string): MarkedJson {
  let json = ''
  let marks = 0
  let taken = 0
  let index = 0
  while (index < text.length) {
    const code = text.charCodeAt(index)
    if (code === quote) {
      index = endOfString(text, index + 1)
    } else if (isDigit(code) || code === minus) {
      const end = endOfNumber(text, index + 1)
      if (end - index >= fewestDigits && losesDigits(text, index, end) && !isKey(text, end)) {
        json += `${text.slice(taken, index)}${opening}${text.slice(index, end)}"`
        taken = end
        marks++
      }
      index = end
    } else {
      index++
    }
  }
  return { json: json + text.slice(taken), marks }
}

/** A number literal as the string that {@link markLongLiterals} would put in its place. */
export function marked(literal: string): string {
  return mark + literal
}

/** The number literal that a marked string stands for; `null` for all other values. */
export function markedLiteral(value: unknown): string | null {
  return typeof value === 'string' && value.length > mark.length && value.startsWith(mark)
    ? value.slice(mark.length)
    : null
}

function endOfString(text: string, start: number): number {
  for (let index = start; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === quote) return index + 1
    if (code === backslash) index++
  }
  return text.length
}

function endOfNumber(text: string, start: number): number {
  let index = start
  while (isNumberPart(text.charCodeAt(index))) index++
  return index
}

function losesDigits(text: string, start: number, end: number): boolean {
  const first = text.charCodeAt(start) === minus ? start + 1 : start
  if (end - first < fewestDigits) return false
  let index = first
  while (index < end && isDigit(text.charCodeAt(index))) index++
  if (index < end) return isRoundedFraction(text.slice(start, end))
  const digits = end - first
  if (digits > mostDigits || text.charCodeAt(first) === zero) return false
  return digits > fewestDigits || text.slice(first, end) > largestSafe
}

function isRoundedFraction(literal: string): boolean {
  return longRun.test(literal) && number.test(literal) && Number.isSafeInteger(Number(literal))
}

// A number is no key, but a string in its place would be one.
function isKey(text: string, end: number): boolean {
  let index = end
  while (isWhitespace(text.charCodeAt(index))) index++
  return text.charCodeAt(index) === colon
}

const quote = 0x22
const plus = 0x2b
const minus = 0x2d
const dot = 0x2e
const zero = 0x30
const colon = 0x3a
const upperE = 0x45
const backslash = 0x5c
const lowerE = 0x65

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function isNumberPart(code: number): boolean {
  return (
    isDigit(code) || code === dot || code === lowerE || code === upperE || code === plus || code === minus
  )
}

function isWhitespace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}
