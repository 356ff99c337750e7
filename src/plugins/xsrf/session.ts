import { cookieValues, readSetCookie } from '../../http/cookies.js'

/** Returns what identifies the session of a request: the values of its cookies, in the order of the names. */
export function sessionOfCookies(header: string | undefined, names: readonly string[]): string | null {
  if (header === undefined) return null
  return joined(names.map((name) => [name, cookieValues(header, name)]))
}

/**
 * Returns what identifies the session after a response, if it sets or removes cookies of the session: `null` if none is left.
 * Returns `undefined` if it does not.
 */
export function sessionAfter(
  setCookies: readonly string[],
  header: string | undefined,
  names: readonly string[],
): string | null | undefined {
  const set = new Map<string, string>()
  for (const line of setCookies) {
    const cookie = readSetCookie(line)
    if (cookie !== null && names.includes(cookie.name)) set.set(cookie.name, cookie.value)
  }
  if (set.size === 0) return undefined
  return joined(
    names.map((name) => {
      const value = set.get(name)
      if (value === undefined) return [name, cookieValues(header ?? '', name)]
      return [name, value === '' ? [] : [value]]
    }),
  )
}

function joined(cookies: readonly (readonly [name: string, values: readonly string[]])[]): string | null {
  const pairs = cookies.flatMap(([name, values]) => values.map((value) => `${name}=${value}`))
  return pairs.length === 0 ? null : pairs.join(';')
}
