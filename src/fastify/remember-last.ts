/**
 * A function that knows its last answer: the HEAD route that Fastify adds to a GET route comes right after it and has
 * the same schemas, so what was found out of them need not be found out again. Keys are compared by identity.
 *
 * Not across `onRoute` and `onReady`: in between, Fastify turns what schema builders made into schemas, in place.
 */
export function rememberLast<Key, Answer>(ask: (key: Key) => Answer): (key: Key) => Answer {
  let last: { readonly key: Key; readonly answer: Answer } | undefined
  return function askOnce(key) {
    if (last === undefined || last.key !== key) last = { key, answer: ask(key) }
    return last.answer
  }
}
