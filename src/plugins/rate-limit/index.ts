import type { RateLimitOptions as FastifyRateLimitOptions } from '@fastify/rate-limit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { headSiblings } from '../../fastify/internals.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook } from '../../fastify/route.js'
import { routeSlot } from '../../fastify/slots.js'
import { resolveOptions, resolveRouteOptions } from '../../options.js'
import { reporterOf } from '../../rules/report.js'
import { type CountedQuota, countingHook, setUpCounting } from './hooks.js'
import {
  type RateLimitOptions,
  type RateLimitRouteOptions,
  type ResolvedRateLimit,
  rateLimitChecks,
  rateLimitDefaults,
  rateLimitRouteChecks,
  understoodOptions,
} from './options.js'
import { Quota } from './quota.js'

export type {
  CallerKey,
  RateLimitOptions,
  RateLimitRedis,
  RateLimitRouteOptions,
} from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The quota of this route, `{ max, timeWindow }`; `false` for none. The key and its type are those of
     * @fastify/rate-limit; its other options fail the boot.
     */
    rateLimit?: FastifyRateLimitOptions | false
  }
}

/** The quota of a route that is not that of the plugin; `null` for none. */
const quotaOfRoute = routeSlot<CountedQuota | null>('rateLimit.quota')

/**
 * Limits the requests of a caller (RFC 6585 §4). @fastify/rate-limit counts them, by default 1,000 per minute. Requests
 * beyond the quota get 429 `quota-exceeded` with a `Retry-After` that is never before the end of the window. All counted
 * responses have the quota and what is left of it, in `RateLimit-Policy` and `RateLimit`
 * (draft-ietf-httpapi-ratelimit-headers).
 *
 * A request counts once, before the app's authentication, whatever the response and with or without a route. Preflights
 * and requests that no hook sees do not count. `config.rateLimit: { max, timeWindow }` gives a route a quota of its own,
 * `false` none.
 *
 * Not against floods: these have to be stopped in front of the process. Without `redis` each instance counts alone. With
 * it, a request waits at most half a second for its count, and is then served uncounted, or refused with 503
 * `quota-unavailable`, see {@link RateLimitOptions.skipOnError}.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const rateLimit = conventionPlugin<RateLimitOptions>(
  'rateLimit',
  async function setUpRateLimit(app, received) {
    const options = resolveOptions('rateLimit', received, rateLimitChecks, rateLimitDefaults)
    if (options.mode === 'off') return
    const countAgainst = countingHook(options, reporterOf(app))
    const isHeadSibling = headSiblings(app)
    const { createRateLimit, limiter } = await setUpCounting(options)
    const standard = { quota: new Quota('default', options.max, options.timeWindow), count: limiter() }
    // Reading the route of a request takes time, so it is read only if a route has a quota of its own.
    let hasOwn = false

    addAppHook(app, 'onRequest', 'rateLimit', function limitOnRequest(request, reply, next) {
      const own = hasOwn ? quotaOfRoute.of(request) : undefined
      countAgainst(own === undefined ? standard : own, request, reply, next)
    })

    if (options.mode === 'enforce') {
      const decorators: Readonly<Record<string, unknown>> = { createRateLimit, rateLimit: quotaHook }
      for (const [name, value] of Object.entries(decorators)) {
        if (!app.hasDecorator(name)) app.decorate(name, value)
      }
    }

    function ownQuota(name: string, own: ResolvedRateLimit): CountedQuota {
      return { quota: new Quota(name, own.max, own.timeWindow), count: limiter(own, name) }
    }

    let hookQuotas = 0

    /**
     * Returns a hook for single routes. With options it counts against a quota of its own, besides the one that the
     * request has counted against. Without, it counts against the quota of the plugin, unless the request has.
     */
    function quotaHook(given?: RateLimitRouteOptions) {
      if (given === undefined) {
        return function limitUncounted(request: FastifyRequest, reply: FastifyReply, ...rest: unknown[]) {
          const isCounted = quotaOfRoute.of(request) !== null
          countAgainst(isCounted ? null : standard, request, reply, nextOf(rest))
        }
      }
      hookQuotas += 1
      const own = resolveOptions('app.rateLimit()', given, rateLimitRouteChecks, options)
      const counted = ownQuota(`hook-${hookQuotas}`, own)
      return function limitByHook(request: FastifyRequest, reply: FastifyReply, ...rest: unknown[]) {
        countAgainst(counted, request, reply, nextOf(rest))
      }
    }

    const quotaOfGet = new Map<string, CountedQuota | null>()
    app.addHook('onRoute', function limitOnRoute(route) {
      const { path } = route
      const methods = [route.method].flat()
      const name = `${methods.join(', ')} ${path}`
      const given = route.config?.rateLimit
      const own = resolveRouteOptions<RateLimitRouteOptions, ResolvedRateLimit>(
        `${name} config.rateLimit`,
        options.mode === 'report'
          ? understoodOptions(given)
          : (given as RateLimitRouteOptions | false | undefined),
        rateLimitRouteChecks,
        options,
      )
      const isSibling = isHeadSibling(route)
      if (own === options) return
      hasOwn = true
      // GET and HEAD of a path share a quota. A path that ends in a slash may be the second form of the one without.
      const ofGet = isSibling ? (quotaOfGet.get(path) ?? quotaOfGet.get(path.replace(/\/$/, ''))) : undefined
      const counted = own === false ? null : (ofGet ?? ownQuota(name, own))
      if (methods.includes('GET')) quotaOfGet.set(path, counted)
      quotaOfRoute.set(route, counted)
    })
  },
)

/** Returns the callback of a hook of any kind: its last parameter. */
function nextOf(rest: readonly unknown[]): (error?: Error) => void {
  return rest.at(-1) as (error?: Error) => void
}
