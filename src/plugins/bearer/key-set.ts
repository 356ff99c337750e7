import type { CompactJWSHeaderParameters, CryptoKey, FlattenedJWSInput, JSONWebKeySet } from 'jose'
import { BoundedCache } from '../../bounded-cache.js'
import { isObject } from '../../options.js'
import type { Schedule } from '../../time/schedule.js'
import { IssuerUnavailable, TokenRefused } from './tokens.js'

export type FindKey = (header?: CompactJWSHeaderParameters, input?: FlattenedJWSInput) => Promise<CryptoKey>

/** What a {@link KeySet} needs. Durations are in milliseconds. */
export interface KeySetSettings {
  readonly maxAge: number
  readonly maxStale: number
  readonly cooldown: number
  readonly now: () => number
  readonly schedule: Schedule
  readonly load: () => Promise<unknown>
  /** Makes a function that finds keys in a set: `createLocalJWKSet` of jose. */
  readonly finderOf: (keys: JSONWebKeySet) => FindKey
  /** Whether an error of {@link FindKey} says that the set has no such key. */
  readonly isNoKey: (error: unknown) => boolean
  /** Called when keys were replaced or removed. */
  readonly onChange: () => void
  /** Called after each fetch; with `null` after one that worked. */
  readonly onFetch: (error: unknown) => void
}

interface Keys {
  readonly find: FindKey
  readonly text: string
  readonly fetchedAt: number
  /** How many fetches had begun when this one did, itself included. */
  readonly fetchNumber: number
}

/** Requests that may wait at the same time for a key that is not known. */
const maxWaiting = 1000
const maxMissed = 1000
const maxKeyIdLength = 256

/** The keys of an issuer. Many requests share one fetch. */
export class KeySet {
  readonly #settings: KeySetSettings
  #keys: Keys | null = null
  #fetch: Promise<void> | null = null
  #nextFetch: Promise<void> | null = null
  #waiting = 0
  #begun = 0
  #beganAt = Number.NEGATIVE_INFINITY
  /** When the last fetch has failed; -Infinity if it has worked. */
  #failedAt = Number.NEGATIVE_INFINITY
  /** The keys that the last fetches did not have, and when a token may ask for them again. */
  readonly #missed = new BoundedCache<string, number>(maxMissed)

  constructor(settings: KeySetSettings) {
    this.#settings = settings
  }

  readonly find: FindKey = async (header, input) => {
    const { now, cooldown } = this.#settings
    const begunBefore = this.#begun
    const name = `${header?.alg} ${header?.kid}`
    for (let keys = await this.#usable(); ; keys = this.#current()) {
      const key = await this.#keyIn(keys, header, input)
      if (key !== null) return key
      if (keys.fetchNumber > begunBefore) break
      // Another request has fetched the keys meanwhile.
      if (this.#keys !== keys) continue
      if (name.length > maxKeyIdLength || now() < (this.#missed.get(name) ?? 0)) throw noKey()
      // A fetch that runs may have begun before the key was published: then another one follows it.
      await (this.#fetch ?? this.#fetchNext())
    }
    if (name.length <= maxKeyIdLength) this.#missed.set(name, now() + cooldown)
    throw noKey()
  }

  /** Fetches the keys, unless they are known. */
  async warmUp(): Promise<void> {
    await this.#usable()
  }

  async #keyIn(keys: Keys, ...parameters: Parameters<FindKey>): Promise<CryptoKey | null> {
    try {
      return await keys.find(...parameters)
    } catch (error) {
      if (this.#settings.isNoKey(error)) return null
      throw error
    }
  }

  #current(): Keys {
    if (this.#keys === null) throw new IssuerUnavailable('the keys of the issuer are not known')
    return this.#keys
  }

  async #usable(): Promise<Keys> {
    const { now, maxAge, maxStale } = this.#settings
    const age = this.#keys === null ? Number.POSITIVE_INFINITY : now() - this.#keys.fetchedAt
    if (age >= maxAge + maxStale) {
      if (this.#fetch === null && this.#isCoolingDown()) throw unreachable()
      await this.#refresh()
    } else if (age >= maxAge && !this.#isCoolingDown()) {
      // The failure is noted by `onFetch`.
      await this.#refresh().catch(() => {})
    }
    return this.#current()
  }

  /** Until when the keys are used without another fetch, in milliseconds since the epoch. */
  freshUntil(): number {
    return (this.#keys?.fetchedAt ?? Number.NEGATIVE_INFINITY) + this.#settings.maxAge
  }

  /** Whether the last fetch has failed a moment ago. */
  #isCoolingDown(): boolean {
    const { now, cooldown } = this.#settings
    return now() - this.#failedAt < cooldown
  }

  /** Fetches the keys as soon as the cooldown has passed; at once if it has. */
  async #fetchNext(): Promise<void> {
    if (this.#isCoolingDown() || this.#waiting >= maxWaiting) throw unreachable()
    this.#nextFetch ??= this.#afterCooldown().then(() => {
      this.#nextFetch = null
      return this.#refresh()
    })
    this.#waiting += 1
    try {
      await this.#nextFetch
    } finally {
      this.#waiting -= 1
    }
  }

  #afterCooldown(): Promise<void> {
    const { now, cooldown, schedule } = this.#settings
    const left = this.#beganAt + cooldown - now()
    return left <= 0 ? Promise.resolve() : new Promise((resolve) => void schedule(resolve, left))
  }

  #refresh(): Promise<void> {
    this.#fetch ??= this.#load().finally(() => {
      this.#fetch = null
    })
    return this.#fetch
  }

  async #load(): Promise<void> {
    const { now, load, finderOf, onChange, onFetch } = this.#settings
    this.#beganAt = now()
    this.#begun += 1
    const fetchNumber = this.#begun
    try {
      const set = keySetOf(await load())
      const text = JSON.stringify(set)
      const before = this.#keys
      // The same keys stay imported.
      const find = before?.text === text ? before.find : finderOf(set)
      this.#keys = { find, text, fetchedAt: now(), fetchNumber }
      this.#failedAt = Number.NEGATIVE_INFINITY
      if (before !== null && before.text !== text) onChange()
      onFetch(null)
    } catch (error) {
      this.#failedAt = now()
      onFetch(error)
      throw error
    }
  }
}

function keySetOf(received: unknown): JSONWebKeySet {
  if (!isObject(received) || !Array.isArray(received.keys) || !received.keys.every(isObject))
    throw new IssuerUnavailable('the response of the issuer is not a key set')
  return received as unknown as JSONWebKeySet
}

function noKey(): TokenRefused {
  return new TokenRefused('the issuer has no key of this kid and alg')
}

function unreachable(): IssuerUnavailable {
  return new IssuerUnavailable('the issuer was not reached a moment ago')
}
