export interface Link {
  readonly href: string
  readonly rel: string
}

export function formatLinks(links: readonly Link[]): string {
  return links.map(({ href, rel }) => `<${href}>; rel="${rel}"`).join(', ')
}

export function addLinks(current: string | undefined, added: string): string {
  if (current === undefined || current.trim() === '') return added
  return current.includes(added) ? current : `${current}, ${added}`
}

const ofService = /;\s*rel="?(?:deprecation|sunset|successor-version)(?:"|;|$)/

/** Returns the links of a `Link` header that are about the service, without those of a representation; `null` for none. */
export function serviceLinks(current: string): string | null {
  // A target may have a comma.
  const links = current.split(/,\s*(?=<)/).filter((link) => ofService.test(link))
  return links.length === 0 ? null : links.join(', ')
}

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
