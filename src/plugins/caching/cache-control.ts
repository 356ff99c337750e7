import { headerOf } from '../../convention/exchange.js'
import type { Effect, PayloadStep } from '../../convention/steps.js'
import { formatHttpDate, parseHttpDate } from '../../http/dates.js'
import { mergeVary } from '../../http/header-fields.js'
import {
  type Check,
  type Checks,
  checksOf,
  each,
  flag,
  integer,
  invalid,
  isObject,
  type OptionsOf,
  objectOf,
  optional,
} from '../../options.js'
import { entityTagOf, latestTime } from './preconditions.js'

// RFC 9111 §1.2.2: what all caches can represent.
const seconds = integer(0, 2 ** 31)

/** The directives, in the order in which they are written. */
const declared = {
  /** Any cache may store the response, even if its status or the credentials of the request forbid it. */
  public: optional(flag),
  /** Only the client's own cache may store the response. */
  private: optional(flag),
  /** The response is validated before each use. */
  noCache: optional(flag),
  /** No cache may store any part of the response. */
  noStore: optional(flag),
  /** No intermediary may transform the content. Compression is a transformation. */
  noTransform: optional(flag),
  /** Caches may not use the response when it is stale, not even if the server is unreachable. */
  mustRevalidate: optional(flag),
  /** The same for shared caches only. */
  proxyRevalidate: optional(flag),
  /** How long the response is fresh. */
  maxAge: optional(seconds),
  /** How long it is fresh in shared caches, which then do not use it when it is stale. */
  sMaxAge: optional(seconds),
  /** How long a cache may use it stale while it validates it in the background (RFC 5861 §3). */
  staleWhileRevalidate: optional(seconds),
  /** How long a cache may use it stale if the server answers with an error (RFC 5861 §4). */
  staleIfError: optional(seconds),
  /** The response does not change while it is fresh, so even a reload does not validate it (RFC 8246). */
  immutable: optional(flag),
}

/** Directives of `Cache-Control` in a response: RFC 9111 §5.2.2, RFC 5861 and RFC 8246. Times are whole seconds. */
export interface CacheDirectives extends OptionsOf<typeof declared> {}

const known = objectOf<CacheDirectives>(checksOf(declared))

/** Directives without contradictions. Redundant ones, such as `max-age=0` with `no-store`, are none. */
export const directives: Check<CacheDirectives> = (label, received) => {
  if (!isObject(received)) return invalid(label, 'directives or false', received)
  const given = known(label, received)
  const fault = contradictionIn(given)
  return fault === null ? given : invalid(label, `directives without contradictions: ${fault}`, received)
}

function contradictionIn(given: CacheDirectives): string | null {
  const { maxAge = 0, sMaxAge = 0, staleWhileRevalidate = 0, staleIfError = 0 } = given
  const mayBeFresh = maxAge > 0 || sMaxAge > 0 || given.immutable
  const mayBeStale = staleWhileRevalidate > 0 || staleIfError > 0
  if (given.public && given.private)
    return 'public lets shared caches store what private forbids them (RFC 9111 §5.2.2.7, §5.2.2.9)'
  if (given.noStore && (given.public || mayBeFresh || mayBeStale))
    return 'noStore forbids what public, maxAge, sMaxAge, immutable and stale… allow (RFC 9111 §5.2.2.5)'
  if (given.private && sMaxAge > 0)
    return 'sMaxAge is for shared caches, which private forbids to store (RFC 9111 §5.2.2.7, §5.2.2.10)'
  if (given.immutable && maxAge === 0)
    return 'immutable applies while the response is fresh: it needs a maxAge above 0 (RFC 8246 §2)'
  if (given.noCache && mayBeFresh)
    return 'noCache validates before each use: maxAge, sMaxAge and immutable have no effect (RFC 9111 §5.2.2.4)'
  if ((given.noCache || given.mustRevalidate) && mayBeStale)
    return 'noCache and mustRevalidate forbid the stale use that stale… allow (RFC 9111 §4.2.4)'
  return null
}

/** The names of the directives, by their options. */
const directiveNames = (Object.keys(declared) as (keyof CacheDirectives)[]).map((key) => {
  const name = key === 'sMaxAge' ? 's-maxage' : key.replace(/[A-Z]/g, '-$&').toLowerCase()
  return [key, name] as const
})

export function cacheControl(given: CacheDirectives): string {
  const written = directiveNames.flatMap(([key, name]) => {
    const value = given[key]
    return typeof value === 'number' ? `${name}=${value}` : value === true ? name : []
  })
  return written.join(', ')
}

