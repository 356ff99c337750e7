import { isDecimal } from '../../../json/int64.js'
import { markedLiteral } from '../../../json/long-literals.js'
import { exactInteger, isWithin, type WideRange } from '../../../json/wide-range.js'
import { StandIns } from './stand-ins.js'
import { faultOf, outside } from './wide-faults.js'
import type { FoundInteger } from './wide-found.js'
import type { WideNode } from './wide-node.js'
import type { InputSource } from './wide-plan.js'

type Holder = Record<string | number, unknown>

const notDecimal = 'must be an integer in plain decimal digits'

/** Where the digits of long integers are that a parser has rounded. */
export interface ExactDigits {
  /** How many marked strings there are in the value, as `parseExact` tells. @default 0 */
  readonly marks?: number
  /** What Numbers in the value were before they were rounded, as `longIntegers` tells. @default none */
  readonly integers?: ReadonlyMap<number, bigint>
}

const none: ReadonlyMap<number, bigint> = new Map()

/** Reads the single values of an input that are declared as 64-bit integers. */
export class ScalarReader {
  /** How many marked strings are left. */
  marks: number
  readonly #isText: boolean
  readonly #refuse: (message: string) => void
  readonly #integers: ReadonlyMap<number, bigint>
  #standIns: StandIns | null = null

  constructor(
    source: InputSource,
    { marks = 0, integers = none }: ExactDigits,
    refuse: (message: string) => void,
  ) {
    this.#isText = source === 'text'
    this.marks = marks
    this.#integers = integers
    this.#refuse = refuse
  }

  /** From here on no two integers may seem equal; `false` if so already. */
  beginUnique(): boolean {
    if (this.#standIns !== null) return false
    this.#standIns = new StandIns()
    return true
  }

  endUnique(): void {
    this.#standIns = null
  }

  /** The digits that a Number of the input was written with; where they are not known, those that it prints as. */
  readonly written = (number: number): string => {
    if (Object.is(number, -0)) return '-0'
    return this.#integers.get(number)?.toString() ?? String(number)
  }

  read(
    node: WideNode,
    holder: Holder,
    key: string | number,
    given: number | string,
  ): FoundInteger | undefined {
    const { range } = node
    if (range === null) return undefined
    if (typeof given === 'number') return this.#number(node, range, holder, key, given)
    const literal = markedLiteral(given)
    if (literal === null) return this.#text(node, range, holder, key, given)
    this.marks--
    const exact = within(range, exactInteger(literal))
    if (exact !== null) return this.#exact(node, holder, key, exact)
    const number = Number(literal)
    holder[key] = number
    return this.#fault(node, number, faultOf(number, range))
  }

  #number(
    node: WideNode,
    range: WideRange,
    holder: Holder,
    key: string | number,
    number: number,
  ): FoundInteger | undefined {
    if (!isPlain(number, range)) {
      const exact = within(range, this.#integers.get(number) ?? null)
      if (exact === null) return this.#fault(node, number, faultOf(number, range))
      // The Number that is there stands for it already.
      if (this.#standIns === null) return { standIn: number, exact, fault: '' }
      return this.#exact(node, holder, key, exact)
    }
    return this.#standIns === null ? undefined : this.#exact(node, holder, key, BigInt(number))
  }

  #text(
    node: WideNode,
    range: WideRange,
    holder: Holder,
    key: string | number,
    text: string,
  ): FoundInteger | undefined {
    const isPlainText = isDecimal(text)
    const exact = isPlainText ? within(range, exactInteger(text)) : null
    if (this.#isText && !node.text) {
      if (exact !== null) return this.#exact(node, holder, key, exact)
      if (text === '' && node.null) return undefined
      if (node.certain) return void this.#refuse(isPlainText ? outside(range) : notDecimal)
    }
    // It stays, but the validator may make a Number of it.
    const standIn = Number(text)
    if (exact !== null) return { standIn, exact, fault: '' }
    if (!Number.isInteger(standIn) || (!this.#isText && isPlain(standIn, range))) return undefined
    return {
      standIn,
      exact: null,
      fault: isPlainText || !this.#isText ? faultOf(standIn, range) : notDecimal,
    }
  }

  #exact(node: WideNode, holder: Holder, key: string | number, exact: bigint): FoundInteger {
    // In an alternative that declares something else the stand-in stays, so there it has to be the Number itself.
    const standIn = this.#standIns !== null && node.certain ? this.#standIns.of(exact) : Number(exact)
    holder[key] = standIn
    return { standIn, exact, fault: '' }
  }

  #fault(node: WideNode, number: number, fault: string): FoundInteger | undefined {
    if (node.certain) return void this.#refuse(fault)
    return Number.isInteger(number) ? { standIn: number, exact: null, fault } : undefined
  }
}

// A safe integer, of which no digit can be lost.
function isPlain(number: number, range: WideRange): boolean {
  return Number.isSafeInteger(number) && !Object.is(number, -0) && (number >= 0 || range.min < 0n)
}

function within(range: WideRange, exact: bigint | null): bigint | null {
  return exact !== null && isWithin(range, exact) ? exact : null
}
