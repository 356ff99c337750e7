import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { signingAlgorithm } from './clients.js'

/** The keys that tokens are signed with. They exist in memory only: a restart makes all tokens invalid. */
export interface SigningKeys {
  /** The private keys that are published: the first one signs. */
  all(): readonly [JWK, ...JWK[]]
  /** The same without what is private, as a JWK Set (RFC 7517 §5). */
  published(): { keys: JWK[] }
  /**
   * Lets the next key sign. It was published all the time that the key before it signed, so resource servers know it; and
   * that one stays published until its last token has expired.
   */
  rotate(): Promise<void>
}

/**
 * Makes the keys.
 *
 * @param lifetime of tokens, in seconds
 * @param now the time in milliseconds
 */
export async function makeSigningKeys(lifetime: number, now: () => number = Date.now): Promise<SigningKeys> {
  let [signing, next] = await Promise.all([makeKey(), makeKey()])
  let retired: { readonly key: JWK; readonly until: number }[] = []
  const all = (): [JWK, ...JWK[]] => [signing, next, ...retired.map(({ key }) => key)]
  return {
    all,
    published: () => ({ keys: all().map(({ d: _private, ...key }) => key) }),
    async rotate() {
      const made = await makeKey()
      retired = retired.filter(({ until }) => until > now())
      retired.push({ key: signing, until: now() + lifetime * 1000 })
      signing = next
      next = made
    },
  }
}

async function makeKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true })
  const key = await exportJWK(privateKey)
  return { ...key, kid: await calculateJwkThumbprint(key), alg: signingAlgorithm, use: 'sig' }
}
