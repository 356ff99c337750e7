import { createHash } from 'node:crypto'
import { BoundedCache } from '../../bounded-cache.js'
import type { VerifiedToken, VerifyToken } from './verified-token.js'

/** The tokens that were verified, by their SHA-256: a dump of the memory has no token that is not in use. */
export class TokenCache {
  readonly #verify: VerifyToken
  readonly #now: () => number
  readonly #most: number
  /** The verifications that run, so that requests with the same token share one. */
  readonly #running = new Map<string, Promise<VerifiedToken>>()
  #verified: BoundedCache<string, VerifiedToken>

  constructor(verify: VerifyToken, most: number, now: () => number) {
    this.#verify = verify
    this.#now = now
    this.#most = most
    this.#verified = new BoundedCache(most)
  }

  /** Returns a token that was verified before. */
  known(token: string): VerifiedToken | null {
    return this.#current(digestOf(token))
  }

  /** Verifies a token that is not {@link known}. Throws what the function of the constructor throws. */
  verify(token: string): Promise<VerifiedToken> {
    const digest = digestOf(token)
    const running = this.#running.get(digest)
    if (running !== undefined) return running
    const cache = this.#verified
    const verification = this.#verify(token)
      .then((verified) => {
        // Into the cache of the time when it began: the keys may have changed since.
        cache.set(digest, verified)
        return verified
      })
      .finally(() => this.#running.delete(digest))
    this.#running.set(digest, verification)
    return verification
  }

  /** Forgets all tokens, because the keys of the issuer have changed. */
  clear(): void {
    this.#verified = new BoundedCache(this.#most)
  }

  #current(digest: string): VerifiedToken | null {
    const verified = this.#verified.get(digest)
    return verified !== undefined && this.#now() < verified.verifyAgainAt ? verified : null
  }
}

function digestOf(token: string): string {
  return createHash('sha256').update(token, 'latin1').digest('base64')
}
