import type * as Jose from 'jose'
import { BoundedCache } from '../../bounded-cache.js'
import { isObject } from '../../options.js'
import { cooldown, type Issuer } from './issuer.js'
import type { ResolvedBearer } from './options.js'
import { IssuerUnavailable, TokenRefused } from './tokens.js'

type FindKey = Jose.JWTVerifyGetKey

/** The keys that verify tokens. */
export interface VerificationKeys {
  readonly find: FindKey
  /** Until when the keys are used without another fetch, in milliseconds since the epoch. */
  freshUntil(): number
}

interface Keys {
  readonly find: FindKey
  readonly text: string
  /** When the fetch began. */
  readonly askedAt: number
  /** How many fetches had begun when this one did, itself included. */
  readonly fetchNumber: number
}

const maxAge = 600_000

/** How long known keys are used while the issuer cannot be reached. */
const maxStale = 86_400_000

/** Requests that may wait at the same time for a key that is not known. */
const maxWaiting = 1000
const maxMissed = 1000
const maxNameLength = 256

/**
 * Returns the keys of an issuer. Many requests share one fetch.
 *
 * @param onChange called when keys were replaced or removed
 */
export function keySet(
  { createLocalJWKSet, errors }: Pick<typeof Jose, 'createLocalJWKSet' | 'errors'>,
  issuer: Issuer,
  { now, schedule }: Pick<ResolvedBearer, 'now' | 'schedule'>,
  onChange: () => void,
) {
  let known: Keys | null = null
  let fetching: Promise<Keys> | null = null
  let nextFetch: Promise<Keys> | null = null
  let waiting = 0
  let begun = 0
  /** The keys that the last fetches did not have, and when a token may ask for them again. */
  const missed = new BoundedCache<string, number>(maxMissed)

  const find: FindKey = async (header, input) => {
    const begunBefore = begun
    const name = `${header.alg} ${header.kid}`
    if (name.length > maxNameLength) throw noKey()
    let keys = await usable()
    for (;;) {
      try {
        return await keys.find(header, input)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      }
      if (keys.fetchNumber > begunBefore) break
      if (now() < (missed.get(name) ?? 0)) throw noKey()
      // A fetch that runs may have begun before the key was published: then another one follows it.
      keys = await (fetching ?? fetchNext(keys))
    }
    missed.set(name, now() + cooldown)
    throw noKey()
  }

  async function usable(): Promise<Keys> {
    const keys = known
    const age = keys === null ? Number.POSITIVE_INFINITY : now() - keys.askedAt
    if (keys === null || age >= maxAge + maxStale) return refresh()
    // The issuer logs its failure.
    return age < maxAge ? keys : refresh().catch(() => keys)
  }

  /** Fetches the keys as soon as the cooldown has passed. */
  async function fetchNext({ askedAt }: Keys): Promise<Keys> {
    if (issuer.isAway() || waiting >= maxWaiting)
      throw new IssuerUnavailable('the key of the token cannot be fetched at the moment')
    nextFetch ??= cooledDown(askedAt).then(() => {
      nextFetch = null
      return refresh()
    })
    waiting += 1
    try {
      return await nextFetch
    } finally {
      waiting -= 1
    }
  }

  async function cooledDown(since: number): Promise<void> {
    const left = since + cooldown - now()
    if (left > 0) await new Promise<void>((resolve) => void schedule(resolve, Math.min(left, cooldown)))
  }

  function refresh(): Promise<Keys> {
    fetching ??= load().finally(() => {
      fetching = null
    })
    return fetching
  }

  async function load(): Promise<Keys> {
    begun += 1
    const fetchNumber = begun
    const askedAt = now()
    const set = await issuer.ask('jwks_uri', isKeySet)
    const text = JSON.stringify(set)
    const isSame = known?.text === text
    if (known !== null && !isSame) onChange()
    // The same keys stay imported.
    const keys = known !== null && isSame ? known.find : createLocalJWKSet(set)
    known = { find: keys, text, askedAt, fetchNumber }
    return known
  }

  return {
    find,
    freshUntil: () => (known?.askedAt ?? Number.NEGATIVE_INFINITY) + maxAge,
    /** Fetches the keys, unless they are known. */
    warmUp: usable,
  }
}

function isKeySet(received: unknown): received is Jose.JSONWebKeySet {
  return isObject(received) && Array.isArray(received.keys) && received.keys.every(isObject)
}

function noKey(): TokenRefused {
  return new TokenRefused('the issuer has no key of this kid and alg')
}
