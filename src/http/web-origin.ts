import { type Check, invalid } from '../options.js'
import type { RequestFields } from './field-name.js'

/** Whether a text is an origin as browsers send it (RFC 6454 §6.2). `null` is not one: all pages in sandboxes have it. */
export function isWebOrigin(text: string): boolean {
  if (!originShape.test(text)) return false
  // A URL parser returns an origin for the schemes of the web only; other schemes are checked by the shape.
  return !/^https?:/.test(text) || (URL.canParse(text) && new URL(text).origin === text)
}

export const webOrigin: Check<string> = (label, received) =>
  typeof received === 'string' && isWebOrigin(received)
    ? received
    : invalid(label, "an origin such as 'https://app.example', without a path", received)

const originShape = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*A-Z]+$/

/** Whether a request is from a page of another origin, by what the browser sends. */
export function isCrossOrigin(fields: RequestFields, allowed: readonly string[]): boolean {
  const { origin, 'sec-fetch-site': site } = fields
  if (typeof origin === 'string' && allowed.includes(origin)) return false
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && !hasAuthority(String(origin), authorityOf(fields))
}

function hasAuthority(origin: string, authority: string): boolean {
  // URL gives other schemes the origin `null`, which a sandboxed page has too.
  const scheme = /^https?:\/\//.exec(origin)?.[0]
  const address = `${scheme}${authority}`
  return scheme !== undefined && URL.canParse(address) && new URL(address).origin === origin
}

/** Returns the authority that the client sent the request to; of several proxies the nearest, as `request.host` does. */
function authorityOf(fields: RequestFields): string {
  const forwarded = String(fields['x-forwarded-host'] ?? '')
    .split(',')
    .at(-1)
    ?.trim()
  return forwarded || String(fields.host ?? fields[':authority'] ?? '')
}
