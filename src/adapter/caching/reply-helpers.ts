import type { FastifyReply } from 'fastify'
import { type CacheDirectives, cacheControl } from '../../http/caching/cache-control.js'
import { cacheControlFaults } from '../../http/caching/cache-control-faults.js'
import { entityTagOf } from '../../http/caching/entity-tag-of.js'
import { judgeExpires } from '../../http/caching/expires.js'
import { formatHttpDate } from '../../http/caching/http-date.js'
import { latestTime } from '../../http/caching/last-modified.js'
import { mergeVary } from '../../http/caching/vary.js'
import { invalid } from '../../options.js'
import { headerOf } from '../header-of.js'

/** What replies can do, by name; `this` is the reply. */
export function replyHelpers(now: () => number) {
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
