import { headerOf } from '../../fastify/header-of.js'
import type { MethodConflict } from '../../fastify/offer-names.js'
import { formatHttpDate } from '../../http/http-date.js'
import { mergeVary } from '../../http/vary.js'
import { invalid, isObject } from '../../options.js'
import { type CacheDirectives, cacheControl, cacheControlFaults } from './cache-control.js'
import type { ResponseHead } from './decision.js'
import { entityTagOf } from './entity-tag.js'
import { judgeExpires } from './expires.js'
import { latestTime } from './last-modified.js'

/** When something was last modified, or when each item of a list was: a `Date` or RFC 3339 text. */
export type ModificationTimes = Date | string | readonly (Date | string)[]

/** The method `reply.vary()`. */
export interface VaryHelper {
  /**
   * Adds names to `Vary`, each once (RFC 9110 §12.5.5).
   * @throws TypeError for a name that is not a field name
   */
  vary(names: string | readonly string[]): this
}

/** A reply, as far as the methods use it. */
export interface Reply extends ResponseHead {
  readonly request: { readonly method: string; readonly routeOptions: { readonly url?: string | undefined } }
  readonly log: { warn(details: object, message: string): void }
  header(name: string, value: string): this
}

/**
 * Returns the methods of replies; `this` is the reply.
 *
 * @param now returns milliseconds since the epoch
 */
export function cachingHelpers(now: () => number) {
  return {
    cacheControl(this: Reply, directives: CacheDirectives): Reply {
      const text = directivesText(directives)
      return text === '' ? this : this.header('cache-control', text)
    },

    expires(this: Reply, time: Date | number | string): Reply {
      const judged = judgeExpires(time, now())
      if ('value' in judged) this.header('expires', judged.value)
      const { verdict } = judged
      if (verdict !== 'ok') {
        const { method, routeOptions } = this.request
        const route = `${method} ${routeOptions.url ?? 'an unknown path'}`
        const outcome = verdict === 'clamped' ? 'set to one year ahead' : 'not sent'
        this.log.warn({ verdict }, `Expires of ${route} is ${outcome}`)
      }
      return this
    },

    lastModified(this: Reply, times: ModificationTimes): Reply {
      const all = [times].flat()
      const latest = latestTime(all, now())
      if (latest !== null) return this.header('last-modified', formatHttpDate(latest))
      return all.length === 0 ? this : invalid('reply.lastModified()', 'dates, or RFC 3339 text', times)
    },

    etag(this: Reply, tag: string): Reply {
      return this.header('etag', entityTagOf(tag))
    },

    vary(this: Reply, names: string | readonly string[]): Reply {
      return this.header('vary', mergeVary(headerOf(this, 'vary'), names))
    },
  }
}

/**
 * Returns a method that calls one of the app where it has the same name: calls in a form that only ours has are ours.
 * The `ETag` that the app's method sets is put in quotes. Without a result it returns the reply, as ours do.
 */
export function mergeHelpers({ name, own, other }: MethodConflict): MethodConflict['own'] {
  const merged: typeof own = function mergedHelper(this, ...parameters) {
    if (isOwnForm(name, parameters[0])) return own.apply(this, parameters)
    const result = other.apply(this, parameters)
    const tag = name === 'etag' ? headerOf(this, 'etag') : undefined
    if (tag !== undefined) this.header('etag', entityTagOf(tag))
    return result === undefined ? this : result
  }
  return Object.assign(merged, other)
}

// @fastify/sensible has `cacheControl('max-age', 60)`, @fastify/caching has `expires(new Date())`.
function isOwnForm(name: string, parameter: unknown): boolean {
  if (name === 'cacheControl') return isObject(parameter)
  return name === 'expires' && (typeof parameter === 'number' || typeof parameter === 'string')
}

// Frozen directives have the same text in the next call.
const texts = new WeakMap<CacheDirectives, string>()

function directivesText(directives: CacheDirectives): string {
  const known = texts.get(directives)
  if (known !== undefined) return known
  const [fault] = cacheControlFaults(directives)
  if (fault !== undefined)
    invalid('reply.cacheControl()', `directives without contradictions: ${fault}`, directives)
  const text = cacheControl(directives)
  if (Object.isFrozen(directives)) texts.set(directives, text)
  return text
}
