import { isObject } from '../../options.js'
import type { Issuer } from './issuer.js'
import type { IntrospectionOptions, ResolvedBearer } from './options.js'
import { callerOf, clockTolerance, IssuerUnavailable, TokenRefused, type VerifyToken } from './tokens.js'

const maxConcurrent = 1000

/** The response of an issuer (RFC 7662 §2.2). */
interface Introspection extends Readonly<Record<string, unknown>> {
  readonly active: boolean
}

export function introspector(
  issuer: Issuer,
  options: ResolvedBearer,
  { clientId, clientSecret, cacheFor = 0 }: IntrospectionOptions,
): VerifyToken {
  const pair = [clientId, clientSecret].map(formEncoded).join(':')
  const headers = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    authorization: `Basic ${Buffer.from(pair).toString('base64')}`,
  }
  let concurrent = 0

  return async function introspect(token) {
    if (concurrent >= maxConcurrent) throw new IssuerUnavailable('too many tokens are being verified')
    concurrent += 1
    try {
      const body = new URLSearchParams({ token, token_type_hint: 'access_token' }).toString()
      const question = { method: 'POST', headers, body }
      const response = await issuer.ask('introspection_endpoint', isIntrospection, question)
      const now = options.now()
      const expiresAt = checkClaims(response, options, now / 1000)
      const { active: _, ...claims } = response
      // A client that acts for itself: RFC 9068 §2.2 has its id in `sub`.
      const caller = callerOf({ ...claims, sub: claims.sub ?? claims.client_id }, options.scopeClaim)
      return { caller, verifyAgainAt: Math.min(expiresAt, now + Number(cacheFor)) }
    } finally {
      concurrent -= 1
    }
  }
}

function isIntrospection(response: unknown): response is Introspection {
  return isObject(response) && typeof response.active === 'boolean'
}

// RFC 6749 §2.3.1
function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

/** Returns when the token expires, in milliseconds since the epoch. Throws unless it is valid here and now. */
function checkClaims(
  { active, iss, aud, exp, nbf, token_type: type }: Introspection,
  { issuer, audience }: ResolvedBearer,
  seconds: number,
): number {
  if (!active) throw new TokenRefused('the token is not active')
  if (iss !== undefined && iss !== issuer) throw new TokenRefused('the token is of another issuer')
  if (![aud].flat().some((one) => typeof one === 'string' && audience.includes(one)))
    throw new TokenRefused('the token is for another audience')
  // RFC 7662 §2.2 leaves the token types to RFC 6749 §7.1.
  if (typeof type === 'string' && !/^bearer$|^access_token$/i.test(type))
    throw new TokenRefused('the token is not a bearer token')
  if (exp !== undefined && !(Number(exp) + clockTolerance > seconds))
    throw new TokenRefused('the token is expired')
  if (nbf !== undefined && !(Number(nbf) - clockTolerance <= seconds))
    throw new TokenRefused('the token is not valid yet')
  return exp === undefined ? Number.POSITIVE_INFINITY : (Number(exp) + clockTolerance) * 1000
}
