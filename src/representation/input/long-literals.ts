import {
  endOfDigits,
  endOfNumber,
  endOfString,
  findLongRun,
  isDotAt,
  isMinusAt,
  isValue,
  longRun,
  startOfNumber,
} from './literal-bounds.js'

/** JSON in which long integers are marked strings. */
export interface MarkedJson {
  readonly json: string
  /** How many there are. */
  readonly marks: number
}

// Nobody outside can write such a string, as nobody can guess it: no string of a client passes for a number.
// It starts with a letter, so that JSON ends where it is put into a string.
const mark = `n${globalThis.crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`
const opening = `"${mark}`

// 2^64 has as many.
const mostDigits = 20
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * Puts a marked string in place of each number that may lose digits and may be an integer of 64 bits: long integers of
 * up to 20 digits, and fractions of so many digits that a Number makes a safe integer of them.
 *
 * Looks at every 16th character only, and takes strings for what they are only if told so (`minding`). Without that,
 * a mark in a string makes the JSON malformed; malformed JSON stays malformed either way.
 */
export function markLongLiterals(text: string, minding: 'strings' | 'nothing'): MarkedJson {
  const marker = new Marker(text)
  if (minding === 'nothing') marker.mark(0, text.length)
  else markBetweenStrings(text, marker)
  return marker.result()
}

/**
 * The long integers of a JSON text, up to 20 digits each, by the Numbers that a parser makes of them: so the digits of a
 * parsed value are found without parsing it again. `null` where they cannot be told by their Numbers, as two of them
 * are rounded to the same, or numbers of another form may be.
 *
 * Only integers that are not safe are in it. Digits in strings may be too: they are nobody's Number.
 */
export function longIntegers(text: string): ReadonlyMap<number, bigint> | null {
  let start = findLongRun(text, 0, text.length)
  if (start < 0) return noIntegers
  if (maybeExponent.test(text) && exponent.test(text)) return null
  const integers = new Map<number, bigint>()
  while (start >= 0) {
    const end = endOfDigits(text, start + longRun)
    if (isDotAt(text, start - 1) || isDotAt(text, end)) {
      const fraction = text.slice(startOfNumber(text, start), endOfNumber(text, end))
      if (Number.isInteger(Number(fraction))) return null
    } else if (end - start <= mostDigits) {
      const exact = BigInt(text.slice(isMinusAt(text, start - 1) ? start - 1 : start, end))
      const number = Number(exact)
      const known = integers.get(number)
      if (known !== undefined && known !== exact) return null
      if (known === undefined && !Number.isSafeInteger(number)) integers.set(number, exact)
    }
    start = findLongRun(text, end, text.length)
  }
  return integers
}

const noIntegers: ReadonlyMap<number, bigint> = new Map()
const maybeExponent = /\d[eE]/
// Behind what a value stands behind: identifiers in strings are full of the other.
const exponent = /[:,[\s]-?\d[\d.]*[eE]/

/** A number literal as the string that {@link markLongLiterals} puts in its place. */
export function marked(literal: string): string {
  return mark + literal
}

/** The number literal that a marked string stands for; `null` for all other values. */
export function markedLiteral(value: unknown): string | null {
  return typeof value === 'string' && value.length > mark.length && value.startsWith(mark)
    ? value.slice(mark.length)
    : null
}

class Marker {
  readonly #text: string
  #json = ''
  #marks = 0
  #taken = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Marks what is between two places, where no number may begin before or end behind them. */
  mark(from: number, to: number): void {
    const text = this.#text
    for (let start = findLongRun(text, from, to); start >= 0; ) {
      start = findLongRun(text, this.#markNumber(start), to)
    }
  }

  result(): MarkedJson {
    return { json: this.#json + this.#text.slice(this.#taken), marks: this.#marks }
  }

  /** Marks the number with a long run of digits in it; gives the place behind it. */
  #markNumber(runStart: number): number {
    const text = this.#text
    const runEnd = endOfDigits(text, runStart + longRun)
    const start = startOfNumber(text, runStart)
    const end = endOfNumber(text, runEnd)
    const isInteger =
      end === runEnd && start >= runStart - 1 && (start === runStart || isMinusAt(text, start))
    if (!isInteger && end === runEnd && isPlainFraction(text, start, runStart)) return end
    const mayLose = isInteger ? mayLoseDigits(text, runStart, end) : isRoundedFraction(text.slice(start, end))
    if (!mayLose || !isValue(text, start, end)) return end
    this.#json += `${text.slice(this.#taken, start)}${opening}${text.slice(start, end)}"`
    this.#taken = end
    this.#marks++
    return end
  }
}

function markBetweenStrings(text: string, marker: Marker): void {
  for (let from = 0; from < text.length; ) {
    const start = text.indexOf('"', from)
    marker.mark(from, start < 0 ? text.length : start)
    from = start < 0 ? text.length : endOfString(text, start + 1)
  }
}

// All integers of 16 digits below 9e15 are safe; some beyond are too, and lose nothing by a mark.
function mayLoseDigits(text: string, start: number, end: number): boolean {
  const digits = end - start
  const first = text[start]
  return digits === longRun ? first === '9' : digits <= mostDigits && first !== '0'
}

// A Number of up to 14 digits before the dot keeps a fraction that is not nearly 0 or 1. Most are told by that.
function isPlainFraction(text: string, start: number, fraction: number): boolean {
  if (text[fraction - 1] !== '.' || fraction - start > 15) return false
  const nearly = text.slice(fraction, fraction + 2)
  return nearly !== '00' && nearly !== '99'
}

function isRoundedFraction(literal: string): boolean {
  return number.test(literal) && Number.isSafeInteger(Number(literal))
}
