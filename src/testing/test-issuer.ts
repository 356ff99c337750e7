import { randomUUID } from 'node:crypto'
import { loadPeer } from '../load-peer.js'
import type { BearerKeySet } from '../plugins/bearer/options.js'

/** Options of {@link testIssuer}. */
export interface TestIssuerOptions {
  /**
   * The claim `iss`.
   * @default 'https://issuer.test'
   */
  readonly issuer?: string
  /**
   * The claim `aud`.
   * @default 'https://api.test'
   */
  readonly audience?: string
  /**
   * Returns the time, in milliseconds since the epoch; give the same to `bearer`.
   * @default Date.now
   */
  readonly now?: () => number
}

/** What a token of a {@link TestIssuer} says. */
export interface TestTokenOptions {
  /**
   * Id of the caller.
   * @default 'test-user'
   */
  readonly subject?: string
  /** @default [] */
  readonly scopes?: readonly string[]
  /**
   * Seconds until the token expires; a negative number for an expired token.
   * @default 300
   */
  readonly expiresIn?: number
  /**
   * Further claims; they replace those of the other options, and `undefined` leaves one out.
   * @default {}
   */
  readonly claims?: Readonly<Record<string, unknown>>
  /**
   * The `typ` of the header.
   * @default 'at+jwt'
   */
  readonly typ?: string
}

/** An issuer of tokens with keys of its own, for the tests of a service. Nothing goes over a network. */
export interface TestIssuer {
  /** The options of `bearer` that accept the tokens of this issuer. */
  readonly options: { readonly issuer: string; readonly audience: string; readonly jwks: BearerKeySet }
  /** Returns a signed access token (RFC 9068), for `Authorization: Bearer`. */
  token(options?: TestTokenOptions): Promise<string>
}

/**
 * Makes an issuer for tests. Needs the package `jose`.
 *
 * ```ts
 * const issuer = await testIssuer()
 * await app.register(bearer, issuer.options)
 * const authorization = `Bearer ${await issuer.token({ subject: 'ada', scopes: ['users:read'] })}`
 * ```
 *
 * @throws FST_CONV_PACKAGE_MISSING
 */
export async function testIssuer({
  issuer = 'https://issuer.test',
  audience = 'https://api.test',
  // Not the function itself: a test may replace the clock later.
  now = () => Date.now(),
}: TestIssuerOptions = {}): Promise<TestIssuer> {
  const { SignJWT, exportJWK, generateKeyPair } = await loadPeer('testIssuer', 'jose', () => import('jose'))
  const alg = 'ES256'
  const kid = randomUUID()
  const { privateKey, publicKey } = await generateKeyPair(alg)
  const key = { ...(await exportJWK(publicKey)), alg, kid, use: 'sig' }
  return {
    options: { issuer, audience, jwks: { keys: [key] } },
    token({ subject = 'test-user', scopes = [], expiresIn = 300, claims = {}, typ = 'at+jwt' } = {}) {
      const iat = Math.floor(now() / 1000)
      return new SignJWT({
        iss: issuer,
        sub: subject,
        aud: audience,
        exp: iat + expiresIn,
        iat,
        client_id: 'test-client',
        jti: randomUUID(),
        ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
        ...claims,
      })
        .setProtectedHeader({ alg, kid, typ })
        .sign(privateKey)
    },
  }
}
