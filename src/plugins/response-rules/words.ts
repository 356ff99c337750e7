import { utcDateTime } from '../../http/dates.js'
import { numberName } from '../../schema/shape.js'
import { isPlural, joinWords, type KeyStyle, plural, wordsOf } from '../../words/words.js'

export const responseRuleNames = ['object', 'envelope', 'keys', 'plural', 'sex', 'dates', 'delete'] as const

/** Name of a response rule. */
export type ResponseRule = (typeof responseRuleNames)[number]

/** The words of the API and its domain that the rules use. */
export interface ResponseVocabulary {
  readonly keyStyle: KeyStyle
  /** Names of integers that are Unix times; one that begins with `_` matches all names with that ending. */
  readonly unixTimes: readonly string[]
  /** Names that `plural` and `dates` accept as they are. */
  readonly words: ReadonlySet<string>
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

export function mayWrap(name: string): boolean {
  return contents.has(name.toLowerCase())
}

export function isOutcome(value: unknown): boolean {
  return typeof value !== 'string' || outcomes.has(value.toLowerCase())
}

/** @param isState whether its values are states of the resource, such as `paid`, not outcomes of the request */
export function isMetadata(name: string, isState: boolean): boolean {
  const key = wordsOf(name).join('_')
  return /^[_$]/.test(name) || (metadata.has(key) && !(key === 'status' && isState))
}

const prepositions: ReadonlySet<string> = new Set(
  'at by for from in of on per since to with without'.split(' '),
)

export function pluralName(name: string, words: ReadonlySet<string>): string | null {
  const base = numberName(name) ?? name
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
  const number = numberName(name)
  return number !== null && siblings.has(number)
}

const timeName = /(?:.(?:_at|_time)|(?:^|._)(?:date|datetime|timestamp))$/

export const defaultUnixTimes: readonly string[] = ['_unix', '_ts']

// By the last word of a name: a day, a time of day, or else a point in time.
const formatsOfWord: Readonly<Record<string, TimeFormats>> = {
  date: ['date', 'date-time'],
  time: ['date-time', 'time', 'duration'],
}

export type TimeFormats = readonly [usual: string, ...others: string[]]

// These are durations, such as `response_time`.
const durationName = new RegExp(
  '(^|_)(access|boot|build|cook|cooking|cpu|cycle|delay|down|elapsed|execution|flight|idle|latency|lead|load|play|' +
    'prep|preparation|processing|read|reading|recovery|response|retention|run|running|screen|service|setup|startup|' +
    'total|transit|travel|trip|turnaround|up|wait|waiting|walking|watch|working)_time$',
)

/** Returns the formats of the time that a name means; `null` if it means none, or Unix time. */
export function timeFormats(name: string, unixTimes: readonly string[]): TimeFormats | null {
  const words = wordsOf(name)
  const key = words.join('_')
  const isUnix = unixTimes.some((pattern) => matchesName(pattern, key))
  if (isUnix || !timeName.test(key) || durationName.test(key)) return null
  return formatsOfWord[words.at(-1) ?? ''] ?? ['date-time']
}

function matchesName(pattern: string, key: string): boolean {
  if (pattern.startsWith('_')) return key.length > pattern.length && key.endsWith(pattern)
  return key === wordsOf(pattern).join('_')
}

/** Whether a text is an RFC 3339 `date-time`, with a leap second (§5.7) and any number of fraction digits allowed. */
export function isDateTime(text: string): boolean {
  const plain = text.replace(/:60(?=[.Zz+-])/, ':59').replace(/(\.\d{9})\d+/, '$1')
  return utcDateTime(plain) !== null
}

export function isDay(text: string): boolean {
  return text.length === 10 && utcDateTime(`${text}T12:00:00Z`) !== null
}

export function isClockOrDuration(text: string): boolean {
  return (
    /^([01]\d|2[0-3]):[0-5]\d(:[0-6]\d(\.\d+)?)?([Zz]|[+-]\d{2}:\d{2})?$/.test(text) || duration.test(text)
  )
}

const duration = /^P(?!$)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)$/

export function hasLocalOffset(dateTime: string): boolean {
  return !/(?:[Zz]|[+-]00:00)$/.test(dateTime)
}
