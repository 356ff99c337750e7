/** One target of a `Link` header. */
export interface Link {
  /** URI reference; what a URI may not hold has to be encoded already. */
  readonly href: string
  readonly rel: string
}

/** The value of a `Link` header (RFC 8288 §3). */
export function formatLinks(links: readonly Link[]): string {
  return links.map(({ href, rel }) => `<${href}>; rel="${rel}"`).join(', ')
}

/**
 * A path and a query with some parameters replaced: those of `replaced` go, those of `set` come last. The path stays
 * one: with two slashes in front it would be a host (RFC 3986 §4.2), and clients take a backslash for a slash.
 */
export function hrefWith(
  path: string,
  query: string,
  replaced: readonly string[],
  set: Readonly<Record<string, string>>,
): string {
  const parameters = new URLSearchParams(query)
  for (const name of replaced) parameters.delete(name)
  for (const [name, value] of Object.entries(set)) parameters.append(name, value)
  const text = parameters.toString()
  const own = path.replace(leadingSlashes, '/')
  return text === '' ? own : `${own}?${text}`
}

const leadingSlashes = /^[/\\]+/
