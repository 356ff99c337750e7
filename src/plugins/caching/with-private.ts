import { directiveName, listMembers } from '../../http/list-header.js'

const saysWhoStores: ReadonlySet<string> = new Set(['public', 'private', 'no-store', 's-maxage'])

/**
 * A `Cache-Control` with `private` added, for what is answered to credentials; as it is where it says
 * itself who may store the response: `public`, `private`, `no-store`, or `s-maxage`, which is for shared caches alone
 * and lets them store such answers (RFC 9111 §3.5). `must-revalidate` would let them too, but is not said for that.
 *
 * Names are compared without case, and not looked for in quoted arguments. For a constant value: call it once.
 */
export function withPrivate(cacheControl: string): string {
  const names = listMembers(cacheControl).map(directiveName)
  if (names.length === 0) return 'private'
  return names.some((name) => saysWhoStores.has(name)) ? cacheControl : `${cacheControl}, private`
}
