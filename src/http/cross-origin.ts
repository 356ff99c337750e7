import type { RequestFields } from './field-name.js'

/**
 * Whether a request is from a page of another origin, by what the browser sends. `false` without such header fields: clients
 * other than browsers send none.
 *
 * `Sec-Fetch-Site` decides if it is present (Fetch Metadata, "The Sec-Fetch-Site HTTP Request Header"): `same-origin`, or
 * `none` for a request that no page began. Otherwise, over plain HTTP and from old browsers, `Origin` decides (Fetch,
 * "`Origin` header"; RFC 6454 §7): its host and port have to be those of the request. Its scheme is not compared, because
 * the connection may be that of a proxy. `null`, several origins, and origins of other schemes are cross-origin.
 *
 * `X-Forwarded-Host` comes before the authority, whoever sent it. A page of another origin can set neither: one is a
 * forbidden request-header (Fetch), and the other requires a preflight.
 *
 * @param allowed origins that count as the same, in the form that browsers send (RFC 6454 §6.2)
 */
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
