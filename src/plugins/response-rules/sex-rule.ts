import type { SchemaObject } from '../../json-schema/json-schema.js'
import { typesOfParts, valuesOf } from '../../json-schema/parts.js'
import { memberOf, nounOf, type ResponseBreach, type ResponseVocabulary } from './response-rules.js'

const maxShown = 5

// Words in descriptions of the social gender, and of the biological sex.
const social = /gender identity|identif(?:y|ies|ied) (?:as|with)|non-?binary|transgender|genderqueer|pronoun/i
const biological = /biolog|at birth|chromosom|anatom/i

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
    const shown = others.slice(0, maxShown).join(', ')
    return breach(`has values that are not a biological sex: ${shown}`, `gender, or ${biologicalEnum}`)
  }
  return speaksOfGender(parts) ? breach('is described as a social identity', 'gender') : []
}

// A boolean such as `same_sex` and an object are not checked.
function mayBeWord(parts: readonly SchemaObject[]): boolean {
  const types = typesOfParts(parts)
  return types.size === 0 || types.has('string') || types.has('integer') || types.has('number')
}

function speaksOfGender(parts: readonly SchemaObject[]): boolean {
  const texts = parts.flatMap((part) => [part.title, part.description])
  const text = texts.filter((part) => typeof part === 'string').join(' ')
  return social.test(text) && !biological.test(text)
}
