import type { FastifyInstance, FastifyReply } from 'fastify'
import { headerOf } from '../../fastify/header-of.js'
import { replyPrototype } from '../../fastify/internals.js'
import { formatHttpDate } from '../../http/http-date.js'
import { mergeVary } from '../../http/vary.js'
import { invalid, isObject } from '../../options.js'
import { type CacheDirectives, cacheControl } from './cache-control.js'
import { cacheControlFaults } from './cache-control-faults.js'
import { entityTagOf } from './entity-tag-of.js'
import { judgeExpires } from './expires.js'
import { latestTime } from './last-modified.js'

/**
 * Gives the replies of a context, and of the contexts below, the helpers. They are defined when the app gets ready: until
 * then their names are free, whichever plugin decorates replies with them.
 *
 * A helper of the same name that the app has stays. Where `takesOver`, calls of a form that is only ours, such as
 * directives in an object, are taken from it, and an `ETag` that it sets is put between quotes.
 */
export function addReplyHelpers(app: FastifyInstance, now: () => number, takesOver: boolean): void {
  const helpers: Readonly<Record<string, Helper>> = replyHelpers(now)
  const contexts = new Set([app])
  const defined = new Set<unknown>()
  const kept = new Set<string>()
  // Without a decorator, replies of a context are made by the context above it, and at the root by Fastify for all apps.
  app.decorateReply(isExtended, function isExtended() {})
  app.addHook('onRoute', function noteContext() {
    contexts.add(this)
  })
  app.addHook('onReady', function defineReplyHelpers(done) {
    for (const context of contexts) {
      for (const name of Object.keys(helpers)) define(context, name)
    }
    for (const name of kept) app.log.warn(`caching: reply.${name}() is the app's own and stays as it is`)
    done()
  })

  function define(context: FastifyInstance, name: string): void {
    const prototype = replyPrototype(context)
    const helper = helpers[name]
    if (helper === undefined) return
    const before = memberOf(prototype, name)
    if (defined.has(before)) return
    const isTaken = before !== undefined || context.hasReplyDecorator(name)
    if (isTaken) kept.add(name)
    if (isTaken && !(takesOver && typeof before === 'function')) return
    const value = typeof before === 'function' ? extended(name, helper, before as Helper) : helper
    defined.add(value)
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true })
  }
}

type Helper = (this: FastifyReply, ...args: never[]) => unknown

const isExtended = Symbol.for('fastify-conventions.replyHelpers')

/** What objects of a prototype have under a name; the descriptor where it is a getter, which is not called. */
function memberOf(prototype: object, name: string): unknown {
  for (let object: object | null = prototype; object !== null; object = Object.getPrototypeOf(object)) {
    const descriptor = Object.getOwnPropertyDescriptor(object, name)
    if (descriptor !== undefined) return descriptor.get === undefined ? descriptor.value : descriptor
  }
  return undefined
}

/** A helper of the app's, with the calls that are only ours to take. What has no result returns the reply, as ours do. */
function extended(name: string, helper: Helper, before: Helper): Helper {
  function extendedHelper(this: FastifyReply, ...args: never[]): unknown {
    if (isOnlyOurs(name, args[0])) return helper.apply(this, args)
    const result = before.apply(this, args)
    const tag = name === 'etag' ? headerOf(this, 'etag') : undefined
    if (tag !== undefined) this.header('etag', entityTagOf(tag))
    return result === undefined ? this : result
  }
  return Object.assign(extendedHelper, before)
}

// @fastify/sensible: `cacheControl('max-age', 60)`; @fastify/caching: `expires(new Date())`.
function isOnlyOurs(name: string, argument: unknown): boolean {
  if (name === 'cacheControl') return isObject(argument)
  return name === 'expires' && (typeof argument === 'number' || typeof argument === 'string')
}

/** What replies can do, by name; `this` is the reply. */
function replyHelpers(now: () => number) {
  return {
    cacheControl(this: FastifyReply, directives: CacheDirectives): FastifyReply {
      const text = writtenDirectives(directives)
      return text === '' ? this : this.header('cache-control', text)
    },

    expires(this: FastifyReply, time: Date | number | string): FastifyReply {
      const judged = judgeExpires(time, now())
      if ('value' in judged) this.header('expires', judged.value)
      if (judged.verdict !== 'ok') {
        const fate = judged.verdict === 'clamped' ? 'set to one year ahead' : 'not sent'
        const { method, routeOptions } = this.request
        this.log.warn(
          { verdict: judged.verdict },
          `Expires of ${method} ${routeOptions.url ?? 'an unknown path'} is ${fate}`,
        )
      }
      return this
    },

    lastModified(this: FastifyReply, times: ModificationTimes): FastifyReply {
      const all = Array.isArray(times) ? times : [times]
      const latest = latestTime(all, now())
      if (latest !== null) return this.header('last-modified', formatHttpDate(latest))
      if (all.length > 0) invalid('reply.lastModified()', 'dates, or RFC 3339 text', times)
      return this
    },

    etag(this: FastifyReply, tag: string): FastifyReply {
      return this.header('etag', entityTagOf(tag))
    },

    vary(this: FastifyReply, names: string | readonly string[]): FastifyReply {
      return this.header('vary', mergeVary(headerOf(this, 'vary'), names))
    },
  }
}

/** What replies have beside the helpers that `declare module` names. */
export interface VaryHelper {
  /**
   * Adds names to `Vary`, each once (RFC 9110 §12.5.5).
   * @throws TypeError for what is no field name
   */
  vary(names: string | readonly string[]): this
}

/** When something was last modified: once, or each item of a list. */
export type ModificationTimes = Date | string | readonly (Date | string)[]

// Frozen ones are the same the next time.
const written = new WeakMap<CacheDirectives, string>()

function writtenDirectives(directives: CacheDirectives): string {
  const known = written.get(directives)
  if (known !== undefined) return known
  const [fault] = cacheControlFaults(directives)
  if (fault !== undefined) invalid('reply.cacheControl()', `directives that agree: ${fault}`, directives)
  const text = cacheControl(directives)
  if (Object.isFrozen(directives)) written.set(directives, text)
  return text
}
