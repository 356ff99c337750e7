import type * as Jose from 'jose'
import { LruMap } from 'toad-cache'
import { isObject } from '../../options.js'
import { outageLog } from '../../time/async.js'
import { isSecure, type ResolvedBearer } from './options.js'
import { cooldown, IssuerUnavailable, TokenRefused, type VerificationKeys } from './tokens.js'

const timeout = 5_000
const maxBytes = 262_144

const outageInterval = 60_000

/** Statuses of 4xx that are about this service, as a client of the issuer: its credentials, its speed, its requests so far. */
const aboutService: ReadonlySet<number> = new Set([401, 407, 408, 429])

interface Log {
  info(message: string): void
  error(values: object, message: string): void
}

export type Issuer = ReturnType<typeof issuerOf>

export function issuerOf({ issuer, allowHttp, jwksUri, fetch, now }: ResolvedBearer, log: Log) {
  const outage = outageLog(outageInterval, now)
  let metadata: unknown
  let failedAt = Number.NEGATIVE_INFINITY

  /** Whether a request has failed a moment ago. Until that has passed, the issuer is not asked. */
  const isAway = (): boolean => now() - failedAt < cooldown

  /** @param question asks about a token; a refusal of it is not an outage */
  async function ask<Answer>(
    endpoint: 'jwks_uri' | 'introspection_endpoint',
    isAnswer: (value: unknown) => value is Answer,
    question?: RequestInit,
  ): Promise<Answer> {
    if (isAway()) throw new IssuerUnavailable('the issuer was not reached a moment ago')
    let status = 0
    try {
      const url = endpoint === 'jwks_uri' && jwksUri !== undefined ? jwksUri : await endpointOf(endpoint)
      const response = await fetchText(url, question)
      status = response[0]
      const answer = jsonOf(url, response)
      if (!isAnswer(answer)) throw new IssuerUnavailable(`the response of ${url} is not what was asked for`)
      failedAt = Number.NEGATIVE_INFINITY
      if (outage.ends()) log.info('bearer: the issuer answers again')
      return answer
    } catch (error) {
      const isOfQuestion = question !== undefined && isRefusal(status)
      // An endpoint that refuses one request is still there.
      if (!isOfQuestion || status === 404) metadata = undefined
      if (isOfQuestion && !aboutService.has(status)) throw new TokenRefused((error as Error).message)
      if (!isOfQuestion) failedAt = now()
      if (outage.begins()) log.error({ err: error }, 'bearer: the issuer cannot be used')
      throw error
    }
  }

  async function endpointOf(name: string): Promise<string> {
    metadata ??= await discover()
    // RFC 8414 §3.3
    if (!isObject(metadata) || metadata.issuer !== issuer)
      throw new IssuerUnavailable(`the metadata of ${issuer} is of another issuer`)
    const endpoint = metadata[name]
    if (typeof endpoint === 'string' && isSecure(endpoint, allowHttp)) return endpoint
    throw new IssuerUnavailable(
      `the metadata of ${issuer} has no ${name} that may be used: https is required`,
    )
  }

  async function discover(): Promise<unknown> {
    const { origin, pathname, search } = new URL(issuer)
    const path = pathname.replace(/\/$/, '')
    const urls = [
      // RFC 8414 §3.1: between the host and the path.
      `${origin}/.well-known/oauth-authorization-server${path}${search}`,
      // OpenID Connect Discovery 1.0 §4.1: after the path.
      `${origin}${path}/.well-known/openid-configuration${search}`,
    ]
    for (const url of urls) {
      const response = await fetchText(url)
      if (!isRefusal(response[0])) return jsonOf(url, response)
    }
    throw new IssuerUnavailable(`${issuer} has no metadata: ${urls.join(', ')}`)
  }

  async function fetchText(url: string, question?: RequestInit): Promise<FetchedText> {
    try {
      const signal = AbortSignal.timeout(timeout)
      const { status, body } = await fetch(url, { ...question, redirect: 'error', signal })
      if (status !== 200 || body === null) {
        await body?.cancel()
        return [status, null]
      }
      const chunks: Uint8Array[] = []
      let length = 0
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        length += chunk.byteLength
        if (length > maxBytes) throw new RangeError(`the response has more than ${maxBytes} bytes`)
        chunks.push(chunk)
      }
      return [status, Buffer.concat(chunks).toString('utf8')]
    } catch (cause) {
      throw new IssuerUnavailable(`${url} cannot be read`, { cause })
    }
  }

  return { isAway, ask }
}

/** The status, and the text of a 200. */
type FetchedText = readonly [status: number, text: string | null]

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500
}

function jsonOf(url: string, [status, text]: FetchedText): unknown {
  if (text === null) throw new IssuerUnavailable(`${url} answered ${status}`)
  try {
    return JSON.parse(text)
  } catch {
    // The cause would have a part of the response.
    throw new IssuerUnavailable(`${url} did not answer with JSON`)
  }
}

interface Keys {
  readonly find: Jose.JWTVerifyGetKey
  readonly text: string
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
 * Returns the fixed keys, or those of an issuer. Many requests share one fetch.
 *
 * @param onChange called when keys were replaced or removed
 */
export function keySet(
  { createLocalJWKSet, errors }: Pick<typeof Jose, 'createLocalJWKSet' | 'errors'>,
  issuer: Issuer,
  { jwks, now, schedule }: Pick<ResolvedBearer, 'jwks' | 'now' | 'schedule'>,
  onChange: () => void,
): VerificationKeys {
  if (jwks !== undefined) {
    const find = createLocalJWKSet(jwks as Jose.JSONWebKeySet)
    return { find, freshUntil: () => Number.POSITIVE_INFINITY, warmUp: async () => {} }
  }
  let known: Keys | null = null
  let fetching: Promise<Keys> | null = null
  let nextFetch: Promise<Keys> | null = null
  let waiting = 0
  let begun = 0
  /** The keys that the last fetches did not have, and when a token may ask for them again. */
  const missed = new LruMap<number>(maxMissed)

  const find: Jose.JWTVerifyGetKey = async (header, input) => {
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
    warmUp: usable,
  }
}

function isKeySet(received: unknown): received is Jose.JSONWebKeySet {
  return isObject(received) && Array.isArray(received.keys) && received.keys.every(isObject)
}

function noKey(): TokenRefused {
  return new TokenRefused('the issuer has no key of this kid and alg')
}
