/**
 * Returns a function that keeps its last result: the HEAD route that Fastify adds to a GET route follows it and has the
 * same schemas. Keys are compared by identity.
 *
 * Not across `onRoute` and `onReady`: in between, Fastify replaces schemas of schema builders in place.
 */
export function rememberLast<Key, Answer>(ask: (key: Key) => Answer): (key: Key) => Answer {
  let last: { readonly key: Key; readonly answer: Answer } | undefined
  return function askOnce(key) {
    if (last === undefined || last.key !== key) last = { key, answer: ask(key) }
    return last.answer
  }
}
