import type { WideRange } from '../../../json/wide-range.js'
import type { Found } from './wide-found.js'

/** What is declared at one place of an input, in whatever alternative. */
export interface WideNode {
  /** The range of the 64-bit integer that may be here; `null` for none. */
  readonly range: WideRange | null
  /** Is it certain before validation that a number here has to be such an integer? */
  readonly certain: boolean
  /** May a text stay one? */
  readonly text: boolean
  /** May there be null? */
  readonly null: boolean
  /** Do the items of an array have to differ from each other? */
  readonly unique: boolean
  /** Is it a 64-bit integer, or an array of them? Then it has a twin. */
  readonly twinned: boolean
  readonly members: readonly WideMember[]
  /** Names that are declared, with or without a 64-bit integer behind them. */
  readonly names: ReadonlySet<string>
  /** Gives what is declared for a member of another name; `null` if nothing is for any. */
  readonly nodeOf: ((name: string) => WideNode | null) | null
  /** Gives what is declared for an item; `null` if nothing is for any. */
  readonly itemAt: ((index: number) => WideNode | null) | null
  /** `null` where there are no alternatives. */
  readonly choose: Choose | null
}

/** Gives what is declared for a validated value by the alternatives that it is of. */
export type Choose = (value: unknown, found: Found | undefined, nesting?: number) => WideNode | null

/** A declared member of an object with a 64-bit integer in it. */
export interface WideMember {
  readonly name: string
  readonly node: WideNode
  /** `null` where it has none. */
  readonly twin: WideTwin | null
}

/** The string twin of a member. */
export interface WideTwin {
  readonly name: string
  /** Is it one for certain, or only if it looks like one? */
  readonly certain: boolean
  /** Does the schema demand it? Then it stays. */
  readonly demanded: boolean
}
