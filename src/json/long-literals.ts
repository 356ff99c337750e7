import { eachInexactNumber, hasLongRun, isValue } from './literal-bounds.js'
import { exactInteger } from './wide-range.js'

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

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const integer = /^-?[1-9]\d*$/

/**
 * Puts a marked string in place of each number that may lose digits and may be an integer of 64 bits: long integers of
 * up to 20 digits, and fractions of so many digits that a Number makes a safe integer of them.
 *
 * Strings are left alone. Malformed JSON stays malformed. Takes time in proportion to the text.
 */
export function markLongLiterals(text: string): MarkedJson {
  if (!hasLongRun(text)) return { json: text, marks: 0 }
  let json = ''
  let marks = 0
  let taken = 0
  eachInexactNumber(text, (start, end) => {
    const literal = text.slice(start, end)
    if (!losesDigits(literal) || !isValue(text, start, end)) return true
    json += `${text.slice(taken, start)}${opening}${literal}"`
    taken = end
    marks++
    return true
  })
  return { json: json + text.slice(taken), marks }
}

/**
 * The long integers of a JSON text, up to 20 digits each, by the Numbers that a parser makes of them: so the digits of a
 * parsed value are found without parsing it again. `null` where they cannot be told by their Numbers, as two of them
 * are rounded to the same, or numbers of another form may be. Takes time in proportion to the text.
 *
 * Only integers that are not safe are in it.
 */
export function longIntegers(text: string): ReadonlyMap<number, bigint> | null {
  if (!hasLongRun(text)) return noIntegers
  const integers = new Map<number, bigint>()
  let areTold = true
  eachInexactNumber(text, (start, end) => {
    areTold = tellInteger(text.slice(start, end), integers)
    return areTold
  })
  return areTold ? integers : null
}

const noIntegers: ReadonlyMap<number, bigint> = new Map()

/** Adds an integer to those that are told by their Numbers; `false` if this one cannot be. */
function tellInteger(literal: string, integers: Map<number, bigint>): boolean {
  const rounded = Number(literal)
  if (!Number.isInteger(rounded)) return true
  const exact = exactInteger(literal)
  if (Number.isSafeInteger(rounded)) return exact !== null && Number(exact) === rounded
  // Integers in plain digits that are longer than 20 are out of any range, whatever their digits.
  if (!integer.test(literal)) return false
  if (exact === null) return true
  const known = integers.get(rounded)
  integers.set(rounded, exact)
  return known === undefined || known === exact
}

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

function losesDigits(literal: string): boolean {
  const isSafe = Number.isSafeInteger(Number(literal))
  return integer.test(literal) ? !isSafe && exactInteger(literal) !== null : isSafe && number.test(literal)
}
