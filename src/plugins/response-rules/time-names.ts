import { wordsOf } from '../../words/key-names.js'

/** Names of members that hold a time. */
export interface TimeVocabulary {
  /** Names of times: `_at` is for all names that end so, `date` for that name alone. In snake_case, for both styles. */
  readonly timeNames: readonly string[]
  /** Names of integers that are Unix times, in the same form. */
  readonly unixTimes: readonly string[]
}

/** What a name says of the time it is for: a point in time, a day, a time of day, either of the first two, Unix time. */
export type NamedTime = 'instant' | 'day' | 'clock' | 'instant-or-day' | 'unix'

/** Names of times where nobody said otherwise. */
export const defaultTimeNames: readonly string[] = [
  '_at',
  '_time',
  '_date',
  '_datetime',
  '_timestamp',
  'date',
  'datetime',
  'timestamp',
]

/** Names of Unix times where nobody said otherwise. */
export const defaultUnixTimes: readonly string[] = ['_unix', '_ts']

/** Formats that a string of that name may be declared with; the first is what to write where there is none. */
export const formatsOf: Readonly<Record<Exclude<NamedTime, 'unix'>, readonly [string, ...string[]]>> = {
  instant: ['date-time'],
  day: ['date', 'date-time'],
  clock: ['date-time', 'time', 'duration'],
  'instant-or-day': ['date-time', 'date'],
}

// `response_time` is how long, not when.
const howLong = new RegExp(
  '(^|_)(access|boot|build|cook|cooking|cpu|cycle|delay|down|elapsed|execution|flight|idle|latency|lead|load|play|' +
    'prep|preparation|processing|read|reading|recovery|response|retention|run|running|screen|service|setup|startup|' +
    'total|transit|travel|trip|turnaround|up|wait|waiting|walking|watch|working)_time$',
)

/** What a member of that name holds a time of; `null` where the name does not speak of one. */
export function namedTime(name: string, { timeNames, unixTimes }: TimeVocabulary): NamedTime | null {
  const words = wordsOf(name)
  const key = words.join('_')
  if (unixTimes.some((pattern) => covers(pattern, key))) return 'unix'
  if (!timeNames.some((pattern) => covers(pattern, key)) || howLong.test(key)) return null
  switch (words.at(-1)) {
    case 'at':
    case 'datetime':
    case 'timestamp':
      return 'instant'
    case 'date':
      return 'day'
    case 'time':
      return 'clock'
    default:
      return 'instant-or-day'
  }
}

function covers(pattern: string, key: string): boolean {
  if (pattern.startsWith('_')) return key.length > pattern.length && key.endsWith(pattern)
  return key === wordsOf(pattern).join('_')
}
