import type * as Jose from 'jose'
import { BoundedCache } from '../../bounded-cache.js'
import { cooldown } from './issuer.js'
import type { VerificationKeys } from './key-set.js'
import type { ResolvedBearer } from './options.js'
import { callerOf, clockTolerance, IssuerUnavailable, TokenRefused, type VerifyToken } from './tokens.js'

const maxWarned = 100

/** Returns a function that verifies JWTs (RFC 9068 §4). */
export function jwtVerifier(
  { jwtVerify, errors }: Pick<typeof Jose, 'jwtVerify' | 'errors'>,
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
  const warned = new BoundedCache<string, true>(maxWarned)

  return async function verifyJwt(token) {
    const time = now()
    let key = {}
    const findNamed: Jose.JWTVerifyGetKey = (header, input) => {
      key = { alg: header.alg, kid: header.kid }
      return find(header, input)
    }
    try {
      const { payload } = await jwtVerify(token, findNamed, { ...settings, currentDate: new Date(time) })
      const expiresAt = ((payload.exp ?? 0) + clockTolerance) * 1000
      // Keys that the issuer has removed are noticed when a token is verified. While it is away, tokens are kept for a moment.
      const verifyAgainAt = Math.min(expiresAt, Math.max(freshUntil(), time + cooldown))
      return { caller: callerOf(payload, scopeClaim), verifyAgainAt }
    } catch (error) {
      if (error instanceof TokenRefused || error instanceof IssuerUnavailable) throw error
      if (error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid))
        throw new TokenRefused(reasonOf(error))
      warnOnce(key, error)
      throw new TokenRefused('the key of the issuer cannot be used')
    }
  }

  /** Any other error is that of a key, such as one that is too short. */
  function warnOnce(key: object, err: unknown): void {
    const name = JSON.stringify(key)
    if (warned.get(name) === true) return
    warned.set(name, true)
    log.warn({ err, ...key }, 'bearer: a key of the issuer cannot be used, and its tokens are refused')
  }
}

/** Returns the code of an error of jose and the name of the claim, but not its message: it may quote the token. */
function reasonOf(error: Jose.errors.JOSEError): string {
  const { code, claim } = error as Jose.errors.JOSEError & { readonly claim?: unknown }
  return typeof claim === 'string' ? `${code} ${claim}` : code
}
