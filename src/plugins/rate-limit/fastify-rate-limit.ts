import type { RateLimitPluginOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { standInFor } from '../../fastify/stand-in.js'
import { ProblemError } from '../../problem/problem-error.js'
import { scheduleTimeout } from '../../time/schedule.js'
import { boundedRedis } from './bounded-redis.js'
import { callerKeys, uncounted } from './caller-key.js'
import type { ResolvedRateLimit } from './options.js'

/** Counts a request, and returns what is left. */
export type Limiter = ReturnType<FastifyInstance['createRateLimit']>

/**
 * Makes a {@link Limiter}: of the plugin's quota, or of a quota of its own with a scope. In Redis all quotas share the
 * names of their keys, so the scope stands before each key.
 */
export type CreateLimiter = (own?: ResolvedRateLimit, scope?: string) => Limiter

/** What {@link Limiter} says of a request that counts. */
export type Count = Extract<Awaited<ReturnType<Limiter>>, { readonly isAllowed: false }>

/**
 * Sets up @fastify/rate-limit with its store, and leaves out what it would do on each route: it would count once more,
 * and not the paths that no route serves. Where it enforces, the app has `app.createRateLimit()`, unless it has one already.
 */
export async function limiterFactory(
  app: FastifyInstance,
  options: ResolvedRateLimit,
): Promise<CreateLimiter> {
  // Loaded here, so that an app without a quota does not load it.
  const { default: plugin, normalizeIP } = await import('@fastify/rate-limit')
  const own: Record<string, unknown> = {}
  const standIn = standInFor(app, {
    hasDecorator: () => false,
    decorate: (name: string, value: unknown) => {
      own[name] = value
      // Its `rateLimit()` would count once more, and set other fields.
      if (name !== 'rateLimit' && options.mode === 'enforce' && !app.hasDecorator(name)) {
        app.decorate(name, value)
      }
      return standIn
    },
    decorateRequest: app.decorateRequest.bind(app) as () => unknown,
    addHook: () => standIn,
  })
  const { max, timeWindow, ipv6Subnet, cache, redis, nameSpace } = options
  const fields = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
  const noFields = Object.fromEntries(fields.map((name) => [name, false]))
  await (plugin as unknown as FastifyPluginAsync<RateLimitPluginOptions>)(standIn, {
    global: false,
    max,
    timeWindow,
    ipv6Subnet,
    cache,
    keyGenerator: callerKeys(options, '', normalizeIP),
    allowList: [uncounted],
    addHeaders: noFields,
    addHeadersOnExceeding: noFields,
    errorResponseBuilder: () => new ProblemError('quota-exceeded'),
    ...(redis === undefined ? {} : { redis: boundedRedis(redis, scheduleTimeout) }),
    ...(nameSpace === undefined ? {} : { nameSpace }),
  })
  const createRateLimit = own.createRateLimit as FastifyInstance['createRateLimit']
  return function createLimiter(quota, scope) {
    if (quota === undefined) return createRateLimit()
    const { max, timeWindow } = quota
    return createRateLimit({ max, timeWindow, keyGenerator: callerKeys(quota, `${scope} `, normalizeIP) })
  }
}
