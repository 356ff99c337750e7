import { exactInteger, type Int64Range, isDecimal, isWithin } from '../../json/int64.js'
import { longRun } from '../../json/json-text.js'

/** The integer that a value of an input is, or why it is none. */
export type Exact = { readonly integer: bigint } | { readonly fault: string }

/** The integers of a format, and those of them that the bounds of the schema leave, which a refusal names. */
export interface InputRange extends Int64Range {
  readonly bounds: Int64Range
}

const notDecimal = 'must be an integer in plain decimal digits'

export function integerOfText(text: string, range: InputRange): Exact {
  if (!isDecimal(text)) return { fault: notDecimal }
  return within(range, exactInteger(text)) ?? { fault: outside(range) }
}

/** The integer that a Number of a body was before a parser rounded it. */
export function integerOfNumber(
  number: number,
  text: string | null,
  range: InputRange,
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

function faultOf(number: number, range: InputRange): string {
  if (Object.is(number, -0)) return 'must be 0, not -0'
  const isUnsafe = Number.isInteger(number) && !Number.isSafeInteger(number)
  const isRounded = isUnsafe && number > Number(range.min) && number < Number(range.max)
  return isRounded ? 'must be written in plain digits, as it is beyond 2^53' : outside(range)
}

function outside({ bounds }: InputRange): string {
  return `must be an integer from ${bounds.min} to ${bounds.max}`
}

export class DistinctNumbers {
  readonly #numbers = new Map<string, number>()
  // Where to go on looking, so that a long row of neighbours does not take quadratic time.
  readonly #next = new Map<number, number>()

  /** The Number for an integer, given by its digits: the same for the same, another for another. */
  add(digits: string): number {
    const number = this.#numbers.get(digits) ?? this.#free(Number(digits))
    this.#numbers.set(digits, number)
    return number
  }

  get(digits: string): number | undefined {
    return this.#numbers.get(digits)
  }

  #free(from: number): number {
    const passed: number[] = []
    let number = from
    for (let next = this.#next.get(number); next !== undefined; next = this.#next.get(number)) {
      passed.push(number)
      number = next
    }
    const after = towardsZero(number)
    for (const one of [...passed, number]) this.#next.set(one, after)
    return number
  }
}

const double = new Float64Array(1)
const bits = new BigUint64Array(double.buffer)

function towardsZero(number: number): number {
  if (Math.abs(number) <= 2 ** 53) return number - Math.sign(number)
  double[0] = number
  bits[0] = (bits[0] ?? 0n) - 1n
  return double[0] ?? number
}
