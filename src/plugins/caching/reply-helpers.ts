import { headerOf } from '../../fastify/reply.js'
import { formatHttpDate } from '../../http/http-date.js'
import { mergeVary } from '../../http/vary.js'
import { type Check, invalid, objectOf } from '../../options.js'
import { type CacheDirectives, cacheControl, cacheControlFaults, judgeExpires } from './cache-control.js'
import type { ResponseHead } from './decision.js'
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

/** A reply, as far as the methods use it. */
export interface Reply extends ResponseHead {
  readonly request: { readonly method: string; readonly routeOptions: { readonly url?: string | undefined } }
  readonly log: { warn(details: object, message: string): void }
  header(name: string, value: string): this
}

/** Returns the method `reply.caching()`; `this` is the reply. */
export function cachingHelper(now: () => number) {
  return function caching(this: Reply, fields: CachingFields): Reply {
    const { cacheControl, etag, lastModified, expires, vary } = checkFields('reply.caching()', fields)
    if (cacheControl !== undefined) {
      const text = directivesText(cacheControl)
      if (text !== '') this.header('cache-control', text)
    }
    if (etag !== undefined) this.header('etag', entityTagOf(etag))
    if (lastModified !== undefined) setLastModified(this, lastModified, now())
    if (expires !== undefined) setExpires(this, expires, now())
    if (vary !== undefined) this.header('vary', mergeVary(headerOf(this, 'vary'), vary))
    return this
  }
}

const given: Check<never> = (_label, received) => received as never

const checkFields = objectOf<CachingFields>({
  cacheControl: given,
  etag: given,
  lastModified: given,
  expires: given,
  vary: given,
})

function setLastModified(reply: Reply, times: ModificationTimes, now: number): void {
  const all = [times].flat()
  const latest = latestTime(all, now)
  if (latest !== null) reply.header('last-modified', formatHttpDate(latest))
  else if (all.length > 0) invalid('reply.caching().lastModified', 'dates, or RFC 3339 text', times)
}

function setExpires(reply: Reply, time: Date | number | string, now: number): void {
  const judged = judgeExpires(time, now)
  if ('value' in judged) reply.header('expires', judged.value)
  const { verdict } = judged
  if (verdict === 'ok') return
  const { method, routeOptions } = reply.request
  const outcome = verdict === 'clamped' ? 'set to one year ahead' : 'not sent'
  reply.log.warn({ verdict }, `Expires of ${method} ${routeOptions.url ?? 'an unknown path'} is ${outcome}`)
}

// Frozen directives have the same text in the next call.
const texts = new WeakMap<CacheDirectives, string>()

function directivesText(directives: CacheDirectives): string {
  const known = texts.get(directives)
  if (known !== undefined) return known
  const [fault] = cacheControlFaults(directives)
  if (fault !== undefined)
    invalid('reply.caching().cacheControl', `directives without contradictions: ${fault}`, directives)
  const text = cacheControl(directives)
  if (Object.isFrozen(directives)) texts.set(directives, text)
  return text
}
