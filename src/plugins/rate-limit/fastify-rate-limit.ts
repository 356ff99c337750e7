import fastifyRateLimit, {
  type CreateRateLimitOptions,
  type RateLimitPluginOptions,
} from '@fastify/rate-limit'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { standInFor } from '../../fastify/stand-in.js'
import { ProblemError } from '../../problem/problem-error.js'
import { scheduleTimeout } from '../../time/schedule.js'
import { boundedRedis } from './bounded-redis.js'
import { callerKeys, uncounted } from './caller-key.js'
import type { ResolvedRateLimit } from './options.js'

/** Makes functions that count a request. */
export type CreateLimiter = FastifyInstance['createRateLimit']

/** Counts a request, and says what is left. */
export type Limiter = ReturnType<CreateLimiter>

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
  await (fastifyRateLimit as unknown as FastifyPluginAsync<RateLimitPluginOptions>)(standIn, {
    global: false,
    max,
    timeWindow,
    ipv6Subnet,
    cache,
    keyGenerator: callerKeys(options, ''),
    allowList: [uncounted],
    addHeaders: noFields,
    addHeadersOnExceeding: noFields,
    errorResponseBuilder: () => new ProblemError('quota-exceeded'),
    ...(redis === undefined ? {} : { redis: boundedRedis(redis, scheduleTimeout) }),
    ...(nameSpace === undefined ? {} : { nameSpace }),
  })
  return own.createRateLimit as CreateLimiter
}

/** What a quota of its own is made of; in Redis all of them share the names of their keys, so those have the scope. */
export function ownQuota(options: ResolvedRateLimit, scope: string): CreateRateLimitOptions {
  const { max, timeWindow } = options
  return { max, timeWindow, keyGenerator: callerKeys(options, `${scope} `) }
}
