import { type Check, invalid } from '../options.js'
import type { RequestFields } from './header-fields.js'

export interface PathSegment {
  /** `mixed` has a parameter and literal text, such as `:id.json`; a wildcard may follow text: `files-*`. */
  readonly kind: 'literal' | 'parameter' | 'mixed' | 'wildcard'
  /** The text of the pattern; in a literal, `:` for `::`. */
  readonly text: string
}

/** A part of a segment: literal text, with `:` for `::`, or the text of a parameter or wildcard. */
export interface SegmentPart {
  readonly literal: boolean
  readonly text: string
}

// In the router only these characters end a name: `:a_:b` is one parameter, and so is `:id::b`.
const nameEnd = /[(\-./]/g
// Without them, a text is literal.
const special = /[:*]/

/** Splits a path pattern as the router does. Empty segments but the first are literals with an empty text. */
export function routePath(pattern: string): readonly PathSegment[] {
  const segments: PathSegment[] = []
  let start = pattern.startsWith('/') ? 1 : 0
  while (start <= pattern.length) {
    const end = segmentEnd(pattern, start)
    segments.push(segment(pattern.slice(start, end)))
    start = end + 1
  }
  return segments
}

export function hasParameter(pattern: string): boolean {
  return special.test(pattern) && routePath(pattern).some(({ kind }) => kind !== 'literal')
}

/** Returns the parts of a segment: `:id.json` is the parameter `:id` and the literal `.json`. */
export function segmentParts(text: string): readonly SegmentPart[] {
  if (text !== '' && !special.test(text)) return [{ literal: true, text }]
  const parts: SegmentPart[] = []
  let literal = ''
  let at = 0
  while (at < text.length) {
    const start = at
    at = partEnd(text, at)
    // After a parameter, the router reads a star as text.
    const isWildcard = text[start] === '*' && parts.length === 0
    if (!isParameterStart(text, start) && !isWildcard) {
      literal += text.startsWith('::', start) ? ':' : text.slice(start, at)
      continue
    }
    if (literal !== '') parts.push({ literal: true, text: literal })
    parts.push({ literal: false, text: text.slice(start, at) })
    literal = ''
  }
  return literal === '' ? parts : [...parts, { literal: true, text: literal }]
}

function segment(text: string): PathSegment {
  const parts = segmentParts(text)
  const only = parts.length === 1 ? parts[0] : undefined
  if (parts.every((part) => part.literal)) return { kind: 'literal', text: only?.text ?? '' }
  if (parts.at(-1)?.text === '*' && parts.at(-1)?.literal === false) return { kind: 'wildcard', text }
  return { kind: only === undefined ? 'mixed' : 'parameter', text }
}

function segmentEnd(pattern: string, start: number): number {
  // The expression of a parameter may have a slash.
  let at = start
  while (at < pattern.length && pattern[at] !== '/') at = partEnd(pattern, at)
  return Math.min(at, pattern.length)
}

/** Returns the end of the part at `at`: an escaped colon, a parameter or a character. */
function partEnd(text: string, at: number): number {
  if (text.startsWith('::', at)) return at + 2
  return isParameterStart(text, at) ? parameterEnd(text, at) : at + 1
}

function isParameterStart(text: string, at: number): boolean {
  return text[at] === ':' && text[at + 1] !== ':'
}

function parameterEnd(text: string, start: number): number {
  nameEnd.lastIndex = start
  const end = nameEnd.exec(text)?.index ?? text.length
  if (text[end] !== '(') return end
  const close = closingParenthesis(text, end)
  return text[close + 1] === '?' ? close + 2 : close + 1
}

/** Returns where the parenthesis at `open` closes; the end of the text if it does not, which the router refuses. */
function closingParenthesis(text: string, open: number): number {
  let depth = 0
  for (let at = open; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '(') depth++
    else if (text[at] === ')' && --depth === 0) return at
  }
  return text.length
}

const healthNames: ReadonlySet<string> = new Set(
  'health healthcheck health-check healthz heartbeat live liveness livez ping ready readiness readyz startup status'.split(
    ' ',
  ),
)

/** Whether a path pattern is that of a health route: no parameter, and a last segment such as `health` or `readyz`. */
export function isHealthPath(path: string): boolean {
  return !/[:*]/.test(path) && healthNames.has(path.slice(path.lastIndexOf('/') + 1))
}

// The scheme and the authority, up to the path, the query or the fragment (RFC 3986 §3.2).
const absoluteStart = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i

/** Returns the raw path of a request target, without query and authority (absolute form, RFC 9112 §3.2.2). */
export function pathOf(target: string): string {
  const start = absoluteStart.exec(target)?.[0].length ?? 0
  const stop = target.slice(start).search(/[?#]/)
  return stop === -1 ? target.slice(start) : target.slice(start, start + stop)
}

/** Returns the raw query of a request target, without its question mark; `''` if it has none. */
export function queryOf(target: string): string {
  const hash = target.indexOf('#')
  const mark = target.indexOf('?')
  if (mark === -1) return ''
  return hash === -1 ? target.slice(mark + 1) : target.slice(mark + 1, hash)
}

/** Whether a text is an origin as browsers send it (RFC 6454 §6.2). `null` is not one: all pages in sandboxes have it. */
function isWebOrigin(text: string): boolean {
  if (!originShape.test(text)) return false
  // A URL parser returns an origin for the schemes of the web only; other schemes are checked by the shape.
  return !/^https?:/.test(text) || (URL.canParse(text) && new URL(text).origin === text)
}

export const webOrigin: Check<string> = (label, received) =>
  typeof received === 'string' && isWebOrigin(received)
    ? received
    : invalid(label, "an origin such as 'https://app.example', without a path", received)

const originShape = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*A-Z]+$/

/**
 * Whether a request is from a page of another origin, by what the browser sends.
 *
 * @param authority returns the host and the port that the client sent it to; by default, a proxy is believed
 */
export function isCrossOrigin(
  fields: RequestFields,
  allowed: readonly string[],
  authority = () => authorityOf(fields),
): boolean {
  const { origin, 'sec-fetch-site': site } = fields
  if (allowed.includes(String(origin))) return false
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && !hasAuthority(String(origin), authority())
}

function hasAuthority(origin: string, authority: string): boolean {
  // URL gives other schemes the origin `null`, which a sandboxed page has too.
  const scheme = /^https?:\/\//.exec(origin)?.[0]
  const address = `${scheme}${authority}`
  return scheme !== undefined && URL.canParse(address) && new URL(address).origin === origin
}

/** Returns the authority that the client sent the request to; of several proxies the nearest, as `request.host` does. */
function authorityOf(fields: RequestFields): string {
  const forwarded = String(fields['x-forwarded-host'] ?? '')
    .split(',')
    .at(-1)
    ?.trim()
  return forwarded || String(fields.host ?? fields[':authority'] ?? '')
}
