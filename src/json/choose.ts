import type { Match } from '../json-schema/schema-match.js'

/** One of several ways to write a value. */
export interface Alternative {
  /** Whether it is for the value. */
  readonly matches: Match
  /** Whether it matches large integers in forms that the app's serializer does not know. */
  readonly isLoose?: boolean
}

/**
 * Uses the first alternative that matches a value. A loose match may be wrong, as of an integer beyond the range of its
 * format: where its use throws, the next is tried. `undefined` where none matches.
 *
 * @throws what the use of the last alternative throws
 */
export function choose<One extends Alternative, Result>(
  alternatives: readonly One[],
  value: unknown,
  use: (one: One) => Result,
): Result | undefined {
  let failure: { readonly error: unknown } | undefined
  for (const one of alternatives) {
    if (!one.matches(value)) continue
    if (one.isLoose !== true) return use(one)
    try {
      return use(one)
    } catch (error) {
      failure = { error }
    }
  }
  if (failure !== undefined) throw failure.error
  return undefined
}
