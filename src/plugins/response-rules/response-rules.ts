import { pointerToken } from '../../json/json-pointer.js'
import { twinName } from '../../schema/twins.js'
import { joinWords, type KeyStyle, restyledKey, wordsOf } from '../../words/key-names.js'
import { isPlural, plural } from '../../words/plurals.js'
import type { TimeVocabulary } from './times.js'

export const responseRuleNames = ['object', 'envelope', 'keys', 'plural', 'sex', 'dates'] as const

/** Name of a response rule. */
export type ResponseRule = (typeof responseRuleNames)[number]

/** How a response breaks a rule, and what to write instead. */
export interface ResponseBreach<Rule extends string = ResponseRule> {
  readonly rule: Rule
  readonly problem: string
  readonly instead: string
}

/** The words of the API and its domain that the rules use. */
export interface ResponseVocabulary extends TimeVocabulary {
  readonly keyStyle: KeyStyle
  /** Names that `plural` and `dates` accept as they are. */
  readonly words: ReadonlySet<string>
}

export function memberOf(pointer: string, name: string): string {
  return `${pointer}/${pointerToken(name)}`
}

/** Returns the breach of a body that is not an object. */
export function bareBreach(type: string): ResponseBreach {
  const instead = type === 'array' ? '{ "<collection>": [...] }' : '{ "<name>": … }'
  return { rule: 'object', problem: `the body is ${article(type)}, not an object`, instead }
}

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

export function keyBreach(
  pointer: string,
  name: string,
  siblings: { has(name: string): boolean },
  { keyStyle }: ResponseVocabulary,
): ResponseBreach[] {
  const restyled = isTwin(name, siblings) ? null : restyledKey(name, keyStyle)
  if (restyled === null) return []
  const problem = `${memberOf(pointer, name)} is not in ${keyStyle}`
  return [{ rule: 'keys', problem, instead: restyled }]
}

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

/** A top-level member that may be part of an envelope. */
export interface EnvelopePart {
  readonly name: string
  /** Whether its value may be a representation: an object or an array. */
  readonly canWrap: boolean
  /** Whether its value is a state of the resource, such as `paid`, rather than an outcome of the request. */
  readonly isState: boolean
}

const contents: ReadonlySet<string> = new Set(['data', 'payload', 'response', 'result'])

// These belong into the status, the header fields and the links of the response.
const metadata: ReadonlySet<string> = new Set(
  (
    'api_version code count cursor error errors has_more has_next headers http_status included is_error is_success ' +
    'jsonapi limit link links message messages meta metadata msg next next_cursor next_page offset ok page page_count ' +
    'page_info page_size paging pagination per_page prev previous request_id response_code status status_code ' +
    'success successful timestamp total total_count total_pages trace_id warnings'
  ).split(' '),
)

// The states of JSend and similar ones, which repeat the status of the response.
const outcomes: ReadonlySet<string> = new Set(['error', 'fail', 'failure', 'ok', 'success'])

/** Returns the member that wraps the representation; `null` if the object is not an envelope. */
export function wrappingMember(parts: readonly EnvelopePart[]): string | null {
  const wrapped = parts.filter((part) => mayWrap(part.name) && part.canWrap)
  const [first] = wrapped
  if (first === undefined) return null
  const others = parts.filter((part) => !wrapped.includes(part))
  return others.every((part) => isMetadata(part)) ? first.name : null
}

export function mayWrap(name: string): boolean {
  return contents.has(name.toLowerCase())
}

export function isOutcome(value: unknown): boolean {
  return typeof value !== 'string' || outcomes.has(value.toLowerCase())
}

function isMetadata({ name, isState }: EnvelopePart): boolean {
  const key = wordsOf(name).join('_')
  return /^[_$]/.test(name) || (metadata.has(key) && !(key === 'status' && isState))
}

const prepositions: ReadonlySet<string> = new Set([
  'at',
  'by',
  'for',
  'from',
  'in',
  'of',
  'on',
  'per',
  'since',
  'to',
  'with',
  'without',
])

/** Returns the plural name of a list; `null` if its name is plural. */
export function pluralName(name: string, words: ReadonlySet<string>): string | null {
  const base = withoutTwinSuffix(name)
  const parts = wordsOf(base)
  const at = nounIndex(parts)
  const noun = parts[at]?.replace(/\p{N}+$/u, '') ?? ''
  if (noun === '' || words.has(name) || words.has(base) || words.has(noun) || isPlural(noun)) return null
  const inPlural = parts.map((part, index) => (index === at ? plural(noun) : part))
  return joinWords(inPlural, base.includes('_') || parts.length === 1 ? 'snake_case' : 'camelCase')
}

export function nounOf(name: string): string {
  const parts = wordsOf(name)
  return parts[nounIndex(parts)] ?? ''
}

function nounIndex(parts: readonly string[]): number {
  const preposition = parts.findIndex((part, index) => index > 0 && prepositions.has(part))
  const last = (preposition === -1 ? parts.length : preposition) - 1
  return last > 0 && /[^e]ed$/.test(parts[last] ?? '') ? last - 1 : last
}

export function isTwin(name: string, siblings: { has(name: string): boolean }): boolean {
  const base = withoutTwinSuffix(name)
  return base !== name && siblings.has(base)
}

function withoutTwinSuffix(name: string): string {
  const suffix = twinName('')
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : name
}
