import { createHmac } from 'node:crypto'
import type csrf from '@fastify/csrf'
import { BoundedCache } from '../../bounded-cache.js'
import { cookieValues, readSetCookie } from '../../http/cookies.js'

/** Returns what identifies the session of a request: the values of its cookies, in the order of the names. */
export function sessionOfCookies(header: string | undefined, names: readonly string[]): string | null {
  if (header === undefined) return null
  return joined(names.map((name) => [name, cookieValues(header, name)]))
}

/** Returns what identifies the session after a response that sets or removes its cookies; else `undefined`. */
export function sessionAfter(
  setCookies: readonly string[],
  header: string | undefined,
  names: readonly string[],
): string | null | undefined {
  const set = new Map<string, string>()
  for (const line of setCookies) {
    const cookie = readSetCookie(line)
    if (cookie !== null && names.includes(cookie.name)) set.set(cookie.name, cookie.value)
  }
  if (set.size === 0) return undefined
  return joined(
    names.map((name) => {
      const value = set.get(name)
      if (value === undefined) return [name, cookieValues(header ?? '', name)]
      return [name, value === '' ? [] : [value]]
    }),
  )
}

function joined(cookies: readonly (readonly [name: string, values: readonly string[]])[]): string | null {
  const pairs = cookies.flatMap(([name, values]) => values.map((value) => `${name}=${value}`))
  return pairs.length === 0 ? null : pairs.join(';')
}

export interface XsrfTokens {
  create(session: string): string
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
