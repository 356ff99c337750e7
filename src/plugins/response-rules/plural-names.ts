import { twinName } from '../../json-schema/twins.js'
import { joinWords, wordsOf } from '../../words/key-names.js'
import { isPlural, plural } from '../../words/plurals.js'

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

/**
 * Returns the plural name of a list; `null` if its name is plural. The noun is the last word before a preposition or a
 * participle: `items_by_sku` and `fields_changed` are plural.
 *
 * @param words names, or last words of names, that are accepted as they are
 */
export function pluralName(name: string, words: ReadonlySet<string>): string | null {
  const base = withoutTwinSuffix(name)
  const parts = wordsOf(base)
  const at = nounIndex(parts)
  const noun = parts[at]?.replace(/\p{N}+$/u, '') ?? ''
  if (noun === '' || words.has(name) || words.has(base) || words.has(noun) || isPlural(noun)) return null
  const inPlural = parts.map((part, index) => (index === at ? plural(noun) : part))
  return joinWords(inPlural, base.includes('_') || parts.length === 1 ? 'snake_case' : 'camelCase')
}

/** Returns the noun of a name: `sex` of `sex_assigned_at_birth`; `''` for a name without words. */
export function nounOf(name: string): string {
  const parts = wordsOf(name)
  return parts[nounIndex(parts)] ?? ''
}

function nounIndex(parts: readonly string[]): number {
  const preposition = parts.findIndex((part, index) => index > 0 && prepositions.has(part))
  const last = (preposition === -1 ? parts.length : preposition) - 1
  return last > 0 && /[^e]ed$/.test(parts[last] ?? '') ? last - 1 : last
}

/** Whether a key is the string twin of another member of its object. */
export function isTwin(name: string, siblings: { has(name: string): boolean }): boolean {
  const base = withoutTwinSuffix(name)
  return base !== name && siblings.has(base)
}

function withoutTwinSuffix(name: string): string {
  const suffix = twinName('')
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : name
}
