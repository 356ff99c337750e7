import { directiveName, listMembers } from './list-header.js'

const namesAudience: ReadonlySet<string> = new Set(['public', 'private', 'no-store', 's-maxage'])
const shared: ReadonlySet<string> = new Set(['public', 's-maxage'])

/**
 * Returns a `Cache-Control` with `private` added, for a response to a request with credentials. A value with `public`,
 * `private`, `no-store` or `s-maxage` says who may store the response (RFC 9111 §3.5) and is returned as it is.
 */
export function withPrivate(value: string): string {
  const names = listMembers(value).map(directiveName)
  if (names.length === 0) return 'private'
  return names.some((name) => namesAudience.has(name)) ? value : `${value}, private`
}

/** Whether a `Cache-Control` tells shared caches to store the response: `public` or `s-maxage` (RFC 9111 §5.2.2.9–10). */
export function isForSharedCaches(value: string): boolean {
  return listMembers(value).some((member) => shared.has(directiveName(member)))
}
