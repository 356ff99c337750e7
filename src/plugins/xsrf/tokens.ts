import { createHmac } from 'node:crypto'
import type csrf from '@fastify/csrf'
import { BoundedCache } from '../../bounded-cache.js'

/** Makes and verifies tokens that are bound to a session. */
export interface XsrfTokens {
  /** Returns a new token of a session. */
  create(session: string): string
  /** Whether a token is of a session. */
  isValid(token: string, session: string): boolean
}

/** Returns tokens by @fastify/csrf: a salt, and an HMAC of salt and session. The server keeps nothing about them. */
export function sessionTokens(Tokens: typeof csrf.Tokens, secrets: readonly string[]): XsrfTokens {
  const signers = secrets.map((secret) => {
    const tokens = new Tokens({ hmacKey: keyOf(secret, 'key'), userInfo: true })
    const inner = keyOf(secret, 'secret')
    return {
      create: (session: string) => tokens.create(inner, session),
      verify: (token: string, session: string) => tokens.verify(inner, token, session),
    }
  })
  const [first] = signers
  if (first === undefined) throw new TypeError('tokens need a secret')
  // The page sends the same token with each request.
  const valid = new BoundedCache<string, true>(maxCached)
  return {
    create: first.create,
    isValid(token, session) {
      if (token.length > maxToken) return false
      const key = `${token} ${session}`
      if (valid.get(key) === true) return true
      const isValid = signers.some(({ verify }) => verify(token, session))
      if (isValid && key.length <= maxCachedLength) valid.set(key, true)
      return isValid
    },
  }
}

// A token has 96 characters.
const maxToken = 200
const maxCached = 1000
const maxCachedLength = 1000

/** Derives a key, so that the secret of the app, which may sign its cookies too, signs no token. */
function keyOf(secret: string, purpose: string): string {
  return createHmac('sha256', secret).update(`fastify-conventions/xsrf/${purpose}`).digest('base64url')
}
