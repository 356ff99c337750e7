import { isCountedPlural, singular } from '../../words/words.js'

export interface PathVocabulary {
  readonly collections: ReadonlySet<string>
  readonly verbs: ReadonlySet<string>
  /** Segments that stand for the caller's own record, such as `me`. */
  readonly selfAliases: ReadonlySet<string>
}

export const knownVerbs: readonly string[] = (
  'accept activate approve archive assign cancel capture complete confirm deactivate decline disable dismiss ' +
  'enable execute follow generate invite join login logout merge notify pause pay publish recalculate refresh ' +
  'refund regenerate reject rename renew reopen reprocess resend reset restore resume retry revoke rotate send ' +
  'submit subscribe suspend sync unarchive unassign unblock unfollow unlock unmute unpublish unsubscribe ' +
  'validate verify'
).split(' ')

// Resources that exist once in their context, and endpoints that are not resources. With items behind them, the words of
// the first list are collections: `/v1/carts/:id`.
const onceAlone: ReadonlySet<string> = new Set(
  (
    'account backup balance basket batch bootstrap cart checkout clock context dashboard feed homepage inbox ' +
    'leaderboard license manifest overview profile quota register schedule session sitemap status stream summary ' +
    'ticker time timeline token upload version wallet webhook wishlist'
  ).split(' '),
)
const onceAlways: ReadonlySet<string> = new Set(
  (
    'about bulk config configuration csp-report debug depth docs echo favicon graphiql graphql health healthcheck ' +
    'health-check healthz help home i18n l10n latest live liveness livez me nearby ping playground random ready ' +
    'readiness readyz self sign-in sign-out sign-up signin signout signup sse startup swagger today trivia tv whoami ' +
    // Questions that a service answers from what the request contains.
    'autocomplete calculate compute convert detect estimate geocode geoip lookup parse predict preview query search ' +
    'suggest translate'
  ).split(' '),
)

/** @param hasItems whether an item follows: `/v1/profiles/:id` is a collection */
export function isSingleton(word: string, hasItems: boolean): boolean {
  return onceAlways.has(word) || (!hasItems && onceAlone.has(word))
}

// Endpoints for operators, browsers and tools. Their addresses are agreed on outside the API, so they have no version.
const unversioned: ReadonlySet<string> = new Set(
  (
    'actuator api-docs csp-report docs documentation graphiql graphql i18n openapi playground redoc reference startup ' +
    'status swagger swagger-ui version'
  ).split(' '),
)
const probes: ReadonlySet<string> = new Set(
  'health healthcheck health-check healthz heartbeat live liveness livez metrics ping ready readiness readyz'.split(
    ' ',
  ),
)
const file = /^[a-z0-9-]+\.(?:css|html?|ico|js|json|map|png|svg|txt|webmanifest|xml|ya?ml)$/

/** Whether a path is that of an endpoint without a version: `/metrics`, `/robots.txt`, `/internal/health`. */
export function isUnversionedPath(words: readonly string[]): boolean {
  const [first = ''] = words
  const isProbe = probes.has(first) || (words.length === 2 && first !== '' && probes.has(words[1] ?? ''))
  return isProbe || unversioned.has(first) || (words.length === 1 && file.test(first))
}

/** What a service or a gateway puts in front of the version. */
export const baseWords: ReadonlySet<string> = new Set(['api', 'apis', 'rest'])

/** Actions if they are posted to: they mark something as read. */
export const readWords: ReadonlySet<string> = new Set(['read', 'read-all'])

// Also nouns, for the result of the action: `GET /v1/orders/:id/refund` reads a refund.
const nounVerbs: ReadonlySet<string> = new Set(['archive', 'capture', 'invite', 'refund'])

// In front of a noun, these make another noun: `refund-policy`, `login-page`.
const describingVerbs: ReadonlySet<string> = new Set([...nounVerbs, 'login', 'logout'])

// Behind any verb, these make a noun: `cancel-reason`, `merge-request`.
const nounsOfActions: ReadonlySet<string> = new Set(
  'attempt count date history log policy reason request result state status time'.split(' '),
)

// Nouns that only look like a verb or a CRUD word with an object.
const compoundNouns: ReadonlySet<string> = new Set(
  (
    'add-in add-on all-hands follow-up get-together list-item list-price list-view read-model read-receipt ' +
    'read-replica show-room show-time'
  ).split(' '),
)

/** Returns `verb`, alone or in front of its object, or `either`: then the route decides. */
export function verbKind(word: string, verbs: ReadonlySet<string>): 'verb' | 'either' | null {
  if (verbs.has(word)) return nounVerbs.has(word) ? 'either' : 'verb'
  const [first = ''] = word.split('-', 1)
  if (first === word || !verbs.has(first) || isCompoundNoun(word)) return null
  const last = lastWord(word)
  if (isCountedPlural(last)) return null
  return describingVerbs.has(first) || nounsOfActions.has(last) ? 'either' : 'verb'
}

/** Whether a name is one noun although it starts with a verb: `follow-up`, `get-togethers`. */
function isCompoundNoun(word: string): boolean {
  if (compoundNouns.has(word)) return true
  const last = lastWord(word)
  return compoundNouns.has(word.slice(0, word.length - last.length) + singular(last))
}

export function lastWord(word: string): string {
  return word.slice(word.lastIndexOf('-') + 1)
}

