import { createHash } from 'node:crypto'
import type * as Jose from 'jose'
import { LruMap } from 'toad-cache'
import type { Caller } from '../../convention/caller.js'
import type { MaybeAsync } from '../../time/async.js'
import type { ResolvedBearer } from './options.js'

const maxWarned = 100

/** Milliseconds between two requests for keys, and after a failure. */
export const cooldown = 5_000

export interface VerificationKeys {
  readonly find: Jose.JWTVerifyGetKey
  /** Until when the keys are used without another fetch, in milliseconds since the epoch. */
  freshUntil(): number
  /** Fetches the keys, unless they are known. */
  warmUp(): Promise<unknown>
}

/** Returns a function that verifies JWTs (RFC 9068 §4). */
export function jwtVerifier(
  { jwtVerify, decodeProtectedHeader, errors }: typeof Jose,
  { issuer, audience, algorithms, typ, scopeClaim, now }: ResolvedBearer,
  { find, freshUntil }: VerificationKeys,
  log: { warn(values: object, message: string): void },
): VerifyToken {
  const settings = {
    issuer,
    audience: [...audience],
    algorithms: [...algorithms],
    clockTolerance,
    requiredClaims: ['sub', 'exp'],
    ...(typ === false ? {} : { typ }),
  }
  const warned = new LruMap<true>(maxWarned)

  return async function verifyJwt(token) {
    const time = now()
    try {
      const { payload } = await jwtVerify(token, find, { ...settings, currentDate: new Date(time) })
      const expiresAt = ((payload.exp ?? 0) + clockTolerance) * 1000
      // Keys that the issuer has removed are noticed when a token is verified. While it is away, tokens are kept for a moment.
      const verifyAgainAt = Math.min(expiresAt, Math.max(freshUntil(), time + cooldown))
      return { caller: callerOf(payload, scopeClaim), verifyAgainAt }
    } catch (error) {
      if (error instanceof TokenRefused || error instanceof IssuerUnavailable) throw error
      if (error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid))
        throw new TokenRefused(reasonOf(error))
      warnOnce(token, error)
      throw new TokenRefused('the key of the issuer cannot be used')
    }
  }

  /** Any other error is that of a key, such as one that is too short. */
  function warnOnce(token: string, err: unknown): void {
    const { alg, kid } = decodeProtectedHeader(token)
    const name = `${alg} ${kid}`
    if (warned.get(name) === true) return
    warned.set(name, true)
    log.warn({ err, alg, kid }, 'bearer: a key of the issuer cannot be used, and its tokens are refused')
  }
}

/** Returns the code of an error of jose and the name of the claim, but not its message: it may quote the token. */
function reasonOf(error: Jose.errors.JOSEError): string {
  const { code, claim } = error as Jose.errors.JOSEError & { readonly claim?: unknown }
  return typeof claim === 'string' ? `${code} ${claim}` : code
}

export interface VerifiedToken {
  readonly caller: Caller
  /** When it has to be verified again, in milliseconds since the epoch. */
  readonly verifyAgainAt: number
}

export type VerifyToken = (token: string) => Promise<VerifiedToken>

/** A token is not valid. The message is for the log, and does not contain the token. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused'
}

export class IssuerUnavailable extends Error {
  override readonly name = 'IssuerUnavailable'
}

/** Seconds that the clocks of the issuer and of this service may differ. */
export const clockTolerance = 10

/** Returns the caller of a token from its claims, which are frozen: several requests share them. */
export function callerOf(claims: Record<string, unknown>, scopeClaim: string): Caller {
  const { sub, cnf } = claims
  // RFC 7800, 8705, 9449: nothing here proves that the client has the key.
  if (cnf !== undefined) throw new TokenRefused('the token is bound to a key of the client (cnf)')
  if (typeof sub !== 'string' || sub === '') throw new TokenRefused('the claim sub is not a text')
  return Object.freeze({
    subject: sub,
    scopes: Object.freeze(scopesOf(claims[scopeClaim], scopeClaim)),
    claims: deepFreeze(claims),
  })
}

function scopesOf(given: unknown, claim: string): string[] {
  const list: unknown = typeof given === 'string' ? given.split(' ') : (given ?? [])
  if (!Array.isArray(list) || !list.every((scope) => typeof scope === 'string'))
    throw new TokenRefused(`the claim ${claim} is neither a text nor a list of texts`)
  return [...new Set(list as string[])].filter((scope) => scope !== '')
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}

/** Verified tokens in memory, about 2 kB each. */
const maxTokens = 5000

export type TokenCache = ReturnType<typeof tokenCache>

/** The tokens that were verified, by their SHA-256: a dump of the memory has no token that is not in use. */
export function tokenCache(verify: VerifyToken, now: () => number) {
  /** The verifications that run, so that requests with the same token share one. */
  const running = new Map<string, Promise<VerifiedToken>>()
  let verified = new LruMap<VerifiedToken>(maxTokens)

  function known(token: string, digest = digestOf(token)): VerifiedToken | undefined {
    const found = verified.get(digest)
    return found !== undefined && now() < found.verifyAgainAt ? found : undefined
  }

  function get(token: string): MaybeAsync<VerifiedToken> {
    const digest = digestOf(token)
    // Into the cache of the time when it began: the keys may have changed since.
    const cache = verified
    const found = known(token, digest) ?? running.get(digest)
    if (found !== undefined) return found
    const verification = verify(token)
      .then((one) => {
        if (now() < one.verifyAgainAt) cache.set(digest, one)
        return one
      })
      .finally(() => running.delete(digest))
    running.set(digest, verification)
    return verification
  }

  return {
    known,
    get,
    /** Forgets all tokens, because the keys of the issuer have changed. */
    clear() {
      verified = new LruMap(maxTokens)
    },
  }
}

function digestOf(token: string): string {
  return createHash('sha256').update(token, 'latin1').digest('base64')
}
