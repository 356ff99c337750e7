import pluralize from 'pluralize'
import { BoundedCache } from '../bounded-cache.js'

// Where the library has a plural that APIs do not write, or takes the singular for the plural.
const pairs: ReadonlyMap<string, string> = new Map(
  (
    'bias biases, canvas canvases, caiman caimans, german germans, gulf gulfs, index indexes, lemma lemmas, ' +
    'lens lenses, ottoman ottomans, quorum quorums, regimen regimens, roman romans, schema schemas, ' +
    'shaman shamans, specimen specimens, stigma stigmas, talisman talismans, virus viruses'
  )
    .split(', ')
    .map((pair): [string, string] => {
      const [singular = '', plural = ''] = pair.split(' ')
      return [singular, plural]
    }),
)

const plurals: ReadonlySet<string> = new Set(pairs.values())

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
    'lotus lupus minus modulus mucus nexus nimbus nucleus octopus opus papyrus platypus plus prospectus ' +
    'radius rhombus sinus status stimulus stylus surplus syllabus terminus thesaurus torus uterus walrus'
  ).split(' '),
)
const singularEnding = /(?:b|vir)us$/

const known = new BoundedCache<string, boolean>(2000)

/** Whether a lowercase word can name a collection: it is plural, or has no plural of its own. */
export function isPlural(word: string): boolean {
  const before = known.get(word)
  if (before !== undefined) return before
  const found = massNouns.has(word) || isPluralForm(word)
  known.set(word, found)
  return found
}

/** Whether a lowercase word is the plural of another one: `orders`, not `equipment`. */
export function isCountedPlural(word: string): boolean {
  if (!isPlural(word) || massNouns.has(word)) return false
  return plurals.has(word) || eitherEnding.test(word) || pluralize.singular(word) !== word
}

/** The plural of a lowercase word; one that can name a collection stays as it is. */
export function plural(word: string): string {
  if (isPlural(word)) return word
  const found = pairs.get(word) ?? (word.endsWith('virus') ? `${word}es` : pluralize.plural(word))
  // What is written instead has to keep the rule, even where the library does not know its own plural again.
  return isPlural(found) ? found : `${found}es`
}

/** The singular of a lowercase word. */
export function singular(word: string): string {
  return pluralize.singular(word)
}

function isPluralForm(word: string): boolean {
  if (plurals.has(word)) return true
  if (pairs.has(word)) return false
  return pluralize.isPlural(word) || (eitherEnding.test(word) && !isKnownSingular(word))
}

function isKnownSingular(word: string): boolean {
  return singulars.has(word) || singularEnding.test(word)
}