interface CrudName {
  readonly crud: readonly string[]
  /** The name without them; `''` if it has no other words. */
  readonly noun: string
}

// The methods that mean the same as each CRUD word, the best one first.
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

// These apply to all items of a collection, or to a new one.
export const collectionWords: ReadonlySet<string> = new Set('add all create find list new'.split(' '))

// These never make a noun with the word behind them, as `update-channels` and `list-items` do.
const imperatives: ReadonlySet<string> = new Set('all fetch find get retrieve'.split(' '))

// Behind a word that writes, these make a noun for any method: `POST /v1/delete-requests`.
const nounsOfWrites: ReadonlySet<string> = new Set(['attempt', 'history', 'reason', 'request'])

// Before `list`, these make a noun: a wish list has a name and an owner, an order list is just orders.
const namedLists: ReadonlySet<string> = new Set(
  (
    'access allow back black block bucket check deny distribution do drop gift grey guest hit mail mailing ' +
    'packing parts pick play price reading set shopping short stop task todo wait waiting watch white wish'
  ).split(' '),
)

/** Returns the CRUD words of a name, as of `get-all-users`; `null` for nouns, as `update-channels` and `wish-list`. */
export function crudNameOf(word: string, itemFollows: boolean, methods: readonly string[]): CrudName | null {
  if (methodsOf.has(word)) return { crud: [word], noun: '' }
  const parts = word.split('-')
  const start = leadingCrud(parts)
  const end = isListOf(parts) ? parts.length - 1 : parts.length
  if ((start === 0 && end === parts.length) || isCompoundNoun(word)) return null
  const noun = parts.slice(start, end).join('-')
  const isNoun = start === 1 && end === parts.length && makesNoun(parts[0] ?? '', noun, itemFollows, methods)
  return isNoun ? null : { crud: [...parts.slice(0, start), ...parts.slice(Math.max(start, end))], noun }
}

/** Returns the method that means the same as the CRUD words; `null` if the methods of the route already do. */
export function crudMethod(crud: readonly string[], methods: readonly string[]): string | null {
  const equivalent = crud.map((word) => methodsOf.get(word) ?? []).findLast((list) => list.length > 0) ?? []
  const [best] = equivalent
  if (best === undefined) return null
  return methods.every((method) => method === 'OPTIONS' || equivalent.includes(method)) ? null : best
}

function leadingCrud(parts: readonly string[]): number {
  // `new` is a CRUD word only behind another one, as in `create-new-user`: `new-users` is a noun.
  const first = parts.findIndex((part, index) => !methodsOf.has(part) || (part === 'new' && index === 0))
  return first === -1 ? parts.length : first
}

function isListOf(parts: readonly string[]): boolean {
  return parts.at(-1) === 'list' && !namedLists.has(parts.at(-2) ?? '')
}

function makesNoun(word: string, noun: string, itemFollows: boolean, methods: readonly string[]): boolean {
  const last = lastWord(noun)
  const writes = writingWords.has(word)
  if (writes && nounsOfWrites.has(singular(last))) return true
  if (!isCountedPlural(last)) return false
  return (itemFollows && !imperatives.has(word)) || (writes && methods.every(isReading))
}

function isReading(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}

// RFC 3986 §3.3: a character that is not a pchar needs encoding. `%` counts too, because it begins an escape.
const outsidePath = /[^A-Za-z0-9\-._~!$&'()*+,;=:@]/
const escapes = /(?:%[0-9A-Fa-f]{2})+/g

/** The rules for the characters of a literal: whether it breaks one, and the literal without the fault. */
export const textRules = {
  /** The hex digits of an escape do not count. */
  uppercase: { isBroken: (text: string) => /[A-Z]/.test(text.replace(escapes, '')), correct: lowercase },
  underscore: { isBroken: (text: string) => text.includes('_'), correct: hyphenated },
  encoding: { isBroken: (text: string) => outsidePath.test(text), correct: plainText },
} as const

export type TextRule = keyof typeof textRules

// What is plain can be in camelCase, and a word in lowercase can have underscores.
const order = ['encoding', 'uppercase', 'underscore'] as const

/** Returns a literal that keeps the rules; at the ends of a whole segment, no hyphens are left. */
export function corrected(text: string, rules: (rule: TextRule) => boolean, isWhole: boolean): string {
  let result = text
  for (const rule of order) {
    if (rules(rule) && textRules[rule].isBroken(result)) result = textRules[rule].correct(result)
  }
  return isWhole && result !== text ? withoutOuterHyphens(result) : result
}

/** Returns a literal in kebab-case: `purchase-orders` for `PurchaseOrders` and `purchase%20orders`. */
export function kebab(text: string): string {
  return corrected(text, () => true, true)
}

function lowercase(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase()
}

function hyphenated(text: string): string {
  return text.replace(/[-_]+/g, (run) => (run.includes('_') ? '-' : run))
}

function plainText(text: string): string {
  return text
    .replace(escapes, (run) => decoded(run) ?? '-')
    .normalize('NFKD')
    .replace(/[\p{M}'\u2019]+/gu, '')
    .replace(/[^A-Za-z0-9\-._~]+/g, '-')
}

function withoutOuterHyphens(text: string): string {
  let start = 0
  let end = text.length
  while (text[start] === '-') start++
  while (end > start && text[end - 1] === '-') end--
  return text.slice(start, end)
}

export function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