/** Maximum time ahead of an `Expires`, in milliseconds: 365 days. */
const maxExpiry = 365 * 24 * 60 * 60 * 1000

/** Returns `Expires` (RFC 9111 §5.3), at most one year ahead; `null` for a time that is past or invalid. */
export function expiresOf(time: Date | number | string, now: number) {
  const given = Number((typeof time === 'string' ? parseHttpDate(time, now) : time) ?? Number.NaN)
  const at = Math.floor(Math.min(given, now + maxExpiry) / 1000) * 1000
  if (!Number.isFinite(given) || at <= now) return null
  return { text: formatHttpDate(at), at, isCut: given > now + maxExpiry }
}

/** When something was last modified, or when each item of a list was: a `Date` or RFC 3339 text. */
export type ModificationTimes = Date | string | readonly (Date | string)[]

/** Header fields of a response for `reply.caching()`. */
export interface CachingFields {
  /**
   * `Cache-Control` (RFC 9111 §5.2.2), instead of that of the route.
   * @default that of the route
   */
  readonly cacheControl?: CacheDirectives
  /**
   * `ETag`: an entity tag such as `W/"v7"`, or the text between the quotes of a strong one (RFC 9110 §8.8.3).
   * @default made from the bytes of the response
   */
  readonly etag?: string
  /**
   * `Last-Modified`: the latest of the times, but never later than now (RFC 9110 §8.8.2.1). An empty list sets none.
   * @default the member that the option `lastModified` names
   */
  readonly lastModified?: ModificationTimes
  /**
   * `Expires` (RFC 9111 §5.3). A time more than one year ahead is cut to one year; a past or invalid time is not sent. Both
   * are logged.
   * @default that of the route
   */
  readonly expires?: Date | number | string
  /**
   * Names that are added to `Vary`, each once (RFC 9110 §12.5.5).
   * @default none
   */
  readonly vary?: string | readonly string[]
}

type Reply = Parameters<PayloadStep>[1]

// Each member has its own check when it is written.
const unchecked = each(
  ['etag', 'lastModified', 'expires', 'vary'],
  (_label: string, received: unknown) => received,
)
const checkFields = objectOf({ cacheControl: directives, ...unchecked } as Checks<CachingFields>)

export function cachingHelper(now: () => number) {
  return function caching(this: Reply, fields: CachingFields): Reply {
    const { cacheControl: given, etag, lastModified, expires, vary } = checkFields('reply.caching()', fields)
    const written = given === undefined ? '' : cacheControl(given)
    if (written !== '') this.header('cache-control', written)
    if (etag !== undefined) this.header('etag', entityTagOf(etag))
    const times = lastModified === undefined ? [] : [lastModified].flat()
    if (times.length > 0) {
      const latest =
        latestTime(times, now()) ??
        invalid('reply.caching().lastModified', 'dates, or RFC 3339 text', lastModified)
      this.header('last-modified', formatHttpDate(latest))
    }
    if (expires !== undefined) setExpires(this, expiresOf(expires, now()))
    if (vary !== undefined) this.header('vary', mergeVary(headerOf(this, 'vary'), vary))
    return this
  }
}

function setExpires(reply: Reply, expires: ReturnType<typeof expiresOf>): void {
  if (expires !== null) reply.header('expires', expires.text)
  if (expires?.isCut === false) return
  const { method, routeOptions } = reply.request
  const outcome = expires === null ? 'past or invalid, and not sent' : 'cut to one year ahead'
  reply.log.warn(`Expires of ${method} ${routeOptions.url ?? 'an unknown path'} is ${outcome}`)
}

/** Corrects dates that hooks or the handler have set as header fields (RFC 9110 §8.8.2.1, RFC 9111 §5.3). */
export function correctDates(
  reply: Reply,
  expires: string | undefined,
  lastModified: string | undefined,
  now: number,
): Effect | undefined {
  const date = lastModified === undefined ? null : parseHttpDate(lastModified, now)
  const latest = date === null ? null : latestTime([new Date(date)], now)
  const dates = [
    ['expires', expires, expires === undefined ? undefined : expiresOf(expires, now)?.text],
    ['last-modified', lastModified, latest === null ? undefined : formatHttpDate(latest)],
  ] as const
  const wrong = dates.filter(([, given, sent]) => sent !== given)
  if (wrong.length === 0) return undefined
  return {
    rule: 'dates',
    given: wrong.map(([name, given]) => `${name}: ${given}`).join(', '),
    change() {
      for (const [name, , sent] of wrong) {
        if (sent === undefined) reply.removeHeader(name)
        else reply.header(name, sent)
      }
    },
  }
}
