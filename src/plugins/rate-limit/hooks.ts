import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { keyStyleOf } from '../../fastify/key-style.js'
import { isPreflight } from '../../fastify/preflight.js'
import { isProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Reporter } from '../../rules/report.js'
import { Outage } from '../../time/outage.js'
import { scheduleTimeout } from '../../time/schedule.js'
import { boundedRedis } from './bounded-redis.js'
import { callerKeys, uncounted } from './caller-key.js'
import type { ResolvedRateLimit } from './options.js'
import { policyField, type Quota, type QuotaState, stateField } from './quota.js'

/** Counts a request, and returns the state of the quota. */
export type Limiter = ReturnType<FastifyInstance['createRateLimit']>

/** Counting by @fastify/rate-limit. */
export interface Counting {
  /** `app.createRateLimit()` of @fastify/rate-limit. */
  readonly createRateLimit: FastifyInstance['createRateLimit']
  /**
   * Returns a {@link Limiter} of the plugin's quota, or of another one.
   *
   * @param scope a prefix of the keys of another quota: in Redis all quotas share the names of their keys
   */
  limiter(own?: ResolvedRateLimit, scope?: string): Limiter
}

/**
 * Sets up @fastify/rate-limit on an app of its own, which serves no request. On the app itself it would count each request
 * once more, and its decorators would collide with those of an app that has it already.
 */
export async function setUpCounting(options: ResolvedRateLimit): Promise<Counting> {
  // Loaded here, so that an import of this package does not load it.
  const { default: plugin, normalizeIP } = await import('@fastify/rate-limit')
  const { max, timeWindow, ipv6Subnet, cache, redis, nameSpace } = options
  const host = Fastify()
  await host.register(plugin, {
    global: false,
    max,
    timeWindow,
    ipv6Subnet,
    cache,
    keyGenerator: callerKeys(options, '', normalizeIP),
    allowList: [uncounted],
    ...(redis === undefined ? {} : { redis: boundedRedis(redis, scheduleTimeout) }),
    ...(nameSpace === undefined ? {} : { nameSpace }),
  })
  return {
    createRateLimit: host.createRateLimit,
    limiter(own, scope) {
      if (own === undefined) return host.createRateLimit()
      const keyGenerator = callerKeys(own, `${scope} `, normalizeIP)
      return host.createRateLimit({ max: own.max, timeWindow: own.timeWindow, keyGenerator })
    },
  }
}

/** A quota and what counts requests against it. */
export interface CountedQuota {
  readonly quota: Quota
  readonly count: Limiter
}

/** Counts a request, then goes on or refuses it. `null` stands for no quota. */
export type CountAgainst = (
  counted: CountedQuota | null,
  request: FastifyRequest,
  reply: FastifyReply,
  next: (error?: Error) => void,
) => void

/** Returns the function that all hooks of the plugin call. */
export function countingHook(options: ResolvedRateLimit, reporter: Reporter): CountAgainst {
  const { mode } = options
  const servesUncounted = options.skipOnError || mode === 'report'
  const outage = new Outage()

  function apply(
    { quota }: CountedQuota,
    state: QuotaState & { readonly isExceeded: boolean },
    request: FastifyRequest,
    reply: FastifyReply,
    next: (error?: Error) => void,
  ): void {
    if (mode === 'report') {
      if (state.isExceeded) reporter.observe('rateLimit', 'quota', request, `beyond the quota ${quota.name}`)
      next()
      return
    }
    const policies = withItem(reply, policyField, quota.policy)
    const states = withItem(reply, stateField, quota.state(state))
    if (state.isExceeded) {
      const fields = { [policyField]: policies, [stateField]: states }
      const member = violatedPolicies[keyStyleOf(reply.server)]
      refuse(request, reply, quota.problem(state.ttl, fields, member), next)
    } else {
      reply.header(policyField, policies).header(stateField, states)
      next()
    }
  }

  function fail(error: unknown, request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void) {
    const isUnavailable = isProblemError(error) && error.code === 'quota-unavailable'
    if ((servesUncounted || isUnavailable) && outage.begins()) {
      const consequence = servesUncounted ? 'served uncounted' : 'refused'
      request.log.error({ err: error }, `rateLimit: requests cannot be counted, and are ${consequence}`)
    }
    if (servesUncounted) next()
    else if (isUnavailable) refuse(request, reply, error, next)
    else next(error as Error)
  }

  return function countAgainst(counted, request, reply, next) {
    if (counted === null || isPreflight(request)) {
      next()
      return
    }
    counted.count(request).then(
      (count) => {
        if (count.isAllowed) {
          next()
          return
        }
        if (outage.ends()) request.log.info('rateLimit: requests are counted again')
        apply(counted, count, request, reply, next)
      },
      (error: unknown) => fail(error, request, reply, next),
    )
  }
}

// draft-ietf-httpapi-ratelimit-headers writes `violated-policies`, for a problem type of its own.
const violatedPolicies = { snake_case: 'violated_policies', camelCase: 'violatedPolicies' } as const

/** Returns a List of structured fields with one more item (RFC 9651 §3.1): a request may count against several quotas. */
function withItem(reply: FastifyReply, field: string, item: string): string {
  const before = reply.getHeader(field)
  return before === undefined ? item : `${before}, ${item}`
}
