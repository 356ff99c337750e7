import type { RequestFields } from '../../http/header-fields.js'
import { isCrossOrigin } from '../../http/url.js'

export type XsrfRule = 'origin' | 'token' | 'requestedWith'

export interface XsrfFacts {
  readonly method: string
  readonly hasSession: boolean
  readonly login: boolean
  /** Whether the route sends JSON that only a script of an allowed page may get. */
  readonly requestedWith: boolean
  readonly origins: readonly string[]
}

/**
 * Returns the rule that a request breaks, `token` if it needs a token, or `null`.
 *
 * Unsafe methods (RFC 9110 §9.2.1) are refused from other origins, and need a token. A WebSocket handshake is a GET, has the
 * cookies of the user, and no page can add a header to it: it is refused from other origins. A request to a route that
 * begins a session is too, with or without a cookie: a page must not log its visitors in as somebody else.
 */
export function decideXsrf(fields: RequestFields, facts: XsrfFacts): XsrfRule | null {
  const { method, hasSession, login, requestedWith, origins } = facts
  if (method === 'OPTIONS' || method === 'TRACE') return null
  const isHandshake = isWebSocket(fields)
  if (isRead(method) && !isHandshake) {
    return hasSession && requestedWith && mayBeElement(fields) ? 'requestedWith' : null
  }
  if (!hasSession && !(login && !isHandshake)) return null
  if (isForeign(fields, origins)) return 'origin'
  return login || isHandshake ? null : 'token'
}

export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** By `Sec-Fetch-Site`, else by `Origin`, else by `Referer`. */
function isForeign(fields: RequestFields, origins: readonly string[]): boolean {
  const { origin, referer, 'sec-fetch-site': site } = fields
  if (origin !== undefined || site !== undefined || referer === undefined)
    return isCrossOrigin(fields, origins)
  return isCrossOrigin({ ...fields, origin: originOf(String(referer)) }, origins)
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
