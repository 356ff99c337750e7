import { rangeOf, unitedRange, type WideRange } from '../json/wide-range.js'
import type { SchemaObject, SchemaPlace, SchemaReader } from './input-schema.js'
import type { Json } from './schema-refs.js'

/** What a schema says of integers. */
export interface IntegerVerdict {
  /** The range of a declared 64-bit integer; `null` where none is declared. */
  readonly range: WideRange | null
  /** Are there other numbers that it allows? */
  readonly number: boolean
  /** Does it allow strings? */
  readonly text: boolean
  readonly null: boolean
}

interface Draft {
  readonly format: WideRange | null
  /** Is `integer` named as a type? */
  readonly named: boolean
  /** Are integers allowed that no format bounds? */
  readonly plain: boolean
  readonly fraction: boolean
  readonly text: boolean
  readonly null: boolean
}

/** Judges schemas by all that they refer to; what it has judged it knows. */
export class IntegerJudge {
  readonly #reader: SchemaReader
  readonly #known = new Map<SchemaPlace, Draft>()

  constructor(reader: SchemaReader) {
    this.#reader = reader
  }

  /** What all the schemas together say. */
  judge(places: readonly SchemaPlace[]): IntegerVerdict {
    const {
      format,
      named,
      plain,
      fraction,
      text,
      null: empty,
    } = places.map((place) => this.#of(place)).reduce(both, anything)
    return { range: named ? format : null, number: plain || fraction, text, null: empty }
  }

  #of(place: SchemaPlace): Draft {
    const known = this.#known.get(place)
    if (known !== undefined) return known
    // Known before it is judged: a schema that refers to itself adds nothing to what it says.
    this.#known.set(place, anything)
    const judged = place.alone ? own(place.schema) : this.#whole(place)
    this.#known.set(place, judged)
    return judged
  }

  #whole(place: SchemaPlace): Draft {
    const parts = this.#reader.conjuncts(place).map((part) => this.#of(part))
    const groups = this.#reader
      .groups(place)
      .map((group) =>
        group.map((option) => (option.place === null ? anything : this.#of(option.place))).reduce(either),
      )
    return [...parts, ...groups].reduce(both, own(place.schema))
  }
}

const anything: Draft = { format: null, named: false, plain: true, fraction: true, text: true, null: true }

function own(schema: SchemaObject): Draft {
  const types = typesOf(schema)
  const format = types === null || types.includes('integer') ? rangeOf(schema.format) : null
  const allows = (type: string): boolean => types === null || types.includes(type)
  return {
    format,
    named: types?.includes('integer') ?? false,
    plain: format === null && (allows('integer') || allows('number')),
    fraction: allows('number') && (types !== null || format === null),
    text: allows('string'),
    null: allows('null') || schema.nullable === true,
  }
}

function both(one: Draft, other: Draft): Draft {
  return {
    format: unitedRange(one.format, other.format),
    named: one.named || other.named,
    plain: one.plain && other.plain,
    fraction: one.fraction && other.fraction,
    text: one.text && other.text,
    null: one.null && other.null,
  }
}

function either(one: Draft, other: Draft): Draft {
  return {
    format: unitedRange(one.format, other.format),
    named: one.named || other.named,
    plain: one.plain || other.plain,
    fraction: one.fraction || other.fraction,
    text: one.text || other.text,
    null: one.null || other.null,
  }
}

/** The types that a schema names; `null` where it names none. */
export function typesOf({ type }: SchemaObject): readonly Json[] | null {
  if (type === undefined) return null
  return Array.isArray(type) ? type : [type as Json]
}
