import type { ResponseVocabulary } from '../../../src/plugins/response-rules/words.js'
import { defaultUnixTimes } from '../../../src/plugins/response-rules/words.js'
import type { Json } from '../../../src/schema/json-schema.js'

/** The default vocabulary of the rules. */
export const vocabulary: ResponseVocabulary = {
  keyStyle: 'snake_case',
  words: new Set(),
  unixTimes: defaultUnixTimes,
}

/** A schema that has two sides; put together of entries, for an object with a `then` looks like a promise. */
export function condition(positive: Json, negative: Json): Json {
  return Object.fromEntries<Json>([
    ['if', { type: 'object' }],
    ['then', positive],
    ['else', negative],
  ])
}
