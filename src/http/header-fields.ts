import { type Check, text } from '../options.js'

/** Returns the members of a list header field (RFC 9110 §5.6.1), trimmed, without the empty ones. */
export function listMembers(fieldValue: string): string[] {
  return splitUnquoted(fieldValue, ',').filter((member) => member !== '')
}

// Those of browsers have up to 200 characters.
const longestOfClient = 1000

// Clients choose the length, and 16 kB cost milliseconds. The last member in 1000 characters may be cut: it is left out.
export function firstMembers(fieldValue: string): string[] {
  const members = listMembers(fieldValue.slice(0, longestOfClient))
  return fieldValue.length > longestOfClient ? members.slice(0, -1) : members
}

/** Returns the parts of a list member, trimmed: its value, then its parameters (RFC 9110 §5.6.6). */
export function memberParts(member: string): string[] {
  return splitUnquoted(member, ';')
}

/** Returns the name of a directive or parameter, which is the text before `=`, in lowercase. */
export function directiveName(directive: string): string {
  return (directive.split('=', 1)[0] ?? '').trim().toLowerCase()
}

function splitUnquoted(text: string, separator: string): string[] {
  const parts: string[] = []
  let start = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') isQuoted = !isQuoted
    else if (isQuoted && character === '\\') at++
    else if (!isQuoted && character === separator) {
      parts.push(text.slice(start, at).trim())
      start = at + 1
    }
  }
  parts.push(text.slice(start).trim())
  return parts
}

/** Adds names to a `Vary` (RFC 9110 §12.5.5), each once. @throws TypeError for a name that is not a field name */
export function mergeVary(
  current: string | readonly string[] | undefined,
  names: string | readonly string[],
): string {
  const before = members(current ?? '')
  const added = members(names)
  for (const name of added) {
    if (!isFieldName(name)) throw new TypeError(`Vary cannot have ${JSON.stringify(name)}: not a field name`)
  }
  const merged = new Map<string, string>()
  for (const name of before.concat(added)) {
    if (name === '*') return '*'
    const key = name.toLowerCase()
    if (!merged.has(key)) merged.set(key, name)
  }
  return [...merged.values()].join(', ')
}

/** Returns a function that adds the names to a `Vary`. It keeps its last result, because most responses have the same `Vary`. */
export function varyMerger(names: string | readonly string[]): (current: string | undefined) => string {
  let lastCurrent: string | undefined
  let lastMerged = mergeVary(undefined, names)
  return function addToVary(current) {
    if (current !== lastCurrent) {
      lastMerged = mergeVary(current, names)
      lastCurrent = current
    }
    return lastMerged
  }
}

function members(value: string | readonly string[]): string[] {
  return listMembers(typeof value === 'string' ? value : value.join(','))
}

const namesAudience: ReadonlySet<string> = new Set(['public', 'private', 'no-store', 's-maxage'])
const shared: ReadonlySet<string> = new Set(['public', 's-maxage'])

export function withPrivate(value: string): string {
  const names = listMembers(value).map(directiveName)
  if (names.length === 0) return 'private'
  return names.some((name) => namesAudience.has(name)) ? value : `${value}, private`
}

// Directives that let shared caches store, or that apply to shared caches only; `private="name"` applies to fields.
const notPrivate: ReadonlySet<string> = new Set(['public', 's-maxage', 'proxy-revalidate', 'private'])

/** Returns a `Cache-Control` with which shared caches do not store the response (RFC 9111 §5.2.2.7). */
export function privateOnly(current = ''): string {
  const directives = listMembers(current)
  if (directives.some((directive) => directiveName(directive) === 'no-store')) return current
  return [...directives.filter((directive) => !notPrivate.has(directiveName(directive))), 'private'].join(
    ', ',
  )
}

/** Whether a `Cache-Control` tells shared caches to store the response: `public` or `s-maxage` (RFC 9111 §5.2.2.9–10). */
export function isForSharedCaches(value: string): boolean {
  return listMembers(value).some((member) => shared.has(directiveName(member)))
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

export function isFieldName(text: string): boolean {
  return token.test(text)
}

export const fieldName: Check<string> = text('the name of a header field', token)

export type RequestFields = Readonly<Record<string, string | readonly string[] | undefined>>

/** Returns the index of the value of a header field; -1 if there is none. */
export function valueIndex(rawHeaders: readonly string[], name: string, from = 0): number {
  for (let index = from; index < rawHeaders.length; index += 2) {
    const one = rawHeaders[index]
    if (one?.length === name.length && one.toLowerCase() === name) return index + 1
  }
  return -1
}

/** Whether there is more than one line of a header field. Parameters as in {@link valueIndex}. */
export function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  return valueIndex(rawHeaders, name, valueIndex(rawHeaders, name) + 1) !== -1
}

/** Returns the values of a cookie in a `Cookie` header (RFC 6265 §4.2), in order, not decoded. */
export function cookieValues(header: string, name: string): string[] {
  // Most headers do not have most cookies.
  const pairs = header.includes(name) ? header.split(';').map(pairOf) : []
  return pairs.flatMap(([one, value]) => (one === name && value !== '' ? [value] : []))
}

/** Reads a `Set-Cookie` header (RFC 6265 §5.2). The value is not decoded, and `''` if the cookie is removed. */
export function readSetCookie(header: string): { name: string; value: string } | null {
  const [pair = '', ...attributes] = header.split(';')
  const [name, value] = pairOf(pair)
  if (name === '') return null
  const isRemoved = attributes.some((attribute) => /^\s*max-age\s*=\s*(?:0|-\d+)\s*$/i.test(attribute))
  return { name, value: isRemoved ? '' : value }
}

function pairOf(text: string): [name: string, value: string] {
  const equals = text.indexOf('=')
  return [text.slice(0, Math.max(equals, 0)).trim(), text.slice(equals + 1).trim()]
}

// RFC 3986 §3.2.2, §3.2.3: an IP literal, an IPv4 address or a registered name, which may be empty; then a port.
const shape =
  /^(?:\[[0-9A-Fa-f:.]+\]|\[v[0-9A-Fa-f]+\.[\w\-.~!$&'()*+,;=:]+\]|(?:[\w\-.~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/

/** Whether a text can be the value of `Host` (RFC 9112 §3.2): a host, with or without a port, and no user. */
export function isHostValue(text: string): boolean {
  return shape.test(text)
}

/** Returns a quoted string (RFC 9110 §5.6.4), or a String of RFC 9651 §3.3.3. */
export function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

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
