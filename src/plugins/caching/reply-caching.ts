import { headerOf } from '../../convention/reply.js'
import type { PayloadStep } from '../../convention/steps.js'
import { formatHttpDate } from '../../http/dates.js'
import { mergeVary } from '../../http/header-fields.js'
import { type Check, invalid, objectOf } from '../../options.js'
import { type CacheDirectives, cacheControl, directives, expiresOf } from './cache-control.js'
import { entityTagOf } from './entity-tag.js'
import { latestTime } from './last-modified.js'

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

const any: Check<never> = (_label, received) => received as never

const checkFields = objectOf<CachingFields>({
  cacheControl: directives,
  etag: any,
  lastModified: any,
  expires: any,
  vary: any,
})

/** Returns the method `reply.caching()`; `this` is the reply. */
export function cachingHelper(now: () => number) {
  return function caching(this: Reply, fields: CachingFields): Reply {
    const { cacheControl: given, etag, lastModified, expires, vary } = checkFields('reply.caching()', fields)
    const written = given === undefined ? '' : cacheControl(given)
    if (written !== '') this.header('cache-control', written)
    if (etag !== undefined) this.header('etag', entityTagOf(etag))
    if (lastModified !== undefined) setLastModified(this, [lastModified].flat(), now())
    if (expires !== undefined) setExpires(this, expires, now())
    if (vary !== undefined) this.header('vary', mergeVary(headerOf(this, 'vary'), vary))
    return this
  }
}

function setLastModified(reply: Reply, times: readonly unknown[], now: number): void {
  if (times.length === 0) return
  const latest = latestTime(times, now)
  if (latest === null) invalid('reply.caching().lastModified', 'dates, or RFC 3339 text', times)
  else reply.header('last-modified', formatHttpDate(latest))
}

function setExpires(reply: Reply, time: Date | number | string, now: number): void {
  const expires = expiresOf(time, now)
  if (expires !== null) reply.header('expires', expires.text)
  if (expires?.isCut === false) return
  const { method, routeOptions } = reply.request
  const outcome = expires === null ? 'past or invalid, and not sent' : 'cut to one year ahead'
  reply.log.warn(`Expires of ${method} ${routeOptions.url ?? 'an unknown path'} is ${outcome}`)
}
