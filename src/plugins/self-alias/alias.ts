import { isRead } from '../../convention/exchange.js'
import { type PathSegment, pathOf, queryOf, routePath } from '../../http/url.js'

export interface AliasPlace {
  readonly parameter: string
  readonly before: number
  /** Number of segments after its own; 0 if the pattern is that of the record itself. */
  readonly after: number
}

/** Returns the first parameter directly after one of the collections; `null` if there is none. */
export function placeAfter(pattern: string, collections: ReadonlySet<string>): AliasPlace | null {
  const segments = routePath(pattern)
  const at = segments.findIndex(
    ({ kind }, index) => kind === 'parameter' && collections.has(segments[index - 1]?.text ?? ''),
  )
  return placeAt(segments, at)
}

/** Returns the parameter with a name, without a name the only parameter; `null` if there is none, or more than one. */
export function placeOf(pattern: string, name: string | undefined): AliasPlace | null {
  const segments = routePath(pattern)
  const isNamed = ({ kind, text }: PathSegment): boolean =>
    kind === 'parameter' && (name === undefined || nameOf(text) === name)
  return segments.filter(isNamed).length === 1 ? placeAt(segments, segments.findIndex(isNamed)) : null
}

/** Returns the last literal segment of a pattern; `null` if the pattern ends with a parameter. */
export function lastCollection(pattern: string): string | null {
  const last = routePath(pattern).findLast(({ text }) => text !== '')
  return last?.kind === 'literal' ? last.text : null
}

function placeAt(segments: readonly PathSegment[], at: number): AliasPlace | null {
  const segment = segments[at]
  if (segment === undefined) return null
  const last = segments.findLastIndex(({ text }) => text !== '')
  return { parameter: nameOf(segment.text), before: at, after: last - at }
}

// `:id`, `:id?`, `:id(^\\d+$)`
function nameOf(text: string): string {
  return text.slice(1).replace(/[(?].*/, '')
}

/** Returns a request target with the id instead of the alias; `null` if the alias is not at its place. */
export function ownTarget(
  target: string,
  { before, after }: AliasPlace,
  alias: string,
  id: string,
): string | null {
  // Clients read two leading slashes as the start of a host (RFC 3986 §4.2).
  const segments = pathOf(target)
    .replace(/^[/\\]+/, '/')
    .split('/')
  // A server that rewrites its paths may have others in front.
  const at = [before + 1, segments.length - 1 - after].find((index) => segments[index] === alias)
  if (at === undefined) return null
  // RFC 3986 §3.3: these characters need no encoding in a segment.
  segments[at] = encodeURIComponent(id).replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent)
  const query = queryOf(target)
  return query === '' ? segments.join('/') : `${segments.join('/')}?${query}`
}

export interface ResolvedAlias {
  readonly alias: string
  readonly id: string
}

/** Whether a response is what a GET of the record's own URL returns (RFC 9110 §8.7). */
export function isRepresentation(method: string, status: number, hasContent: boolean): boolean {
  if (isRead(method)) return status === 304 || (status < 300 && status !== 204)
  return (method === 'PUT' || method === 'PATCH') && (status === 200 || status === 201) && hasContent
}

const mark = ';self='

export function withCaller(etag: string, id: string): string {
  const end = endOf(id)
  return etag.endsWith('"') && !etag.endsWith(end) ? `${etag.slice(0, -1)}${end}` : etag
}

/** Returns the tags of a precondition without this caller. The tags of other callers stay, and match nothing. */
export function withoutCaller(tags: string, id: string): string {
  return tags.includes(mark) ? tags.replaceAll(endOf(id), '"') : tags
}

function endOf(id: string): string {
  return `${mark}${encodeURIComponent(id)}"`
}
