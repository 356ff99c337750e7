import { utcDateTime } from '../../http/date-time.js'
import { wordsOf } from '../../words/key-names.js'

/** The names of members that are times. */
export interface TimeVocabulary {
  /** Names of integers that are Unix times; one that begins with `_` matches all names with that ending. */
  readonly unixTimes: readonly string[]
}

/** The kind of time that a name means: a point in time, a day, a time of day, or Unix time. */
export type NamedTime = 'instant' | 'day' | 'clock' | 'unix'

const timeName = /(?:.(?:_at|_time)|(?:^|._)(?:date|datetime|timestamp))$/

export const defaultUnixTimes: readonly string[] = ['_unix', '_ts']

export const formatsOf: Readonly<Record<Exclude<NamedTime, 'unix'>, readonly [string, ...string[]]>> = {
  instant: ['date-time'],
  day: ['date', 'date-time'],
  clock: ['date-time', 'time', 'duration'],
}

// These are durations, such as `response_time`.
const durationName = new RegExp(
  '(^|_)(access|boot|build|cook|cooking|cpu|cycle|delay|down|elapsed|execution|flight|idle|latency|lead|load|play|' +
    'prep|preparation|processing|read|reading|recovery|response|retention|run|running|screen|service|setup|startup|' +
    'total|transit|travel|trip|turnaround|up|wait|waiting|walking|watch|working)_time$',
)

/** Returns the kind of time that a name means; `null` if it means none. */
export function namedTime(name: string, { unixTimes }: TimeVocabulary): NamedTime | null {
  const words = wordsOf(name)
  const key = words.join('_')
  if (unixTimes.some((pattern) => matchesName(pattern, key))) return 'unix'
  if (!timeName.test(key) || durationName.test(key)) return null
  switch (words.at(-1)) {
    case 'at':
    case 'datetime':
    case 'timestamp':
      return 'instant'
    case 'date':
      return 'day'
    default:
      return 'clock'
  }
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

/** Whether a text is an RFC 3339 `full-date`. */
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
