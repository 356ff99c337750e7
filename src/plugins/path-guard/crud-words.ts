import { isCountedPlural, singular } from '../../words/plurals.js'
import { isCompoundNoun, lastWord } from './path-words.js'

/** A name in kebab-case that has CRUD words. */
export interface CrudName {
  /** The CRUD words, in their order. */
  readonly crud: readonly string[]
  /** What is left without them; `''` where nothing is. */
  readonly noun: string
}

// CRUD in the path says again what the method says already: the methods that say each word, the best one first.
const methodsOf: ReadonlyMap<string, readonly string[]> = new Map([
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

const writingWords: ReadonlySet<string> = new Set('add create delete destroy edit remove update'.split(' '))

const collectingWords: ReadonlySet<string> = new Set('add all create find list new'.split(' '))

// These never describe the noun behind them, as in `update-channels` and `list-items`.
const imperatives: ReadonlySet<string> = new Set('all fetch find get retrieve'.split(' '))

// Described by the word in front even where something is posted: `POST /v1/delete-requests`.
const nounsOfActs: ReadonlySet<string> = new Set(['attempt', 'history', 'reason', 'request'])

// What makes a list a thing of its own: a wish list has a name and an owner, an order list is just orders.
const namedLists: ReadonlySet<string> = new Set(
  (
    'access allow back black block bucket check deny distribution do drop gift grey guest hit mail mailing ' +
    'packing parts pick play price reading set shopping short stop task todo wait waiting watch white wish'
  ).split(' '),
)

/**
 * The CRUD words of a name in kebab-case, where it has any: `get` and `all` of `get-all-users`, but none of
 * `update-channels` and `wish-list`, which are nouns.
 *
 * @param itemFollows the next segment is a parameter: the name is one that has items
 */
export function crudNameOf(word: string, itemFollows: boolean, methods: readonly string[]): CrudName | null {
  if (methodsOf.has(word)) return { crud: [word], noun: '' }
  const parts = word.split('-')
  const start = leadingCrud(parts)
  const end = isListOf(parts) ? parts.length - 1 : parts.length
  if ((start === 0 && end === parts.length) || isCompoundNoun(word)) return null
  const noun = parts.slice(start, end).join('-')
  const isNoun = start === 1 && end === parts.length && describes(parts[0] ?? '', noun, itemFollows, methods)
  return isNoun ? null : { crud: [...parts.slice(0, start), ...parts.slice(Math.max(start, end))], noun }
}

/** Whether a name without these CRUD words is that of a collection: they are about many, or about a new one. */
export function areCollecting(crud: readonly string[]): boolean {
  return crud.some((word) => collectingWords.has(word))
}

/** The method that says what the CRUD words say; `null` where the methods of the route do. */
export function crudMethod(crud: readonly string[], methods: readonly string[]): string | null {
  const said = crud.map((word) => methodsOf.get(word) ?? []).findLast((list) => list.length > 0)
  const [best] = said ?? []
  if (said === undefined || best === undefined) return null
  return methods.every((method) => method === 'OPTIONS' || said.includes(method)) ? null : best
}

function leadingCrud(parts: readonly string[]): number {
  // A word in front of `new` says that it is an instruction; without one, new users may be just that.
  const first = parts.findIndex((part, index) => !methodsOf.has(part) || (part === 'new' && index === 0))
  return first === -1 ? parts.length : first
}

function isListOf(parts: readonly string[]): boolean {
  return parts.at(-1) === 'list' && !namedLists.has(parts.at(-2) ?? '')
}

function describes(word: string, noun: string, itemFollows: boolean, methods: readonly string[]): boolean {
  const last = lastWord(noun)
  const writes = writingWords.has(word)
  if (writes && nounsOfActs.has(singular(last))) return true
  if (!isCountedPlural(last)) return false
  return (itemFollows && !imperatives.has(word)) || (writes && methods.every(isReading))
}

function isReading(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}
