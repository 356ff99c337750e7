import { isCountedPlural, singular } from '../../words/plurals.js'

/** Words of the domain that the rules must know. */
export interface PathVocabulary {
  /** Collection names that are right as they are, whatever the plural rule thinks. */
  readonly collections: ReadonlySet<string>
  /** Verbs of actions. */
  readonly verbs: ReadonlySet<string>
  /** Segments that stand for the caller's own record, such as `me`. */
  readonly selfAliases: ReadonlySet<string>
}

/**
 * Verbs that are known as actions without being declared. Words that are as often nouns (`export`, `search`,
 * `start`) are left out: a service that uses one as an action declares it.
 */
export const knownVerbs: readonly string[] = (
  'accept activate approve archive assign cancel capture confirm deactivate decline disable dismiss enable ' +
  'execute follow invite join login logout merge pause publish recalculate refresh refund regenerate reject ' +
  'renew reopen reprocess resend reset restore resume retry revoke rotate send submit subscribe suspend sync ' +
  'unarchive unassign unblock unfollow unlock unmute unpublish unsubscribe validate verify'
).split(' ')

// Verbs that are also what the action leaves behind: `GET /v1/orders/:id/refund` reads one.
const nounVerbs: ReadonlySet<string> = new Set(['archive', 'capture', 'invite', 'refund'])

// These describe a noun behind them: `refund-policy`, `login-page`.
const describingVerbs: ReadonlySet<string> = new Set([...nounVerbs, 'login', 'logout'])

// Nouns about an act are described by the verb in front of them: `cancel-reason`, `merge-request`.
const nounsOfActs: ReadonlySet<string> = new Set(
  'attempt count date history log policy reason request result state status time'.split(' '),
)

// Names that only look like a verb, or a CRUD word, and its object.
const compoundNouns: ReadonlySet<string> = new Set(
  (
    'add-in add-on all-hands follow-up get-together list-item list-price list-view read-model read-receipt ' +
    'read-replica show-room show-time'
  ).split(' '),
)

// Besides those that start with `un`.
const opposites: ReadonlyMap<string, string> = new Map([
  ['activate', 'deactivate'],
  ['enable', 'disable'],
  ['login', 'logout'],
  ['pause', 'resume'],
  ['suspend', 'resume'],
])

/**
 * What a name in kebab-case is to the rules of actions: a `verb`, alone or in front of its object; `either` a verb
 * or a noun, as the route has it; or neither (`null`).
 */
export function verbKind(word: string, verbs: ReadonlySet<string>): 'verb' | 'either' | null {
  if (verbs.has(word)) return nounVerbs.has(word) ? 'either' : 'verb'
  const [first = ''] = word.split('-', 1)
  if (first === word || !verbs.has(first) || isCompoundNoun(word)) return null
  const last = lastWord(word)
  if (isCountedPlural(last)) return null
  return describingVerbs.has(first) || nounsOfActs.has(last) ? 'either' : 'verb'
}

/** The verb that takes an action back: `unfollow` of `follow`. */
export function oppositeOf(verb: string, verbs: ReadonlySet<string>): string | null {
  const opposite = opposites.get(verb) ?? `un${verb}`
  return verbs.has(opposite) ? opposite : null
}

/** Whether a name is one noun although it starts like an instruction: `follow-up`, `get-togethers`. */
export function isCompoundNoun(word: string): boolean {
  if (compoundNouns.has(word)) return true
  const last = lastWord(word)
  return compoundNouns.has(word.slice(0, word.length - last.length) + singular(last))
}

/** The last word of a name in kebab-case: its noun. */
export function lastWord(word: string): string {
  return word.slice(word.lastIndexOf('-') + 1)
}
