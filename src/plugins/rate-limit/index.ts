import type { RateLimitOptions as FastifyRateLimitOptions } from '@fastify/rate-limit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { headSiblings } from '../../fastify/internals.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { isPreflight } from '../../fastify/preflight.js'
import { addAppHook } from '../../fastify/route.js'
import { routeSlot } from '../../fastify/slots.js'
import { isObject, resolveOptions, resolveRouteOptions } from '../../options.js'
import { isProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import { reporterOf } from '../../rules/report.js'
import { timeWindowOf } from '../../time/time-window.js'
import { type Count, limiterFactory } from './fastify-rate-limit.js'
import {
  type RateLimitOptions,
  type RateLimitRouteOptions,
  rateLimitChecks,
  rateLimitDefaults,
  rateLimitRouteChecks,
} from './options.js'
import { type Quota, quotaOf } from './quota.js'

export type {
  CallerKey,
  RateLimitOptions,
  RateLimitRedis,
  RateLimitRouteOptions,
} from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The quota of this route, `{ max, timeWindow }`; `false` for none. The key is that of @fastify/rate-limit, and so is
     * its type; other options of it are refused at boot.
     */
    rateLimit?: FastifyRateLimitOptions | false
  }
}

/**
 * Limits the requests of a caller (RFC 6585 §4): @fastify/rate-limit counts them, 1,000 in a minute by
 * default. Who is beyond that gets 429 `quota-exceeded` with a `Retry-After` that is never before the reset; every
 * counted answer tells the quota and what is left of it in `RateLimit-Policy` and `RateLimit`
 * (draft-ietf-httpapi-ratelimit-headers).
 *
 * A request counts once, when it is admitted: before the app's authentication, whatever becomes of it, with or without a
 * route. Preflights do not count, and what no hook sees does not. A route has a quota of its own with
 * `config.rateLimit: { max, timeWindow }`, or none with `false`: the key of @fastify/rate-limit, of whose options these
 * two have a meaning here.
 *
 * Register it after `cors` and before whatever refuses requests. Not against a flood: that has to stop before it reaches
 * the process. Without `redis` each instance counts for itself; with it, a request waits half a second for its count at
 * most, and is then served uncounted, or refused with 503 `quota-unavailable`, as `skipOnError` says.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const rateLimit = conventionPlugin<RateLimitOptions>(
  'rateLimit',
  async function setUpRateLimit(app, received) {
    const options = resolveOptions('rateLimit', received, rateLimitChecks, rateLimitDefaults)
    if (options.mode === 'off') return
    const reporter = reporterOf(app)
    const isHeadSibling = headSiblings(app)
    const createLimiter = await limiterFactory(app, options)
    const standard = quotaOf('default', options.max, Number(options.timeWindow), createLimiter())
    const ofPaths = new Map<string, Quota | null>()
    let hasOwn = false
    const servesUncounted = options.skipOnError || options.mode === 'report'
    let isFailing = false

    addAppHook(app, 'onRequest', 'rateLimit', function limitOnRequest(request, reply, next) {
      const own = hasOwn ? quotas.of(request) : undefined
      countAgainst(own === undefined ? standard : own, request, reply, next)
    })

    function countAgainst(
      quota: Quota | null,
      request: FastifyRequest,
      reply: FastifyReply,
      next: (error?: Error) => void,
    ): void {
      if (quota === null || isPreflight(request)) {
        next()
        return
      }
      quota.count(request).then(
        (count) => {
          if (count.isAllowed) {
            next()
            return
          }
          if (isFailing) recovered(request)
          settle(quota, count, request, reply, next)
        },
        (error: unknown) => {
          const isUncountable = isProblemError(error) && error.code === 'quota-unavailable'
          if (servesUncounted || isUncountable) failed(request, error)
          if (servesUncounted) next()
          else if (isUncountable) refuse(request, reply, error, next)
          else next(error as Error)
        },
      )
    }

    let hookQuotas = 0
    const decorator: string = 'rateLimit'
    if (options.mode === 'enforce' && !app.hasDecorator(decorator)) app.decorate(decorator, quotaHook)

    /**
     * Returns a hook for single routes. With options it counts against a quota of its own, besides the one that the
     * request has counted against; without, against the quota of the plugin, where the request has not.
     */
    function quotaHook(given?: RateLimitRouteOptions) {
      if (given === undefined) {
        return function limitUncounted(request: FastifyRequest, reply: FastifyReply, ...rest: unknown[]) {
          const isCounted = quotas.of(request) !== null
          countAgainst(isCounted ? null : standard, request, reply, nextOf(rest))
        }
      }
      const own = resolveOptions('app.rateLimit()', given, rateLimitRouteChecks, options)
      hookQuotas += 1
      const name = `hook-${hookQuotas}`
      const quota = quotaOf(name, own.max, Number(own.timeWindow), createLimiter(own, name))
      return function limitByHook(request: FastifyRequest, reply: FastifyReply, ...rest: unknown[]) {
        countAgainst(quota, request, reply, nextOf(rest))
      }
    }

    function settle(
      quota: Quota,
      count: Count,
      request: FastifyRequest,
      reply: FastifyReply,
      next: (error?: Error) => void,
    ): void {
      if (options.mode === 'report') {
        if (count.isExceeded)
          reporter.observe('rateLimit', 'quota', request, `beyond the quota ${quota.name}`)
        next()
      } else if (count.isExceeded) {
        refuse(request, reply, quota.refusal(reply, count), next)
      } else {
        quota.setFields(reply, count)
        next()
      }
    }

    app.addHook('onRoute', function limitOnRoute(route) {
      const name = `${[route.method].flat().join(', ')} ${route.path}`
      const own = resolveRouteOptions<RateLimitRouteOptions, typeof options>(
        `${name} config.rateLimit`,
        options.mode === 'report'
          ? understood(route.config?.rateLimit)
          : (route.config?.rateLimit as RateLimitRouteOptions | false | undefined),
        rateLimitRouteChecks,
        options,
      )
      const isSibling = isHeadSibling(route)
      if (own === options) return
      hasOwn = true
      // GET and HEAD of a resource are one quota: to read it is to read it.
      const known = isSibling ? ofPaths.get(route.path) : undefined
      const quota =
        known !== undefined || own === false
          ? (known ?? null)
          : quotaOf(name, own.max, Number(own.timeWindow), createLimiter(own, name))
      if ([route.method].flat().includes('GET')) ofPaths.set(route.path, quota)
      quotas.set(route, quota)
    })

    // The log has each change once, not each request.
    function failed({ log }: FastifyRequest, err: unknown): void {
      const consequence = servesUncounted ? 'served uncounted' : 'refused'
      if (!isFailing) log.error({ err }, `rateLimit: requests cannot be counted, and are ${consequence}`)
      isFailing = true
    }

    function recovered({ log }: FastifyRequest): void {
      log.info('rateLimit: requests are counted again')
      isFailing = false
    }
  },
)

/** Of what a route says to a rate limit that the app may have already, what means the same here. */
function understood(given: unknown): RateLimitRouteOptions | false | undefined {
  if (given === false) return false
  if (!isObject(given)) return undefined
  const { max, timeWindow } = given
  return {
    ...(Number.isSafeInteger(max) && Number(max) > 0 ? { max: Number(max) } : {}),
    ...(timeWindowOf(timeWindow) === null ? {} : { timeWindow: timeWindow as number | string }),
  }
}

/** The callback of a hook: the last argument, whichever kind of hook it is. */
function nextOf(rest: readonly unknown[]): (error?: Error) => void {
  return rest.at(-1) as (error?: Error) => void
}

/** The quota of a route where it is not that of the plugin; `null` for none. */
const quotas = routeSlot<Quota | null>('rateLimit.quota')
