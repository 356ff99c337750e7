import { directiveName, listMembers } from '../../http/list-header.js'

// What needs no reading: directives that are about all caches, and `private` behind them.
const isPrivate = /^(?:(?:no-cache|must-revalidate|immutable|max-age=\d+), )*private$/

// What lets a shared cache store, or speaks to shared caches alone; `private="name"` is about fields.
const shared: ReadonlySet<string> = new Set(['public', 's-maxage', 'proxy-revalidate', 'private'])

/**
 * A `Cache-Control` under which no shared cache stores the response (RFC 9111 §5.2.2.7): with `private`, and without what
 * speaks against it. With `no-store` it is as it was.
 *
 * @param current the value so far; `undefined` or `''` for none
 */
export function madePrivate(current: string | undefined): string {
  if (current === undefined) return 'private'
  if (isPrivate.test(current)) return current
  const named = listMembers(current).map((text) => ({ text, name: directiveName(text) }))
  if (named.some(({ name }) => name === 'no-store')) return current
  const kept = named.filter(({ name }) => !shared.has(name)).map(({ text }) => text)
  return [...kept, 'private'].join(', ')
}
