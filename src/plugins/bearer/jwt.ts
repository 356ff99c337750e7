import type * as Jose from 'jose'
import type { FindKey } from './key-set.js'
import type { ResolvedBearer } from './options.js'
import { callerOf, IssuerUnavailable, TokenRefused, type VerifyToken } from './tokens.js'

export type JoseModule = Pick<typeof Jose, 'jwtVerify' | 'createLocalJWKSet' | 'errors'>

/** Keys that are tried for a token that does not name its key. */
const maxKeys = 10

export interface VerificationKeys {
  readonly find: FindKey
  /** Until when a token that a key has verified need not be verified again, in milliseconds since the epoch. */
  freshUntil(): number
  /** Called when a key cannot be used, because it is broken or weak. */
  onUnusable(key: { readonly alg: string; readonly kid: string | undefined }, error: unknown): void
}

/** Returns a function that verifies JWTs (RFC 9068 §4). */
export function jwtVerifier(
  { jwtVerify, errors }: JoseModule,
  options: ResolvedBearer,
  { find, freshUntil, onUnusable }: VerificationKeys,
): VerifyToken {
  const {
    issuer,
    algorithms,
    typ,
    requiredClaims,
    scopeClaim,
    clockTolerance,
    keysMaxAge,
    keysCooldown,
    now,
  } = options
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
    const key: { alg: string; kid: string | undefined } = { alg: '', kid: undefined }
    const findNamed: FindKey = (header, input) => {
      Object.assign(key, { alg: header?.alg, kid: header?.kid })
      return find(header, input)
    }
    try {
      return (await jwtVerify(token, findNamed, settings)).payload
    } catch (error) {
      if (error instanceof errors.JWKSMultipleMatchingKeys) {
        return verifyByEach(token, error, settings, (cause) => onUnusable(key, cause))
      }
      if (!isByKey(error)) throw error
      onUnusable(key, error)
      throw new TokenRefused('the key of the issuer cannot be used')
    }
  }

  /** Whether an error is that of a key, such as one that is too short, and not that of the token. */
  function isByKey(error: unknown): boolean {
    if (error instanceof errors.JOSEError) return error instanceof errors.JWKSInvalid
    return !(error instanceof TokenRefused || error instanceof IssuerUnavailable)
  }

  async function verifyByEach(
    token: string,
    keys: AsyncIterable<Jose.CryptoKey>,
    settings: Jose.JWTVerifyOptions,
    skip: (error: unknown) => void,
  ): Promise<Jose.JWTPayload> {
    let count = 0
    for await (const key of keys) {
      count += 1
      if (count > maxKeys) break
      try {
        return (await jwtVerify(token, key, settings)).payload
      } catch (error) {
        if (isByKey(error)) skip(error)
        else if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error
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
        // Keys that the issuer has removed are noticed when a token is verified. While it is away, tokens are kept for a moment.
        verifyAgainAt: Math.min(expiresAt, time + keysMaxAge, Math.max(freshUntil(), time + keysCooldown)),
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
