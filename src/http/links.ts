/** A target of a `Link` header. */
export interface Link {
  /** URI reference, encoded. */
  readonly href: string
  readonly rel: string
}

/** Returns the value of a `Link` header (RFC 8288 §3). */
export function formatLinks(links: readonly Link[]): string {
  return links.map(({ href, rel }) => `<${href}>; rel="${rel}"`).join(', ')
}

/**
 * Returns a `Link` header with more links. Adding the same links again adds nothing: a response that fails late runs
 * through the hooks twice.
 *
 * @param current the value so far
 */
export function addLinks(current: string | undefined, added: string): string {
  if (current === undefined || current.trim() === '') return added
  return current.includes(added) ? current : `${current}, ${added}`
}

/**
 * Returns a path and query with the parameters in `replaced` removed and those in `set` at the end. Several leading
 * slashes or backslashes become one slash, because clients read two of them as the start of a host (RFC 3986 §4.2).
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
