import { createHmac } from 'node:crypto'
import type csrf from '@fastify/csrf'
import { cookieValues, readSetCookie } from '../../http/header-fields.js'

/**
 * Returns what identifies a session: the values of its cookies, in the order of the names.
 *
 * @param header `Cookie` of the request
 * @param setCookies the lines `Set-Cookie` of a response, for the session after it
 */
export function sessionOf(
  names: readonly string[],
  header: string | undefined,
  setCookies: readonly string[] = [],
): string | null {
  const set = new Map<string, string>()
  for (const line of setCookies) {
    const cookie = readSetCookie(line)
    if (cookie !== null) set.set(cookie.name, cookie.value)
  }
  const pairs = names.flatMap((name) => {
    const value = set.get(name)
    const values = value === undefined ? cookieValues(header ?? '', name) : value === '' ? [] : [value]
    return values.map((one) => `${name}=${one}`)
  })
  return pairs.length === 0 ? null : pairs.join(';')
}

export interface XsrfTokens {
  create(session: string): string
  isValid(token: string, session: string): boolean
}

// A token has 96 characters.
const maxToken = 200

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
  return {
    create: first.create,
    isValid: (token, session) =>
      token.length <= maxToken && signers.some(({ verify }) => verify(token, session)),
  }
}

/** Derives a key, so that the secret of the app, which may sign its cookies too, signs no token. */
function keyOf(secret: string, purpose: string): string {
  return createHmac('sha256', secret).update(`fastify-conventions/xsrf/${purpose}`).digest('base64url')
}
