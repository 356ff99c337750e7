import type { ResponseVocabulary } from '../../src/representation/response-rules.js'
import { defaultTimeNames, defaultUnixTimes } from '../../src/representation/time-names.js'

/** What the rules know where nobody said otherwise. */
export const vocabulary: ResponseVocabulary = {
  keyStyle: 'snake_case',
  words: new Set(),
  sexes: new Set(['male', 'female', 'intersex', 'unknown']),
  timeNames: defaultTimeNames,
  unixTimes: defaultUnixTimes,
}
