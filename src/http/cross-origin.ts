import type { RequestFields } from './field-name.js'

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
