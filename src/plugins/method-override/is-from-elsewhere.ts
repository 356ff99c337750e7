import type { RequestFields } from '../../http/field-name.js'

/**
 * Does the browser say that a form is from a page of another origin? `false` where nothing says where it is from: who is
 * no browser need not.
 *
 * `Sec-Fetch-Site` decides where it is there (Fetch Metadata, "The Sec-Fetch-Site HTTP Request Header"): `same-origin`,
 * or `none` for what no page began. Where it is not, over plain HTTP and from browsers of old, `Origin` does (Fetch,
 * "`Origin` header"; RFC 6454 §7): its host and port are those that the request was sent to. Its scheme is not compared,
 * for the connection that ends here may be a proxy's. `null`, several origins, and one that is not of the web are
 * elsewhere.
 *
 * `X-Forwarded-Host` counts before the authority, whoever sent it. A page of another origin can choose neither: one is
 * forbidden to it (Fetch, "forbidden request-header"), the other takes a preflight.
 *
 * @param formOrigins origins that count as this one, written as browsers write them (RFC 6454 §6.2)
 */
export function isFromElsewhere(fields: RequestFields, formOrigins: readonly string[]): boolean {
  const { origin, 'sec-fetch-site': site } = fields
  if (typeof origin === 'string' && formOrigins.includes(origin)) return false
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && !isSentTo(String(origin), authorityOf(fields))
}

function isSentTo(origin: string, authority: string): boolean {
  // To the parser other schemes have the origin `null`, which is what a page in a sandbox has for its own.
  const scheme = /^https?:\/\//.exec(origin)?.[0]
  const address = `${scheme}${authority}`
  return scheme !== undefined && URL.canParse(address) && new URL(address).origin === origin
}

/** What the client sent the request to; of several proxies the nearest tells, as for `request.host` of Fastify. */
function authorityOf(fields: RequestFields): string {
  const forwarded = String(fields['x-forwarded-host'] ?? '')
    .split(',')
    .at(-1)
    ?.trim()
  return forwarded || String(fields.host ?? fields[':authority'] ?? '')
}
