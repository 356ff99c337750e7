import { isCountedPlural, plural } from './plurals.js'

/** Words of the domain that the rules must know. */
export interface PathVocabulary {
  /** Collection names that are right as they are, whatever the plural rule thinks. */
  readonly collections: ReadonlySet<string>
  /** Verbs of actions. */
  readonly verbs: ReadonlySet<string>
  /** Segments that stand for the caller's own record, such as `me`. */
  readonly selfAliases: ReadonlySet<string>
}

/** A name without its CRUD words: `users` of `get-all-users`; the noun is `''` where nothing else is left. */
export interface CrudName {
  readonly crud: readonly string[]
  readonly noun: string
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

/** Verbs that are also what the action leaves behind: `GET /v1/orders/:id/refund` reads one. */
export const nounVerbs: ReadonlySet<string> = new Set(['archive', 'capture', 'invite', 'refund'])

// In front of a noun these make a noun where nothing is posted: `refund-policy`, `login-page`.
const attributiveVerbs: ReadonlySet<string> = new Set([...nounVerbs, 'login', 'logout'])

// Nouns about an act make a noun of the verb in front of them: `cancel-reason`, `merge-request`.
const nounsOfActs: ReadonlySet<string> = new Set(
  'attempt count date history log policy reason request result state status time'.split(' '),
)

const opposites: ReadonlyMap<string, string> = new Map([
  ['activate', 'deactivate'],
  ['enable', 'disable'],
  ['login', 'logout'],
  ['pause', 'resume'],
  ['suspend', 'resume'],
])

// CRUD in the path says again what the method says already: the methods that say each word, the first one best.
const crudWords: ReadonlyMap<string, readonly string[]> = new Map([
  ['add', ['POST', 'PUT']],
  ['all', []],
  ['create', ['POST', 'PUT']],
  ['delete', ['DELETE']],
  ['destroy', ['DELETE']],
  ['edit', ['PATCH', 'PUT', 'GET', 'HEAD']],
  ['fetch', ['GET', 'HEAD']],
  ['find', ['GET', 'HEAD']],
  ['get', ['GET', 'HEAD']],
  ['list', ['GET', 'HEAD']],
  ['new', ['POST', 'PUT', 'GET', 'HEAD']],
  ['read', ['GET', 'HEAD']],
  ['remove', ['DELETE']],
  ['retrieve', ['GET', 'HEAD']],
  ['show', ['GET', 'HEAD']],
  ['update', ['PATCH', 'PUT']],
])

const writingWords: ReadonlySet<string> = new Set(
  'add create delete destroy edit remove update'.split(' '),
)

// Words that are about many, or about a new one of many.
const collectingWords: ReadonlySet<string> = new Set('add all create find list new'.split(' '))

// These never stand in front of a noun to describe it, as in `update-channels` and `list-items`.
const imperatives: ReadonlySet<string> = new Set('all fetch find get retrieve'.split(' '))

const crudNouns: ReadonlySet<string> = new Set(['list', 'show'])

// Names that only look like a CRUD word or a verb and its object.
const compoundNouns: ReadonlySet<string> = new Set(
  (
    'add-in add-on all-hands follow-up get-together list-item list-price list-view read-model read-receipt ' +
    'read-replica show-room show-time'
  ).split(' '),
)

// What makes a list a thing of its own: a wish list has a name and an owner, an order list is just orders.
const listsByName: ReadonlySet<string> = new Set(
  (
    'access allow back black block bucket check deny distribution do drop gift grey guest hit mail mailing ' +
    'packing parts pick play price reading set shopping short stop task todo wait waiting watch white wish'
  ).split(' '),
)

/** The CRUD words of a name in kebab-case, and what is left without them; `null` where it has none. */
export function crudNameOf(word: string): CrudName | null {
  if (crudWords.has(word)) return { crud: [word], noun: '' }
  if (!word.includes('-') || compoundNouns.has(singularText(word))) return null
  const parts = word.split('-')
  const crud: string[] = []
  while (crudWords.has(parts[0] ?? '') && (parts[0] !== 'new' || crud.length > 0)) crud.push(...parts.splice(0, 1))
  if (parts.at(-1) === 'list' && !listsByName.has(parts.at(-2) ?? '')) crud.push(...parts.splice(-1, 1))
  return crud.length === 0 ? null : { crud, noun: parts.join('-') }
}

/** Whether a CRUD name can be a noun after all, such as `update-channels`. */
export function canDescribe({ crud, noun }: CrudName, itemFollows: boolean, methods: readonly string[]): boolean {
  const first = crud[0] ?? ''
  const last = lastWord(noun)
  if (noun === '' || crud.length > 1 || first === 'list' && !itemFollows) return false
  const writes = writingWords.has(first)
  if (writes && nounsOfActs.has(singularText(last)) && last !== 'status') return true
  if (!isCountedPlural(last)) return false
  return (itemFollows && !imperatives.has(first)) || (writes && areReading(methods))
}
