import pluralize from 'pluralize'
import { LruMap } from 'toad-cache'
import { kept } from '../kept.js'

/** How the words of a key are joined. */
export type KeyStyle = 'snake_case' | 'camelCase'

const inStyle: Readonly<Record<KeyStyle, RegExp>> = {
  snake_case: /^[\p{Ll}\p{Lm}\p{Lo}\p{M}\p{N}]+(?:_[\p{Ll}\p{Lm}\p{Lo}\p{M}\p{N}]+)*$/u,
  camelCase: /^[\p{Ll}\p{Lm}\p{Lo}\p{M}\p{N}][\p{L}\p{M}\p{N}]*$/u,
}

/** Returns the words of a name in lowercase, in any style: `userIDs` and `user_ids` are both `user`, `ids`. */
export function wordsOf(name: string): readonly string[] {
  return kept(knownWords, name, () => splitWords(name))
}

// Bounded: clients can send any number of names.
const knownWords = new LruMap<readonly string[]>(2000)

// Matches most names. The Unicode patterns are slow to compile.
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
      .split(/[^\p{L}\p{M}\p{N}]/u)
      .filter((word) => word !== '')
  )
}

export function joinWords(words: readonly string[], style: KeyStyle): string {
  if (style === 'snake_case') return words.join('_')
  return words.map((word, index) => (index === 0 ? word : capitalized(word))).join('')
}

/** Returns a key in a style; `null` if it is in that style already or cannot be converted. */
export function restyledKey(name: string, style: KeyStyle): string | null {
  const restyled = joinWords(wordsOf(name), style)
  if (restyled === name || /^[_$]/.test(name) || !/\p{L}/u.test(name) || inStyle[style].test(name))
    return null
  // Some letters have no lowercase form.
  return inStyle[style].test(restyled) ? restyled : null
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

export function memberName(path: string, style: KeyStyle): string {
  const literals = path.split('/').filter((segment) => segment !== '' && !segment.includes(':'))
  const name = (literals.at(-1) ?? 'items').replaceAll('-', '_')
  return restyledKey(name, style) ?? name
}

// Where the library has a plural that APIs do not write, or takes the singular for the plural.
const pairs: ReadonlyMap<string, string> = new Map(
  (
    'bias biases, canvas canvases, caiman caimans, german germans, gulf gulfs, index indexes, lemma lemmas, ' +
    'lens lenses, ottoman ottomans, quorum quorums, regimen regimens, roman romans, schema schemas, ' +
    'shaman shamans, specimen specimens, stigma stigmas, talisman talismans'
  )
    .split(', ')
    .map((pair) => pair.split(' ') as [string, string]),
)

// Nouns without a plural, which the library does not know as such.
const massNouns: ReadonlySet<string> = new Set(
  (
    'access advertising attendance auth authentication bandwidth billing branding compliance content ' +
    'documentation education electricity employment evidence feedback furniture governance graphql guidance ' +
    'healthz history hosting housing info infrastructure insurance inventory knowledge legislation livez ' +
    'luggage maintenance marketing merchandise metadata money oauth onboarding ownership packaging parking ' +
    'performance presence pricing privacy progress publicity readyz reporting security shipping storage ' +
    'support telemetry training transparency transport travel usage utilization weather'
  ).split(' '),
)

// To the library every word with one of these endings is singular: cpus, skus, uris, taxis and sagas as well.
const eitherEnding = /(?:[^aou]u|ri|axi|ga|t[lm]a)s$/
const singulars: ReadonlySet<string> = new Set(
  (
    'abacus apparatus atlas axis bonus cactus calculus campus census chorus christmas circus citrus colossus ' +
    'consensus corpus crocus discus exodus focus fungus gas genius genus hiatus hibiscus impetus iris locus ' +
    'lotus lupus minus modulus mucus nexus nucleus octopus opus papyrus platypus plus prospectus ' +
    'radius sinus status stimulus stylus surplus terminus thesaurus torus uterus walrus'
  ).split(' '),
)
const singularEnding = /(?:b|vir)us$/

const known = new LruMap<boolean>(2000)

/** Whether a lowercase word can name a collection: it is plural, or has no plural of its own. */
export function isPlural(word: string): boolean {
  return kept(known, word, () => massNouns.has(word) || isPluralForm(word))
}

/** Whether a lowercase word is the plural of another one: `orders`, not `equipment`. */
export function isCountedPlural(word: string): boolean {
  if (!isPlural(word) || massNouns.has(word)) return false
  return eitherEnding.test(word) || pluralize.singular(word) !== word
}

/** The plural of a lowercase word; one that can name a collection stays as it is. */
export function plural(word: string): string {
  if (isPlural(word)) return word
  const found = pairs.get(word) ?? (word.endsWith('virus') ? `${word}es` : pluralize.plural(word))
  // What is written instead has to keep the rule, even where the library does not know its own plural again.
  return isPlural(found) ? found : `${found}es`
}

export function singular(word: string): string {
  return pluralize.singular(word)
}

function isPluralForm(word: string): boolean {
  if (pairs.has(word)) return false
  return (
    pluralize.isPlural(word) ||
    (eitherEnding.test(word) && !singulars.has(word) && !singularEnding.test(word))
  )
}
