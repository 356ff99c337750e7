import { isObject } from '../../options.js'
import type { Issuer } from './issuer.js'
import type { ResolvedBearer, ResolvedIntrospection } from './options.js'
import {
  callerOf,
  IssuerRefused,
  IssuerUnavailable,
  isForAudience,
  TokenRefused,
  type VerifiedToken,
  type VerifyToken,
} from './tokens.js'

const maxConcurrent = 1000

/** Statuses of 4xx that are about this service, as a client of the issuer: its credentials, its speed, its requests so far. */
const aboutService: ReadonlySet<number> = new Set([401, 407, 408, 429])

/** Returns a function that asks the issuer about tokens (RFC 7662). */
export function introspector(
  issuer: Issuer,
  options: ResolvedBearer,
  introspection: ResolvedIntrospection,
  onAsk: (error: unknown) => void,
): VerifyToken {
  const { now, keysCooldown } = options
  let failedAt = Number.NEGATIVE_INFINITY
  let concurrent = 0

  async function ask(token: string): Promise<Introspection> {
    if (now() - failedAt < keysCooldown)
      throw new IssuerUnavailable('the issuer was not reached a moment ago')
    if (concurrent >= maxConcurrent) throw new IssuerUnavailable('too many tokens are being verified')
    concurrent += 1
    try {
      const init = introspectionRequest(introspection, token)
      const response = await issuer.ask('introspection_endpoint', introspection.endpoint, init)
      if (!isIntrospection(response))
        throw new IssuerUnavailable('the response of the issuer is not an introspection response')
      failedAt = Number.NEGATIVE_INFINITY
      onAsk(null)
      return response
    } catch (error) {
      const isRefused = error instanceof IssuerRefused
      if (isRefused && !aboutService.has(error.status)) throw new TokenRefused(error.message)
      if (!isRefused) failedAt = now()
      onAsk(error)
      throw error
    } finally {
      concurrent -= 1
    }
  }

  return async function introspect(token) {
    return verifiedBy(await ask(token), options, introspection, now())
  }
}

/** The response of an issuer (RFC 7662 §2.2). */
interface Introspection extends Readonly<Record<string, unknown>> {
  readonly active: boolean
}

function isIntrospection(response: unknown): response is Introspection {
  return isObject(response) && typeof response.active === 'boolean'
}

/** Returns the request about a token (RFC 7662 §2.1). */
function introspectionRequest(
  { clientId, clientSecret, authentication }: ResolvedIntrospection,
  token: string,
): RequestInit {
  const form = new URLSearchParams({ token, token_type_hint: 'access_token' })
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  }
  if (authentication === 'post') {
    form.set('client_id', clientId)
    form.set('client_secret', clientSecret)
  } else {
    const pair = [clientId, clientSecret].map(formEncoded).join(':')
    headers.authorization = `Basic ${Buffer.from(pair).toString('base64')}`
  }
  return { method: 'POST', headers, body: form.toString() }
}

// RFC 6749 §2.3.1
function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

/** Returns what the response of the issuer says about a token (RFC 7662 §2.2). */
function verifiedBy(
  response: Introspection,
  { issuer, audience, scopeClaim, clockTolerance }: ResolvedBearer,
  { cacheFor, allowMissingAudience }: ResolvedIntrospection,
  now: number,
): VerifiedToken {
  const { active, ...claims } = response
  const { iss, aud, exp, nbf, sub, client_id: clientId, token_type: type } = claims
  if (!active) throw new TokenRefused('the token is not active')
  if (iss !== undefined && iss !== issuer) throw new TokenRefused('the token is of another issuer')
  if (aud === undefined ? !allowMissingAudience : !isForAudience(aud, audience))
    throw new TokenRefused('the token is for another audience')
  // RFC 7662 §2.2 leaves the token types to RFC 6749 §7.1.
  if (typeof type === 'string' && !/^bearer$|^access_token$/i.test(type))
    throw new TokenRefused('the token is not a bearer token')
  const seconds = now / 1000
  if (exp !== undefined && !(Number(exp) + clockTolerance > seconds))
    throw new TokenRefused('the token is expired')
  if (nbf !== undefined && !(Number(nbf) - clockTolerance <= seconds))
    throw new TokenRefused('the token is not valid yet')
  const expiresAt = exp === undefined ? Number.POSITIVE_INFINITY : (Number(exp) + clockTolerance) * 1000
  // A client that acts for itself: RFC 9068 §2.2 has its id in `sub`.
  const caller = callerOf({ ...claims, sub: sub ?? clientId }, scopeClaim)
  return { caller, verifyAgainAt: Math.min(expiresAt, now + cacheFor) }
}
