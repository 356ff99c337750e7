import { BoundedCache } from '../bounded-cache.js'
import { twinName } from '../json-schema/twins.js'

/** How the words of a key are joined. */
export type KeyStyle = 'snake_case' | 'camelCase'

const inStyle: Readonly<Record<KeyStyle, RegExp>> = {
  snake_case: /^[\p{Ll}\p{Lm}\p{Lo}\p{M}\p{N}]+(?:_[\p{Ll}\p{Lm}\p{Lo}\p{M}\p{N}]+)*$/u,
  camelCase: /^[\p{Ll}\p{Lm}\p{Lo}\p{M}\p{N}][\p{L}\p{M}\p{N}]*$/u,
}

/** The words of a name in lowercase, however they are joined: `userIDs` and `user_ids` are both `user`, `ids`. */
export function wordsOf(name: string): readonly string[] {
  const known = knownWords.get(name)
  if (known !== undefined) return known
  const words = splitWords(name)
  knownWords.set(name, words)
  return words
}

// The same few names come in every schema; payloads may bring others, so not all are kept.
const knownWords = new BoundedCache<string, readonly string[]>(2000)

// Most names; the patterns for all letters of Unicode are slow to compile.
const plainSnake = /^[a-z0-9]+(?:_[a-z0-9]+)*$/

function splitWords(name: string): string[] {
  if (plainSnake.test(name)) return name.split('_')
  return (
    name
      // The plural of an acronym: without this, `IDs` would be two words.
      .replace(
        /(\p{Lu})(\p{Lu}+)s(?!\p{Ll})/gu,
        (_, first: string, rest: string) => `${first}${rest.toLowerCase()}s`,
      )
      .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1_$2')
      .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
      .toLowerCase()
      .split(/[^\p{L}\p{M}\p{N}]+/u)
      .filter((word) => word !== '')
  )
}

/** Words as one key. */
export function joinWords(words: readonly string[], style: KeyStyle): string {
  if (style === 'snake_case') return words.join('_')
  return words.map((word, index) => (index === 0 ? word : capitalized(word))).join('')
}

/**
 * What a key would be in a style; `null` where it is in it already, or is no matter of style: keys that begin with
 * `_` or `$`, and those without a letter.
 */
export function restyledKey(name: string, style: KeyStyle): string | null {
  if (style === 'snake_case' && plainSnake.test(name)) return null
  if (/^[_$]/.test(name) || !/\p{L}/u.test(name) || inStyle[style].test(name)) return null
  const restyled = joinWords(wordsOf(name), style)
  // Letters without a lowercase cannot be helped.
  return restyled !== name && inStyle[style].test(restyled) ? restyled : null
}

/** Is the key the string twin of another member of its object? */
export function isTwin(name: string, siblings: { has(name: string): boolean }): boolean {
  const base = withoutTwinSuffix(name)
  return base !== name && siblings.has(base)
}

/** The name that a twin is of; a name that is no twin's as it is. */
export function withoutTwinSuffix(name: string): string {
  const suffix = twinName('')
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : name
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
