import type { SchemaObject } from '../../json-schema/json-schema.js'
import { typesOfParts, valuesOf } from '../../json-schema/parts.js'
import { nounOf } from './plural-names.js'
import { memberOf, type ResponseBreach, type ResponseVocabulary } from './response-rules.js'

const mostShown = 5

// Words of a description that speak of the social or cultural gender, and those that say that it is the other one.
const social = /gender identity|identif(?:y|ies|ied) (?:as|with)|non-?binary|transgender|genderqueer|pronoun/i
const biological = /biolog|at birth|chromosom|anatom/i

/** Holds a member called `sex` or `gender` against the rule; others pass. */
export function sexBreaches(
  pointer: string,
  name: string,
  parts: readonly SchemaObject[],
  { sexes }: ResponseVocabulary,
): ResponseBreach[] {
  const noun = nounOf(name)
  if ((noun !== 'sex' && noun !== 'gender') || !mayBeWord(parts)) return []
  const values = [...new Set(valuesOf(parts).filter((value) => value !== null))].map(String)
  const known = new Set(sexes.map((value) => value.toLowerCase()))
  const others = values.filter((value) => !known.has(value.toLowerCase()))
  const place = memberOf(pointer, name)
  const breach = (problem: string, instead: string): ResponseBreach[] => [
    { rule: 'sex', problem: `${place} ${problem}`, instead },
  ]
  if (noun === 'gender') {
    const isSex = values.length > 1 && others.length === 0
    return isSex ? breach('has the biological sexes as its values', 'sex') : []
  }
  const biologicalEnum = `"enum": ${JSON.stringify(sexes)}`
  if (values.length === 0) return breach('has no enum of the biological sexes', biologicalEnum)
  if (others.length > 0) {
    const shown = others.slice(0, mostShown).join(', ')
    return breach(`has values that are no biological sex: ${shown}`, `gender, or ${biologicalEnum}`)
  }
  return speaksOfGender(parts) ? breach('is described as a social identity', 'gender') : []
}

// `same_sex: boolean` and an object are something else.
function mayBeWord(parts: readonly SchemaObject[]): boolean {
  const types = typesOfParts(parts)
  return types.size === 0 || types.has('string') || types.has('integer') || types.has('number')
}

function speaksOfGender(parts: readonly SchemaObject[]): boolean {
  const texts = parts.flatMap((part) => [part.title, part.description])
  const text = texts.filter((part) => typeof part === 'string').join(' ')
  return social.test(text) && !biological.test(text)
}
