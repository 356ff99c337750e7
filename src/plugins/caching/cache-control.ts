import { isFieldName } from '../../http/field-name.js'
import { formatHttpDate, parseHttpDate } from '../../http/http-date.js'

/**
 * Directives of `Cache-Control` in a response: RFC 9111 §5.2.2, RFC 5861 and RFC 8246. `false` is the same as absent.
 * Times are whole seconds.
 */
export interface CacheDirectives {
  /** Any cache may store the response, even if its status or the credentials of the request forbid it. */
  readonly public?: boolean | undefined
  /** Only the client's own cache may store the response, or the listed header fields. */
  readonly private?: boolean | readonly string[] | undefined
  /** The response, or the listed header fields, are validated before each use. */
  readonly noCache?: boolean | readonly string[] | undefined
  /** No cache may store any part of the response. */
  readonly noStore?: boolean | undefined
  /** No intermediary may transform the content. Compression is a transformation. */
  readonly noTransform?: boolean | undefined
  /** Caches may not use the response when it is stale, not even if the server is unreachable. */
  readonly mustRevalidate?: boolean | undefined
  /** The same for shared caches only. */
  readonly proxyRevalidate?: boolean | undefined
  /** Only caches that know the status code may store the response; needs {@link CacheDirectives.noStore}. */
  readonly mustUnderstand?: boolean | undefined
  /** How long the response is fresh. */
  readonly maxAge?: number | undefined
  /** How long it is fresh in shared caches, which then do not use it when it is stale. */
  readonly sMaxAge?: number | undefined
  /** How long a cache may use it stale while it validates it in the background (RFC 5861 §3). */
  readonly staleWhileRevalidate?: number | undefined
  /** How long a cache may use it stale if the server answers with an error (RFC 5861 §4). */
  readonly staleIfError?: number | undefined
  /** The response does not change while it is fresh, so even a reload does not validate it (RFC 8246). */
  readonly immutable?: boolean | undefined
}

type Kind = 'flag' | 'flag or field names' | 'seconds'

/** The directives in the order in which they are written: the name in `Cache-Control`, and the kind of value. */
const directives: Readonly<Record<keyof CacheDirectives, readonly [name: string, kind: Kind]>> = {
  public: ['public', 'flag'],
  private: ['private', 'flag or field names'],
  noCache: ['no-cache', 'flag or field names'],
  noStore: ['no-store', 'flag'],
  noTransform: ['no-transform', 'flag'],
  mustRevalidate: ['must-revalidate', 'flag'],
  proxyRevalidate: ['proxy-revalidate', 'flag'],
  mustUnderstand: ['must-understand', 'flag'],
  maxAge: ['max-age', 'seconds'],
  sMaxAge: ['s-maxage', 'seconds'],
  staleWhileRevalidate: ['stale-while-revalidate', 'seconds'],
  staleIfError: ['stale-if-error', 'seconds'],
  immutable: ['immutable', 'flag'],
}

/**
 * Returns the value of `Cache-Control` for directives without faults ({@link cacheControlFaults}); `''` for none, when no
 * header is sent.
 */
export function cacheControl(given: CacheDirectives): string {
  const written: string[] = []
  for (const [key, [name]] of Object.entries(directives)) {
    const value = given[key as keyof CacheDirectives]
    if (value === undefined || value === false) continue
    // RFC 9111 §5.2.2.4, §5.2.2.7: field names are quoted, even a single one.
    const argument =
      typeof value === 'number' ? `=${value}` : typeof value === 'object' ? `="${value.join(', ')}"` : ''
    written.push(`${name}${argument}`)
  }
  return written.join(', ')
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
    'noStore forbids storing the response that public, maxAge, sMaxAge, immutable and stale… apply to (RFC 9111 §5.2.2.5)',
  ],
  [
    (given) => storesNothing(given) && (Array.isArray(given.private) || Array.isArray(given.noCache)),
    'noStore applies to the whole response, a list of field names to these only (RFC 9111 §5.2.2.4, §5.2.2.5, §5.2.2.7)',
  ],
  [
    (given) => given.mustUnderstand === true && given.noStore !== true,
    'mustUnderstand needs noStore, for the caches that do not know it (RFC 9111 §5.2.2.3)',
  ],
  [
    (given) => given.private === true && isPositive(given.sMaxAge),
    'sMaxAge applies to shared caches, which private forbids to store the response (RFC 9111 §5.2.2.7, §5.2.2.10)',
  ],
  [
    (given) => given.immutable === true && !isPositive(given.maxAge),
    'immutable applies while the response is fresh: it needs a maxAge above 0 (RFC 8246 §2)',
  ],
  [
    (given) => given.noCache === true && given.immutable === true,
    'noCache validates the response before each use, immutable never (RFC 9111 §5.2.2.4, RFC 8246 §2)',
  ],
  [
    (given) => given.noCache === true && (isPositive(given.maxAge) || isPositive(given.sMaxAge)),
    'noCache validates the response before each use, so maxAge and sMaxAge have no effect (RFC 9111 §5.2.2.4)',
  ],
  [
    (given) => given.noCache === true && mayBeStale(given),
    'noCache forbids stale use, staleWhileRevalidate and staleIfError allow it (RFC 9111 §4.2.4, §5.2.2.4)',
  ],
  [
    (given) => given.mustRevalidate === true && mayBeStale(given),
    'mustRevalidate forbids stale use, staleWhileRevalidate and staleIfError allow it (RFC 9111 §4.2.4, §5.2.2.2)',
  ],
]

