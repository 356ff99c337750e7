/**
 * Returns what was thrown, for `next` of a hook. Where it is `undefined` or another falsy value, returns an error: without
 * one, Fastify would go on with the request.
 */
export function hookError(thrown: unknown): Error {
  return thrown ? (thrown as Error) : new Error(`a hook failed with ${String(thrown)} instead of an error`)
}
