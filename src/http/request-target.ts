import type { PathSegment } from './route-path.js'

/** What is wrong with the path of a request target, if anything. */
export type PathFault = 'uppercase' | 'encoding'

// RFC 3986 §3.3: the characters of a path that need no encoding, but for uppercase letters; up to the query.
const fine = /^[a-z0-9\-._~!$&'()*+,;=:@/]*(?:[?#]|$)/
const uppercaseFirst = /^[a-z0-9\-._~!$&'()*+,;=:@/]*[A-Z]/

// The scheme and the authority, which end where the path, the query or the fragment starts (RFC 3986 §3.2).
const absoluteStart = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i
const slash = 47

// RFC 3986 §5.2.4: a client removes them; a server that takes them for names serves another path than was meant.
const dotSegment = /\/\.\.?(?=\/|$)/

/**
 * The first fault in the raw path of a request target: an uppercase letter, or a character that is encoded or would
 * need to be. Reads up to the query and allocates nothing where there is none.
 */
export function pathFault(target: string): PathFault | null {
  if (fine.test(target) && !target.includes('/.')) return null
  // The authority of the absolute form (RFC 9112 §3.2.2) is no part of the path.
  const path = pathOf(target)
  if (fine.test(path)) return dotSegment.test(path) ? 'encoding' : null
  return uppercaseFirst.test(path) ? 'uppercase' : 'encoding'
}

/**
 * Every fault of a raw path, segment by segment. Where the route lets parameters be anything (`anyParameter`), their
 * segments may have uppercase letters and encoded characters, so long as what they decode to is harmless.
 */
export function segmentFaults(
  path: string,
  route: readonly PathSegment[] | null,
  anyParameter: boolean,
): SegmentFault[] {
  return path
    .slice(1)
    .split('/')
    .flatMap((text, index) => {
      const lenient = anyParameter && isParameter(route, index)
      const faults = lenient ? decodedFaults(text) : rawFaults(text)
      return faults.map((fault) => ({ index, fault }))
    })
}

/** A fault and the segment that has it. */
export interface SegmentFault {
  readonly index: number
  readonly fault: PathFault
}

/**
 * The path with the segments that have uppercase letters in lowercase.
 *
 * @param asked the path that the client sent, where the server rewrites it: there, segments are known by their text
 */
export function lowercasePath(path: string, faults: readonly SegmentFault[], asked = path): string {
  const upper = new Set(faults.filter(({ fault }) => fault === 'uppercase').map(({ index }) => index))
  const segments = path.slice(1).split('/')
  if (asked === path) return inLowercase(segments, (_, index) => upper.has(index))
  const texts = new Set(segments.filter((_, index) => upper.has(index)))
  return inLowercase(asked.slice(1).split('/'), (text) => texts.has(text))
}

/** The raw path of a request target: without query, without the authority of the absolute form (RFC 9112 §3.2.2). */
export function pathOf(target: string): string {
  const start = pathStart(target)
  const stop = target.slice(start).search(/[?#]/)
  return stop === -1 ? target.slice(start) : target.slice(start, start + stop)
}

/** The raw query of a request target, without its question mark; `''` when it has none. */
export function queryOf(target: string): string {
  const hash = target.indexOf('#')
  const mark = target.indexOf('?')
  if (mark === -1 || (hash !== -1 && hash < mark)) return ''
  return hash === -1 ? target.slice(mark + 1) : target.slice(mark + 1, hash)
}

function isParameter(route: readonly PathSegment[] | null, index: number): boolean {
  if (route === null) return false
  const segment = route[index] ?? route.at(-1)
  if (segment === undefined) return false
  return segment.kind === 'wildcard' || (index < route.length && segment.kind !== 'literal')
}

function inLowercase(segments: readonly string[], isMeant: (text: string, index: number) => boolean): string {
  return `/${segments.map((text, index) => (isMeant(text, index) ? text.toLowerCase() : text)).join('/')}`
}

function rawFaults(text: string): PathFault[] {
  const faults: PathFault[] = []
  if (/[A-Z]/.test(text.replace(/%[0-9A-Fa-f]{2}/g, ''))) faults.push('uppercase')
  if (text === '.' || text === '..' || pathFault(text.toLowerCase()) === 'encoding') faults.push('encoding')
  return faults
}

function decodedFaults(text: string): PathFault[] {
  const value = decoded(text)
  return value === null || value === '.' || value === '..' || hasHarm(value) ? ['encoding'] : []
}

// A separator or a control character in a parameter is a path of its own, or an injection, to whoever uses it.
function hasHarm(value: string): boolean {
  return /[\p{Cc}/\\]/u.test(value)
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

function pathStart(target: string): number {
  if (target.charCodeAt(0) === slash) return 0
  return absoluteStart.exec(target)?.[0].length ?? 0
}
