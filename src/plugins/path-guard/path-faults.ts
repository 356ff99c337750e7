import { type PathSegment, pathOf } from '../../http/url.js'
import { ProblemError } from '../../problem/problem-error.js'
import { clip } from '../../text.js'

// RFC 3986 §3.3: a character that is not a pchar needs encoding. `%` counts too, because it begins an escape.
const outsidePath = /[^A-Za-z0-9\-._~!$&'()*+,;=:@]/
const escapes = /(?:%[0-9A-Fa-f]{2})+/g

/** The rules for the characters of a literal: whether it breaks one, and the literal without the fault. */
export const textRules = {
  /** The hex digits of an escape do not count. */
  uppercase: { isBroken: (text: string) => /[A-Z]/.test(text.replace(escapes, '')), correct: lowercase },
  underscore: { isBroken: (text: string) => text.includes('_'), correct: hyphenated },
  encoding: { isBroken: (text: string) => outsidePath.test(text), correct: plainText },
} as const

export type TextRule = keyof typeof textRules

// What is plain can be in camelCase, and a word in lowercase can have underscores.
const order = ['encoding', 'uppercase', 'underscore'] as const

/** Returns a literal that keeps the rules; at the ends of a whole segment, no hyphens are left. */
export function corrected(text: string, rules: (rule: TextRule) => boolean, isWhole: boolean): string {
  let result = text
  for (const rule of order) {
    if (rules(rule) && textRules[rule].isBroken(result)) result = textRules[rule].correct(result)
  }
  return isWhole && result !== text ? withoutOuterHyphens(result) : result
}

/** Returns a literal in kebab-case: `purchase-orders` for `PurchaseOrders` and `purchase%20orders`. */
export function kebab(text: string): string {
  return corrected(text, () => true, true)
}

function lowercase(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase()
}

function hyphenated(text: string): string {
  return text.replace(/[-_]+/g, (run) => (run.includes('_') ? '-' : run))
}

function plainText(text: string): string {
  return text
    .replace(escapes, (run) => decoded(run) ?? '-')
    .normalize('NFKD')
    .replace(/[\p{M}'’]+/gu, '')
    .replace(/[^A-Za-z0-9\-._~]+/g, '-')
}

function withoutOuterHyphens(text: string): string {
  let start = 0
  let end = text.length
  while (text[start] === '-') start++
  while (end > start && text[end - 1] === '-') end--
  return text.slice(start, end)
}

/** What can be wrong with the path of a request; each is also the name of the path rule. */
export const pathFaults = ['uppercase', 'encoding'] as const

export type PathFault = (typeof pathFaults)[number]

export interface SegmentFault {
  readonly index: number
  readonly fault: PathFault
}

// RFC 3986 §3.3: the characters of a path that need no encoding, without uppercase letters; up to the query.
const plain = /^[a-z0-9\-._~!$&'()*+,;=:@/]*(?:[?#]|$)/
const uppercaseFirst = /^[a-z0-9\-._~!$&'()*+,;=:@/]*[A-Z]/

// RFC 3986 §5.2.4: clients remove dot segments, so a server that takes them as names serves another path.
const dotSegment = /\/\.\.?(?=\/|$)/

/** Reads up to the query, and allocates nothing for a path without faults. */
export function pathFault(target: string): PathFault | null {
  if (plain.test(target) && !target.includes('/.')) return null
  // The authority of the absolute form (RFC 9112 §3.2.2) is not part of the path.
  const path = pathOf(target)
  if (plain.test(path)) return dotSegment.test(path) ? 'encoding' : null
  return uppercaseFirst.test(path) ? 'uppercase' : 'encoding'
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

export function pathProblem(
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
  if (route === null) return false
  const segment = route[index] ?? route.at(-1)
  if (segment === undefined) return false
  return segment.kind === 'wildcard' || (index < route.length && segment.kind !== 'literal')
}

function rawFaults(text: string): PathFault[] {
  const faults: PathFault[] = []
  if (/[A-Z]/.test(text.replace(/%[0-9A-Fa-f]{2}/g, ''))) faults.push('uppercase')
  if (text === '.' || text === '..' || pathFault(text.toLowerCase()) === 'encoding') faults.push('encoding')
  return faults
}

function decodedFaults(text: string): PathFault[] {
  const value = decoded(text)
  return value === null || value === '.' || value === '..' || isHarmful(value) ? ['encoding'] : []
}

// A handler that puts such a parameter into a path or a log would write another path or another line.
function isHarmful(value: string): boolean {
  return /[\p{Cc}/\\]/u.test(value)
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
