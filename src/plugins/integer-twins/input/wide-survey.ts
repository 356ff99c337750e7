import { rangeOf, unitedRange, type WideRange } from '../../../json/wide-range.js'
import type { SchemaPlace, SchemaReader } from '../../../json-schema/input-schema.js'
import { type IntegerJudge, typesOf } from '../../../json-schema/integer-verdict.js'
import { everyPart, type Said, saidOfItems, wholeOf } from './said-of-place.js'

/** Finds out where 64-bit integers are declared; what it has found out it knows. */
export class WideSurvey {
  readonly #reader: SchemaReader
  readonly #judge: IntegerJudge
  readonly #reaching = new Map<SchemaPlace, boolean>()

  constructor(reader: SchemaReader, judge: IntegerJudge) {
    this.#reader = reader
    this.#judge = judge
  }

  /** Is there one here, or in what is in here? */
  isWithin(said: Said): boolean {
    return everyPart(said).some((place) => this.reaches(place))
  }

  /** Does the schema declare one, or refer to a schema that does? */
  reaches(place: SchemaPlace): boolean {
    const known = this.#reaching.get(place)
    if (known !== undefined) return known
    const seen = new Set([place])
    // What is added to a set while it is walked is walked too.
    for (const one of seen) for (const inner of this.#reader.within(one)) seen.add(inner)
    const reaches = [...seen].some(mayBeWide)
    this.#reaching.set(place, reaches)
    return reaches
  }

  /** The range of the one that may be right here; `null` for none. */
  range({ firm, loose }: Said): WideRange | null {
    return loose
      .map((place) => this.#judge.judge([...firm, place]).range)
      .reduce(unitedRange, this.#judge.judge(firm).range)
  }

  /** May one, or an array of them, be right here? Then it has a twin. */
  isTwinned(said: Said, seen: Set<SchemaPlace> = new Set()): boolean {
    if (this.range(said) !== null) return true
    const fresh = everyPart(said).filter((place) => !seen.has(place))
    if (fresh.length === 0) return false
    for (const place of fresh) seen.add(place)
    const { first, others } = saidOfItems(this.#reader, wholeOf(this.#reader, { firm: fresh, loose: [] }))
    return [...first, others].some((items) => this.isTwinned(items, seen))
  }
}

function mayBeWide({ schema }: SchemaPlace): boolean {
  const types = typesOf(schema)
  return rangeOf(schema.format) !== null && (types === null || types.includes('integer'))
}
