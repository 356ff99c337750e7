import { BoundedCache } from '../bounded-cache.js'

/** How the words of a key are joined. */
export type KeyStyle = 'snake_case' | 'camelCase'

const inStyle: Readonly<Record<KeyStyle, RegExp>> = {
  snake_case: /^[\p{Ll}\p{Lm}\p{Lo}\p{M}\p{N}]+(?:_[\p{Ll}\p{Lm}\p{Lo}\p{M}\p{N}]+)*$/u,
  camelCase: /^[\p{Ll}\p{Lm}\p{Lo}\p{M}\p{N}][\p{L}\p{M}\p{N}]*$/u,
}

/** Returns the words of a name in lowercase, in any style: `userIDs` and `user_ids` are both `user`, `ids`. */
export function wordsOf(name: string): readonly string[] {
  const known = knownWords.get(name)
  if (known !== undefined) return known
  const words = splitWords(name)
  knownWords.set(name, words)
  return words
}

// Bounded: clients can send any number of names.
const knownWords = new BoundedCache<string, readonly string[]>(2000)

// Matches most names. The Unicode patterns are slow to compile.
const plainSnake = /^[a-z0-9]+(?:_[a-z0-9]+)*$/

// The same for words that hyphens join, as in paths.
const plainWords = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/

function splitWords(name: string): string[] {
  if (plainWords.test(name)) return name.split(/[-_]/)
  return (
    name
      // Without this, the plural of an acronym such as `IDs` would be two words.
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

export function joinWords(words: readonly string[], style: KeyStyle): string {
  if (style === 'snake_case') return words.join('_')
  return words.map((word, index) => (index === 0 ? word : capitalized(word))).join('')
}

/** Returns a key in a style; `null` if it is in that style already or cannot be converted. */
export function restyledKey(name: string, style: KeyStyle): string | null {
  if (style === 'snake_case' && plainSnake.test(name)) return null
  if (/^[_$]/.test(name) || !/\p{L}/u.test(name) || inStyle[style].test(name)) return null
  const restyled = joinWords(wordsOf(name), style)
  // Some letters have no lowercase form.
  return restyled !== name && inStyle[style].test(restyled) ? restyled : null
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

export function memberName(path: string, style: KeyStyle): string {
  const literals = path.split('/').filter((segment) => segment !== '' && !segment.includes(':'))
  const name = (literals.at(-1) ?? 'items').replaceAll('-', '_')
  return restyledKey(name, style) ?? name
}
