import { pointerToken } from '../../json/json-pointer.js'
import { type KeyStyle, restyledKey } from '../../words/key-names.js'
import { type EnvelopePart, wrappingMember } from './envelopes.js'
import { isTwin, pluralName } from './plural-names.js'
import type { TimeVocabulary } from './times.js'

/** The rules for the responses of a route. */
export const responseRuleNames = ['object', 'envelope', 'keys', 'plural', 'sex', 'dates'] as const

/** Name of a response rule. */
export type ResponseRule = (typeof responseRuleNames)[number]

/** How a response breaks a rule, and what to write instead. Never has values of a body. */
export interface ResponseBreach<Rule extends string = ResponseRule> {
  readonly rule: Rule
  readonly problem: string
  readonly instead: string
  /** The key that is in another style, of rule `keys`. */
  readonly key?: string
}

/** The words of the API and its domain that the rules use. */
export interface ResponseVocabulary extends TimeVocabulary {
  readonly keyStyle: KeyStyle
  /** Names that `plural` and `dates` accept as they are. */
  readonly words: ReadonlySet<string>
  /** The values of `sex`, in any case. */
  readonly sexes: readonly string[]
}

/** The member of a pointer; `*` stands for any item of an array and any key of a map. */
export function memberOf(pointer: string, name: string): string {
  return `${pointer}/${pointerToken(name)}`
}

/** Returns the breach of a body that is not an object. */
export function bareBreach(type: string): ResponseBreach {
  const instead = type === 'array' ? '{ "<collection>": [...] }' : '{ "<name>": … }'
  return { rule: 'object', problem: `the body is ${article(type)}, not an object`, instead }
}

/** Returns the breach of an object at the top level that wraps the representation. */
export function envelopeBreach(parts: readonly (EnvelopePart & { isList: boolean })[]): ResponseBreach[] {
  const name = wrappingMember(parts)
  if (name === null) return []
  const isList = parts.some((part) => part.name === name && part.isList)
  return [
    {
      rule: 'envelope',
      problem: `${memberOf('', name)} wraps the ${isList ? 'list' : 'resource'}`,
      instead: isList
        ? '{ "<collection>": [...] }, the rest in status and headers'
        : `the members of ${name} at the top level, the rest in status and headers`,
    },
  ]
}

/** Returns the breach of a key in another style. */
export function keyBreach(
  pointer: string,
  name: string,
  siblings: { has(name: string): boolean },
  { keyStyle }: ResponseVocabulary,
): ResponseBreach[] {
  const restyled = isTwin(name, siblings) ? null : restyledKey(name, keyStyle)
  if (restyled === null) return []
  const problem = `${memberOf(pointer, name)} is not in ${keyStyle}`
  return [{ rule: 'keys', problem, instead: restyled, key: name }]
}

/** Returns the breach of a list under a singular name. */
export function pluralBreach(
  pointer: string,
  name: string,
  siblings: { has(name: string): boolean },
  { words }: ResponseVocabulary,
): ResponseBreach[] {
  const plural = isTwin(name, siblings) ? null : pluralName(name, words)
  if (plural === null) return []
  return [
    {
      rule: 'plural',
      problem: `${memberOf(pointer, name)} is a list under a singular name`,
      instead: plural,
    },
  ]
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}
