/** Returns the values of a cookie in a `Cookie` header (RFC 6265 §4.2), in order, not decoded. */
export function cookieValues(header: string, name: string): string[] {
  // Most headers do not have most cookies.
  if (!header.includes(name)) return []
  const values: string[] = []
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (equals === -1 || pair.slice(0, equals).trim() !== name) continue
    const value = pair.slice(equals + 1).trim()
    if (value !== '') values.push(value)
  }
  return values
}

/** Reads a `Set-Cookie` header (RFC 6265 §5.2). The value is not decoded, and `''` if the cookie is removed. */
export function readSetCookie(header: string): { name: string; value: string } | null {
  const [pair = '', ...attributes] = header.split(';')
  const equals = pair.indexOf('=')
  const name = pair.slice(0, Math.max(equals, 0)).trim()
  if (name === '') return null
  const isRemoved = attributes.some((attribute) => /^\s*max-age\s*=\s*(?:0|-\d+)\s*$/i.test(attribute))
  return { name, value: isRemoved ? '' : pair.slice(equals + 1).trim() }
}
