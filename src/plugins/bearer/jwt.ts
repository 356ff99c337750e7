import type * as Jose from 'jose'
import type { FindKey } from './key-set.js'
import type { ResolvedBearer } from './options.js'
import { callerOf, TokenRefused, type VerifyToken } from './verified-token.js'

/** The functions of jose that are used. */
export type JoseModule = Pick<typeof Jose, 'jwtVerify' | 'createLocalJWKSet' | 'errors'>

/** Keys that are tried for a token that does not name its key. */
const maxKeys = 10

/** Returns a function that verifies JWTs (RFC 9068 §4). */
export function jwtVerifier(
  { jwtVerify, errors }: JoseModule,
  options: ResolvedBearer,
  find: FindKey,
): VerifyToken {
  const { issuer, algorithms, typ, requiredClaims, scopeClaim, clockTolerance, keysMaxAge, now } = options
  const verification = {
    issuer,
    audience: [...options.audience],
    algorithms: [...algorithms],
    clockTolerance,
    requiredClaims: ['sub', 'exp', ...requiredClaims],
    ...(typ === false ? {} : { typ }),
  }

  async function verify(token: string, time: number): Promise<Jose.JWTPayload> {
    const settings = { ...verification, currentDate: new Date(time) }
    try {
      return (await jwtVerify(token, find, settings)).payload
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      return verifyByEach(token, error, settings)
    }
  }

  /** Tries the keys that a token may be signed with. */
  async function verifyByEach(
    token: string,
    keys: AsyncIterable<Jose.CryptoKey>,
    settings: Jose.JWTVerifyOptions,
  ): Promise<Jose.JWTPayload> {
    let count = 0
    for await (const key of keys) {
      count += 1
      if (count > maxKeys) break
      try {
        return (await jwtVerify(token, key, settings)).payload
      } catch (error) {
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error
      }
    }
    throw new errors.JWSSignatureVerificationFailed()
  }

  return async function verifyJwt(token) {
    const time = now()
    try {
      const claims = await verify(token, time)
      const expiresAt = ((claims.exp ?? 0) + clockTolerance) * 1000
      return {
        caller: callerOf(claims, scopeClaim),
        // Keys that the issuer has removed are noticed when a token is verified.
        verifyAgainAt: Math.min(expiresAt, time + keysMaxAge),
      }
    } catch (error) {
      if (error instanceof errors.JOSEError) throw new TokenRefused(reasonOf(error))
      throw error
    }
  }
}

/** Returns the code of an error of jose and the name of the claim, but not its message: it may quote the token. */
function reasonOf(error: Jose.errors.JOSEError): string {
  const { code, claim } = error as Jose.errors.JOSEError & { readonly claim?: unknown }
  return typeof claim === 'string' ? `${code} ${claim}` : code
}