/** Maximum number of seconds that all caches can represent: 2^31 (RFC 9111 §1.2.2). */
const maxSeconds = 2 ** 31

/**
 * Returns the faults of directives, one sentence each: invalid values, or, if there are none, directives that contradict
 * each other or have no effect.
 *
 * Redundant directives are not faults: `no-cache`, `private`, `must-revalidate`, `proxy-revalidate` or `max-age=0` with
 * `no-store`, `proxy-revalidate` or `s-maxage=0` with `private`. Nor is `s-maxage` with `stale-while-revalidate`: the
 * first applies to shared caches (RFC 9111 §5.2.2.10), the second to private ones.
 */
export function cacheControlFaults(given: CacheDirectives): string[] {
  const faults = Object.entries(given).flatMap(([key, value]) => valueFault(key, value) ?? [])
  if (faults.length > 0) return faults
  return contradictions.flatMap(([contradicts, fault]) => (contradicts(given) ? [fault] : []))
}

function valueFault(key: string, value: unknown): string | null {
  if (!Object.hasOwn(directives, key)) {
    return `${key} is not a directive; expected one of ${Object.keys(directives).join(', ')}`
  }
  if (value === undefined) return null
  switch (directives[key as keyof CacheDirectives][1]) {
    case 'flag':
      return typeof value === 'boolean' ? null : `${key} must be true or false`
    case 'flag or field names':
      return typeof value === 'boolean' || areFieldNames(value)
        ? null
        : `${key} must be true, false or a list of header field names (RFC 9111 §5.2.2.4, §5.2.2.7)`
    case 'seconds':
      return areSeconds(value)
        ? null
        : `${key} must be whole seconds from 0 to ${maxSeconds} (RFC 9111 §1.2.2)`
  }
}

function areSeconds(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= maxSeconds
}

function areFieldNames(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false
  return value.every((name: unknown) => typeof name === 'string' && isFieldName(name))
}

// RFC 9111 §5.2.2.3: a cache that knows the status code ignores no-store beside must-understand.
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

/** `clamped` has the value of one year ahead instead of more. `past` (stale at once) and `invalid` are not sent. */
export type ExpiresVerdict =
  | { readonly verdict: 'ok' | 'clamped'; readonly value: string }
  | { readonly verdict: 'past' | 'invalid' }

/** Maximum time ahead of an `Expires`, in milliseconds: 365 days. */
const maxExpiry = 365 * 24 * 60 * 60 * 1000

/** Returns the value of `Expires` (RFC 9111 §5.3) for a time, to the second. */
export function judgeExpires(time: Date | number | string, now: number): ExpiresVerdict {
  const expires = typeof time === 'string' ? parseHttpDate(time, now) : Number(time)
  if (expires === null || !Number.isFinite(expires)) return { verdict: 'invalid' }
  if (Math.floor(expires / 1000) <= Math.floor(now / 1000)) return { verdict: 'past' }
  const latest = now + maxExpiry
  if (expires <= latest) return { verdict: 'ok', value: formatHttpDate(expires) }
  return { verdict: 'clamped', value: formatHttpDate(latest) }
}
