import type { FastifyRequest } from 'fastify'
import { hasEmptyParameter } from '../../convention/not-found-handler.js'
import { routeSlot } from '../../convention/slots.js'
import type { Effect } from '../../convention/steps.js'
import { type PathSegment, pathOf, routePath } from '../../http/url.js'
import { ProblemError } from '../../problem/problem-error.js'
import type { Mode } from '../../report/modes.js'
import { clip } from '../../text.js'
import { decoded } from './path-words.js'

interface GuardedRoute {
  /** The pattern; `null` for a path without a route. */
  readonly path: string | null
  /** Whether parameters may have uppercase letters and encoded characters. */
  readonly anyParameter: boolean
  readonly modeOf: Readonly<Record<PathFault, Mode>>
}

export const guardedRoute = routeSlot<GuardedRoute>('pathGuard.route')

export function refusalOfFaults(statusCode: number, unknown: GuardedRoute) {
  return function refuseFaults(request: FastifyRequest): Effect | readonly Effect[] | undefined {
    const target = request.raw.url ?? '/'
    if (hasEmptyParameter(request.params))
      return { rule: 'slash', given: pathOf(target), refusal: new ProblemError('not-found') }
    if (!hasFault(target)) return undefined
    const { path: pattern, anyParameter, modeOf } = guardedRoute.of(request) ?? unknown
    const path = pathOf(target)
    const faults = segmentFaults(path, pattern === null ? null : routePath(pattern), anyParameter)
    return pathFaults.flatMap((rule) => {
      const refused = faults.filter(({ fault }) => modeOf[fault] === modeOf[rule])
      if (!faults.some(({ fault }) => fault === rule)) return []
      const refusal = pathProblem(path, refused, pathOf(request.originalUrl), statusCode)
      return { rule, given: path, refusal }
    })
  }
}

/** What can be wrong with the path of a request; each is also the name of the path rule. */
export const pathFaults = ['uppercase', 'encoding'] as const

export type PathFault = (typeof pathFaults)[number]

interface SegmentFault {
  readonly index: number
  readonly fault: PathFault
}

// RFC 3986 §3.3: the characters of a path that need no encoding, without uppercase letters; up to the query.
const plain = /^[a-z0-9\-._~!$&'()*+,;=:@/]*(?:[?#]|$)/

// RFC 3986 §5.2.4: clients remove dot segments, so a server that takes them as names serves another path.
const dotSegment = /\/\.\.?(?=\/|$)/

/** Reads up to the query, and allocates nothing for a path without faults. */
export function hasFault(target: string): boolean {
  if (plain.test(target) && !target.includes('/.')) return false
  // The authority of the absolute form (RFC 9112 §3.2.2) is not part of the path.
  const path = pathOf(target)
  return !plain.test(path) || dotSegment.test(path)
}

export function segmentFaults(
  path: string,
  route: readonly PathSegment[] | null,
  anyParameter: boolean,
): SegmentFault[] {
  return path
    .slice(1)
    .split('/')
    .flatMap((text, index) => {
      const faults = anyParameter && isParameter(route, index) ? decodedFaults(text) : rawFaults(text)
      return faults.map((fault) => ({ index, fault }))
    })
}

function pathProblem(
  path: string,
  faults: readonly SegmentFault[],
  sent: string,
  status: number,
): ProblemError {
  const segments = path.split('/')
  if (faults[0]?.fault === 'uppercase') {
    const upper = new Set(faults.map(({ index, fault }) => (fault === 'uppercase' ? index + 1 : null)))
    const lowercase = segments.map((text, index) => (upper.has(index) ? text.toLowerCase() : text)).join('/')
    // The client cannot send a path that the app has rewritten.
    const detail = sent === path ? `A path is lowercase: ${clip(lowercase, maxShown)}` : 'A path is lowercase'
    return new ProblemError('path-uppercase', { status, detail })
  }
  const detail = faults.some(({ index }) => ['.', '..'].includes(segments[index + 1] ?? ''))
    ? 'A path has no dot segments'
    : 'A path has no characters that are, or would have to be, percent-encoded'
  return new ProblemError('path-encoded', { status, detail })
}

const maxShown = 500

function isParameter(route: readonly PathSegment[] | null, index: number): boolean {
  const segment = route?.[index]
  return segment === undefined ? route?.at(-1)?.kind === 'wildcard' : segment.kind !== 'literal'
}

function rawFaults(text: string): PathFault[] {
  const faults: PathFault[] = []
  if (/[A-Z]/.test(text.replace(/%[0-9A-Fa-f]{2}/g, ''))) faults.push('uppercase')
  if (text === '.' || text === '..' || !plain.test(text.toLowerCase())) faults.push('encoding')
  return faults
}

function decodedFaults(text: string): PathFault[] {
  const value = decoded(text)
  // A handler that puts such a parameter into a path or a log would write another path or another line.
  return value === null || /^\.{1,2}$|[\p{Cc}/\\]/u.test(value) ? ['encoding'] : []
}
