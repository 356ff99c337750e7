import { directiveName, listMembers } from './list-header.js'

const namesAudience: ReadonlySet<string> = new Set(['public', 'private', 'no-store', 's-maxage'])
const shared: ReadonlySet<string> = new Set(['public', 's-maxage'])

export function withPrivate(value: string): string {
  const names = listMembers(value).map(directiveName)
  if (names.length === 0) return 'private'
  return names.some((name) => namesAudience.has(name)) ? value : `${value}, private`
}

// Directives that let shared caches store, or that apply to shared caches only; `private="name"` applies to fields.
const notPrivate: ReadonlySet<string> = new Set(['public', 's-maxage', 'proxy-revalidate', 'private'])

/** Returns a `Cache-Control` with which shared caches do not store the response (RFC 9111 §5.2.2.7). */
export function privateOnly(current: string | undefined): string {
  const directives = listMembers(current ?? '')
  if (directives.some((directive) => directiveName(directive) === 'no-store')) return current ?? ''
  return [...directives.filter((directive) => !notPrivate.has(directiveName(directive))), 'private'].join(
    ', ',
  )
}

/** Whether a `Cache-Control` tells shared caches to store the response: `public` or `s-maxage` (RFC 9111 §5.2.2.9–10). */
export function isForSharedCaches(value: string): boolean {
  return listMembers(value).some((member) => shared.has(directiveName(member)))
}
