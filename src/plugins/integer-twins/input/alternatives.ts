import type { Alternative, SchemaPlace, SchemaReader } from '../../../json-schema/input-schema.js'
import { type IntegerJudge, typesOf } from '../../../json-schema/integer-verdict.js'
import { type Match, type MatcherCompiler, matcherCompiler } from '../../../json-schema/schema-match.js'
import type { Located, SchemaStore } from '../../../json-schema/schema-refs.js'
import { type Found, foundInteger } from './wide-found.js'
import type { Choose, WideNode } from './wide-node.js'

interface Option {
  readonly place: SchemaPlace | null
  /** Is the value of a type that it allows? */
  readonly mayBe: Match
  readonly matches: Match
  /** Does it match, and is it of its formats too? */
  readonly isOfFormat: Match
  /** Are 64-bit integers the only numbers it allows? */
  readonly wideOnly: boolean
}

// A schema that is an alternative of itself has no end of alternatives.
const deepest = 16

/** Tells which alternatives of a schema (`anyOf`, `oneOf`, `if`) a validated value is of. */
export class AlternativeChooser {
  readonly #reader: SchemaReader
  readonly #judge: IntegerJudge
  readonly #matcher: MatcherCompiler
  readonly #nodeOf: (places: readonly SchemaPlace[]) => WideNode | null

  constructor(
    reader: SchemaReader,
    judge: IntegerJudge,
    shared: SchemaStore,
    nodeOf: (places: readonly SchemaPlace[]) => WideNode | null,
  ) {
    this.#reader = reader
    this.#judge = judge
    this.#matcher = matcherCompiler(shared)
    this.#nodeOf = nodeOf
  }

  /** Chooses among groups of alternatives; the parts hold whatever is chosen. */
  among(parts: readonly SchemaPlace[], groups: readonly (readonly Alternative[])[]): Choose {
    const firm = parts.map((part) => this.#reader.alone(part))
    const choices = groups.map((group) => group.map((alternative) => this.#option(alternative)))
    const nodeOf = (places: readonly SchemaPlace[]): WideNode | null => this.#nodeOf([...firm, ...places])
    const known = new Map<string, WideNode | null>()
    return function choose(value, found, nesting = 0) {
      const picked = choices.flatMap((options) => pick(options, value, found))
      const key = picked.map((place) => place.id).join()
      const node = known.get(key) ?? nodeOf(picked)
      known.set(key, node)
      if (node === null || node.choose === null || nesting >= deepest) return node
      return node.choose(value, found, nesting + 1)
    }
  }

  #option({ place, test, expected }: Alternative): Option {
    const matches = this.#match(test)
    const verdict = place === null ? null : this.#judge.judge([place])
    return {
      place,
      mayBe: place !== null && test.schema === place.schema ? this.#typeMatch(place) : always,
      matches: expected ? matches : (value) => !matches(value),
      isOfFormat: expected ? this.#match(test, true) : always,
      wideOnly: verdict !== null && verdict.range !== null && !verdict.number,
    }
  }

  // The value has passed the consumer's validator. Where this one cannot read the schema, any alternative may be meant.
  #match({ schema, root }: Located, formats = false): Match {
    if (typeof schema === 'boolean') return () => schema
    let match: Match | undefined
    return (value) => {
      try {
        match ??= this.#matcher(schema, root, formats)
        return match(value)
      } catch {
        match = always
        return true
      }
    }
  }

  #typeMatch(place: SchemaPlace): Match {
    const schemas = this.#reader.flatten([place]).parts.map((part) => part.schema)
    return (value) =>
      schemas.every((schema) => {
        const types = typesOf(schema)
        return types === null || (value === null && schema.nullable === true) || isOfType(value, types)
      })
  }
}

function pick(options: readonly Option[], value: unknown, found: Found | undefined): SchemaPlace[] {
  const possible = options.filter((option) => option.mayBe(value))
  return best(possible, value, found)
    .map((option) => option.place)
    .filter((place) => place !== null)
}

function best(possible: readonly Option[], value: unknown, found: Found | undefined): readonly Option[] {
  if (possible.length < 2) return possible
  const ofShape = possible.filter((option) => option.matches(value))
  const ofFormat = ofShape.length < 2 ? ofShape : ofShape.filter((option) => option.isOfFormat(value))
  const matching = ofFormat.length > 0 ? ofFormat : ofShape
  const isFaulty = typeof value === 'number' && foundInteger(found)?.exact === null
  const sound = isFaulty ? matching.filter((option) => !option.wideOnly) : matching
  return [sound, matching, possible].find((some) => some.length > 0) ?? possible
}

function always(): true {
  return true
}

function isOfType(value: unknown, types: readonly unknown[]): boolean {
  if (value === null) return types.includes('null')
  if (Array.isArray(value)) return types.includes('array')
  if (typeof value === 'number') return types.includes('number') || types.includes('integer')
  return types.includes(typeof value)
}
