/**
 * Returns a function that keeps its last result: the HEAD route that Fastify adds to a GET route follows it and has the
 * same schemas. Keys are compared by identity.
 *
 * Not across `onRoute` and `onReady`: in between, Fastify replaces schemas of schema builders in place.
 */
export function rememberLast<Key, Result>(compute: (key: Key) => Result): (key: Key) => Result {
  let last: { readonly key: Key; readonly result: Result } | undefined
  return function computeIfNew(key) {
    if (last === undefined || last.key !== key) last = { key, result: compute(key) }
    return last.result
  }
}
