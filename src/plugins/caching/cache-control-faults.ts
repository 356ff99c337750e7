import { isFieldName } from '../../http/field-name.js'
import { type CacheDirectives, directiveNames } from './cache-control.js'

type Kind = 'flag' | 'flag or field names' | 'seconds'

const kinds: Readonly<Record<keyof CacheDirectives, Kind>> = {
  public: 'flag',
  private: 'flag or field names',
  noCache: 'flag or field names',
  noStore: 'flag',
  noTransform: 'flag',
  mustRevalidate: 'flag',
  proxyRevalidate: 'flag',
  mustUnderstand: 'flag',
  maxAge: 'seconds',
  sMaxAge: 'seconds',
  staleWhileRevalidate: 'seconds',
  staleIfError: 'seconds',
  immutable: 'flag',
}

const contradictions: readonly (readonly [
  contradicts: (given: CacheDirectives) => boolean,
  fault: string,
])[] = [
  [
    (given) => given.public === true && given.private === true,
    'public lets shared caches store the response, private forbids it (RFC 9111 §5.2.2.7, §5.2.2.9)',
  ],
  [
    (given) => storesNothing(given) && (given.public === true || mayBeFresh(given) || mayBeStale(given)),
    'noStore forbids storing what public, maxAge, sMaxAge, immutable and stale… say how to use (RFC 9111 §5.2.2.5)',
  ],
  [
    (given) => storesNothing(given) && (Array.isArray(given.private) || Array.isArray(given.noCache)),
    'noStore is of the whole response, a list of field names of these alone (RFC 9111 §5.2.2.4, §5.2.2.5, §5.2.2.7)',
  ],
  [
    (given) => given.mustUnderstand === true && given.noStore !== true,
    'mustUnderstand needs noStore, for the caches that do not know it (RFC 9111 §5.2.2.3)',
  ],
  [
    (given) => given.private === true && isPositive(given.sMaxAge),
    'sMaxAge is for shared caches, which private forbids to store the response (RFC 9111 §5.2.2.7, §5.2.2.10)',
  ],
  [
    (given) => given.immutable === true && !isPositive(given.maxAge),
    'immutable is for as long as the response is fresh: it needs a maxAge above 0 (RFC 8246 §2)',
  ],
  [
    (given) => given.noCache === true && given.immutable === true,
    'noCache has the response validated before each use, immutable never (RFC 9111 §5.2.2.4, RFC 8246 §2)',
  ],
  [
    (given) => given.noCache === true && (isPositive(given.maxAge) || isPositive(given.sMaxAge)),
    'noCache has the response validated before each use: there is no use of being fresh (RFC 9111 §5.2.2.4)',
  ],
  [
    (given) => given.noCache === true && mayBeStale(given),
    'noCache forbids what staleWhileRevalidate and staleIfError allow: stale use (RFC 9111 §4.2.4, §5.2.2.4)',
  ],
  [
    (given) => given.mustRevalidate === true && mayBeStale(given),
    'mustRevalidate forbids what staleWhileRevalidate and staleIfError allow: stale use (RFC 9111 §4.2.4, §5.2.2.2)',
  ],
]

/** Most seconds that a cache has to be able to represent: 2^31 (RFC 9111 §1.2.2). */
export const mostSeconds = 2 ** 31

/**
 * What is wrong with directives of `Cache-Control`, one sentence per fault: values that a directive cannot have, and
 * where there are none, directives that contradict each other or that nothing can come of. Empty where all is well.
 *
 * A directive that only repeats what another forbids is redundant, not a fault: `no-cache`, `private`,
 * `must-revalidate`, `proxy-revalidate` or `max-age=0` beside `no-store`, `proxy-revalidate` or `s-maxage=0` beside
 * `private`. Neither is `s-maxage` beside `stale-while-revalidate`: a shared cache keeps to the first
 * (RFC 9111 §5.2.2.10), a private one to the second.
 */
export function cacheControlFaults(directives: CacheDirectives): string[] {
  const faults = Object.entries(directives).flatMap(([key, value]) => valueFault(key, value) ?? [])
  if (faults.length > 0) return faults
  return contradictions.flatMap(([contradicts, fault]) => (contradicts(directives) ? [fault] : []))
}

function valueFault(key: string, value: unknown): string | null {
  if (!Object.hasOwn(kinds, key)) {
    return `${key} is no directive; expected one of ${Object.keys(directiveNames).join(', ')}`
  }
  if (value === undefined) return null
  switch (kinds[key as keyof CacheDirectives]) {
    case 'flag':
      return typeof value === 'boolean' ? null : `${key} has to be true or false`
    case 'flag or field names':
      return typeof value === 'boolean' || areFieldNames(value)
        ? null
        : `${key} has to be true, false or a list of header field names (RFC 9111 §5.2.2.4, §5.2.2.7)`
    case 'seconds':
      return areSeconds(value)
        ? null
        : `${key} has to be whole seconds from 0 to ${mostSeconds} (RFC 9111 §1.2.2)`
  }
}

function areSeconds(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= mostSeconds
}

function areFieldNames(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false
  return value.every((name: unknown) => typeof name === 'string' && isFieldName(name))
}

// RFC 9111 §5.2.2.3: a cache that understands the status code ignores the no-store beside must-understand.
function storesNothing(given: CacheDirectives): boolean {
  return given.noStore === true && given.mustUnderstand !== true
}

function mayBeFresh(given: CacheDirectives): boolean {
  return isPositive(given.maxAge) || isPositive(given.sMaxAge) || given.immutable === true
}

function mayBeStale(given: CacheDirectives): boolean {
  return isPositive(given.staleWhileRevalidate) || isPositive(given.staleIfError)
}

function isPositive(seconds: number | undefined): boolean {
  return seconds !== undefined && seconds > 0
}
