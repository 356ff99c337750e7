import type { RateLimitOptions as FastifyRateLimitOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { keyStyleOf } from '../../convention/contexts.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { serverSettings } from '../../convention/internals.js'
import type { Effect, RequestStep } from '../../convention/steps.js'
import { problemsOf, type RouteDescription, retryAfterDescribed } from '../../problem/route-description.js'
import { isPromise, outageLog } from '../../time/async.js'
import { callers, keptCallers, limitsOf, type QuotaCaller } from './caller.js'
import {
  boundedCounter,
  type Counter,
  type Limits,
  memoryCounter,
  quotaFields,
  quotaProblem,
  type State,
  sharedCounter,
} from './counter.js'
import {
  quotasOf,
  type RateLimitOptions,
  type RateLimitRouteOptions,
  type ResolvedRateLimit,
  rateLimitOptions,
  rateLimitRouteOptions,
} from './options.js'

export type {
  CallerKey,
  NamedQuotaOptions,
  RateLimitMax,
  RateLimitOptions,
  RateLimitRedis,
  RateLimitRouteOptions,
} from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The quota of this route, `{ max, timeWindow }` or `{ quotas }`; `false` for no quota. The key and its type are those of
     * @fastify/rate-limit; its other options fail the boot.
     */
    rateLimit?: FastifyRateLimitOptions | false
  }
}

declare module '@fastify/rate-limit' {
  interface RateLimitOptions extends Pick<RateLimitRouteOptions, 'quotas' | 'mode'> {}
}

/**
 * Limits the requests of a caller (RFC 6585 §4), by default to 1,000 per minute. Requests beyond a quota get 429
 * `quota-exceeded` with a `Retry-After` that is never before the end of the window. All counted responses have the quotas
 * and what is left of them, in `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
 *
 * A request counts once, before the app's authentication, whatever the response and with or without a route. Preflights
 * that CORS answers and requests that no hook sees do not count. `config.rateLimit` gives a route a quota of its own, or
 * `false` for none.
 *
 * Not against floods: these have to be stopped in front of the process. Without `redis` each instance counts alone. With it,
 * a request waits at most half a second for its count, and is then served uncounted.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const rateLimit: FastifyPluginAsync<RateLimitOptions & RegistrationOptions> = convention({
  name: 'rateLimit',
  rules: ['quota', 'fields'],
  exemptsPreflights: true,
  neighbours: [
    {
      name: '@fastify/rate-limit',
      isIn: (app) => app.hasPlugin('@fastify/rate-limit'),
      problem: 'counts these requests: this plugin does not',
      instead: 'one of the two: rateLimit: false, or no @fastify/rate-limit',
    },
  ],
  options: rateLimitOptions,
  routeOptions: rateLimitRouteOptions,
  async setUp({ app, options, atReady, addFinding }) {
    const stepOf = await stepMaker(app, options)
    const quotas = quotasOf('rateLimit', options)
    atReady(function findInventedAddresses() {
      const { mode, key } = options
      if (mode === 'off' || key !== undefined || serverSettings(app).trustProxy !== true) return
      const finding = {
        rule: 'address',
        route: '(all)',
        mode: 'report',
        problem:
          'trustProxy: true believes any X-Forwarded-For: a client that invents addresses has no quota',
        instead: "the addresses of the proxies, such as trustProxy: '10.0.0.0/8'",
      } as const
      addFinding(finding, 'none')
    })
    return { stepOf, standard: stepOf(quotas) }
  },
  route({ name, route, options, modeOf, state }) {
    if (modeOf.quota === 'off') return undefined
    const { stepOf, standard } = state
    const own = (route?.config?.rateLimit ?? {}) as RateLimitRouteOptions
    let onRequest = standard
    if ((own.max ?? own.timeWindow ?? own.quotas) !== undefined)
      onRequest = stepOf(quotasOf(`${name} config.rateLimit`, own, name, options))
    return { onRequest, describe: modeOf.quota === 'enforce' ? quotasDescribed : undefined }
  },
})

async function stepMaker(app: FastifyInstance, { key, redis }: ResolvedRateLimit) {
  const outage = outageLog()
  // Loaded here, so that an import of this package does not load it.
  const { default: plugin, normalizeIP } = await import('@fastify/rate-limit')
  const callerOf = callers(key, normalizeIP)
  let count: Counter = memoryCounter(keptCallers)
  if (redis !== undefined) {
    // A context of its own: the decorators would collide with those of an app that has @fastify/rate-limit.
    await app.register(async function countInRedis(child) {
      await child.register(plugin, { global: false, redis })
      count = boundedCounter(sharedCounter(child.createRateLimit))
    })
  }

  function uncounted(request: FastifyRequest, err: unknown): undefined {
    if (outage.begins())
      request.log.error({ err }, 'rateLimit: requests cannot be counted, and are served uncounted')
  }

  return function stepOf(quotas: Parameters<typeof limitsOf>[0]): RequestStep {
    const limitsOfCaller = limitsOf(quotas)

    function countCaller(request: FastifyRequest, reply: FastifyReply, caller: QuotaCaller | null) {
      if (caller === null) return undefined
      const limits = limitsOfCaller(request, caller)
      return isPromise(limits)
        ? limits.then((known) => countWithin(request, reply, caller, known))
        : countWithin(request, reply, caller, limits)
    }

    function countWithin(request: FastifyRequest, reply: FastifyReply, { key }: QuotaCaller, limits: Limits) {
      if (limits.list.length === 0) return undefined
      const states = count(request, key, limits.list)
      return isPromise(states)
        ? states.then((known) => tell(request, reply, limits, known))
        : tell(request, reply, limits, states)
    }

    function tell(
      request: FastifyRequest,
      reply: FastifyReply,
      { policy }: Limits,
      states: readonly State[],
    ) {
      if (outage.ends()) request.log.info('rateLimit: requests are counted again')
      return effectOf(policy, states, reply)
    }

    // Closures are made for promises only.
    return function countRequest(request, reply) {
      try {
        const caller = callerOf(request)
        const effect = isPromise(caller)
          ? caller.then((known) => countCaller(request, reply, known))
          : countCaller(request, reply, caller)
        return isPromise(effect) ? effect.then(undefined, (err: unknown) => uncounted(request, err)) : effect
      } catch (err) {
        return uncounted(request, err)
      }
    }
  }
}

function effectOf(policy: string, states: readonly State[], { server }: FastifyReply): Effect {
  if (!states.some(({ isExceeded }) => isExceeded)) {
    const headers = quotaFields(policy, states)
    return { rule: 'fields', given: 'without RateLimit and RateLimit-Policy', headers }
  }
  const exceeded = states.flatMap(({ limit, isExceeded }) => (isExceeded ? limit.quota.name : []))
  const given = `beyond the quota ${exceeded.join(', ')}`
  return { rule: 'quota', given, refusal: quotaProblem(policy, states, violatedPolicies[keyStyleOf(server)]) }
}

// draft-ietf-httpapi-ratelimit-headers writes `violated-policies`, for a problem type of its own.
const violatedPolicies = { snake_case: 'violated_policies', camelCase: 'violatedPolicies' } as const

const quotasDescribed: RouteDescription = {
  allHeaders: {
    'RateLimit-Policy': { type: 'string', description: 'The quotas (draft-ietf-httpapi-ratelimit-headers)' },
    RateLimit: { type: 'string', description: 'What is left of the quotas' },
  },
  problems: problemsOf({ 'quota-exceeded': 'The caller has sent too many requests' }),
  headersOf: { 429: retryAfterDescribed },
}
