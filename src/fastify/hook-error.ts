/** Returns what was thrown, for `next` of a hook. */
export function hookError(thrown: unknown): Error {
  return thrown ? (thrown as Error) : new Error(`a hook failed with ${String(thrown)} instead of an error`)
}
