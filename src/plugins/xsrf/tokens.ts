import { createHmac } from 'node:crypto'
import type csrf from '@fastify/csrf'
import { LruMap } from 'toad-cache'
import { isRead } from '../../convention/exchange.js'
import { cookieValues, type RequestFields, readSetCookie } from '../../http/header-fields.js'
import { isCrossOrigin } from '../../http/url.js'

export type XsrfRule = 'origin' | 'token' | 'requestedWith'

export interface XsrfFacts {
  readonly method: string
  readonly hasSession: boolean
  readonly login: boolean
  /** Whether the route sends JSON that only a script of an allowed page may get. */
  readonly requestedWith: boolean
  readonly origins: readonly string[]
  /** The host and the port that the client sent the request to. */
  authority(): string
}

/**
 * Returns the rule that a request breaks, `token` if it needs a token, or `null`.
 *
 * Unsafe methods (RFC 9110 §9.2.1) are refused from other origins, and need a token. A WebSocket handshake is a GET, has the
 * cookies of the user, and no page can add a header to it: it is refused from other origins. A request to a route that
 * begins a session is too, with or without a cookie: a page must not log its visitors in as somebody else.
 */
export function decideXsrf(fields: RequestFields, facts: XsrfFacts): XsrfRule | null {
  const { method, hasSession, login, requestedWith } = facts
  if (method === 'OPTIONS' || method === 'TRACE') return null
  const isHandshake = isWebSocket(fields)
  if (isRead(method) && !isHandshake) {
    return hasSession && requestedWith && mayBeElement(fields) ? 'requestedWith' : null
  }
  if (!hasSession && !(login && !isHandshake)) return null
  if (isForeign(fields, facts)) return 'origin'
  return login || isHandshake ? null : 'token'
}

/** By `Sec-Fetch-Site`, else by `Origin`, else by `Referer`. */
function isForeign(fields: RequestFields, { origins, authority }: XsrfFacts): boolean {
  const { origin, referer, 'sec-fetch-site': site } = fields
  if (origin !== undefined || site !== undefined || referer === undefined)
    return isCrossOrigin(fields, origins, authority)
  return isCrossOrigin({ ...fields, origin: originOf(String(referer)) }, origins, authority)
}

// A page of another origin cannot send X-Requested-With without the consent of CORS.
function mayBeElement(fields: RequestFields): boolean {
  const { 'sec-fetch-site': site, 'x-requested-with': requestedWith } = fields
  if (site === 'same-origin' || site === 'none' || isReadByCors(fields)) return false
  return requestedWith === undefined || requestedWith === ''
}

function isReadByCors({ 'sec-fetch-dest': dest, 'sec-fetch-mode': mode }: RequestFields): boolean {
  return dest === 'empty' && mode !== undefined && mode !== 'no-cors'
}

function isWebSocket({ upgrade, 'sec-fetch-mode': mode }: RequestFields): boolean {
  return mode === 'websocket' || (upgrade !== undefined && /\bwebsocket\b/i.test(String(upgrade)))
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'null'
}

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

export type XsrfTokens = ReturnType<typeof sessionTokens>

// A token has 96 characters.
const maxToken = 200
/** Of verified tokens with their sessions, and of the characters of one. */
const [maxKept, maxKeptLength] = [1_000, 1_000]

/**
 * Returns tokens by @fastify/csrf: a salt, and an HMAC of salt and session. The server keeps nothing about them.
 *
 * @param secrets the first one signs, and all verify
 */
export function sessionTokens(Tokens: typeof csrf.Tokens, secrets: readonly string[]) {
  const signers = secrets.map((secret) => {
    const tokens = new Tokens({ hmacKey: keyOf(secret, 'key'), userInfo: true })
    return { tokens, inner: keyOf(secret, 'secret') }
  })
  const [first] = signers
  if (first === undefined) throw new TypeError('tokens need a secret')
  // A page sends the same token with each request, and its cookie has it, too.
  const valid = new LruMap<true>(maxKept)
  return {
    create: (session: string): string => first.tokens.create(first.inner, session),
    isValid(token: string, session: string): boolean {
      if (token.length > maxToken) return false
      // With its length: a form may send any text as token.
      const key = `${token.length} ${token}${session}`
      if (valid.get(key) === true) return true
      const isValid = signers.some(({ tokens, inner }) => tokens.verify(inner, token, session))
      if (isValid && key.length <= maxKeptLength) valid.set(key, true)
      return isValid
    },
  }
}

/** Derives a key, so that the secret of the app, which may sign its cookies too, signs no token. */
function keyOf(secret: string, purpose: string): string {
  return createHmac('sha256', secret).update(`fastify-conventions/xsrf/${purpose}`).digest('base64url')
}
