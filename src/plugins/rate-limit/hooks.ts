import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { hookError } from '../../fastify/hook-error.js'
import { keyStyleOf } from '../../fastify/key-style.js'
import { isPreflight } from '../../fastify/preflight.js'
import { isPromise, whenSettled } from '../../maybe-async.js'
import { isProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Reporter } from '../../rules/report.js'
import { Outage } from '../../time/outage.js'
import { scheduleTimeout } from '../../time/schedule.js'
import { callers } from './caller-key.js'
import type { Charge } from './charges.js'
import { type Counted, type Counting, countingIn } from './counting.js'
import { keyGenerator, limiter, storeOfLimiters, uncounted } from './create-rate-limit.js'
import type { CreateRateLimit, ResolvedRateLimit } from './options.js'
import { exceededQuotas, policyField, quotaProblem, stateField } from './quota.js'
import { boundedStore } from './stores/bounded.js'
import { memoryQuotaStore } from './stores/memory.js'
import { redisQuotaStore } from './stores/redis-store.js'
import type { QuotaStore } from './stores/store.js'

/** Sets up the store that the options name, and the functions that count in it. */
export async function setUpCounting(options: ResolvedRateLimit, { limitsOf }: Charge) {
  // Loaded here, so that an import of this package does not load it.
  const { default: plugin, normalizeIP } = await import('@fastify/rate-limit')
  const callerOf = callers(options, normalizeIP)
  const shared = sharedStoreOf(options)
  const counting = countingIn(shared ?? memoryQuotaStore(options.cache), callerOf)
  // An app of its own, which serves no request: on the app itself, the decorators would collide with those of an app that
  // has @fastify/rate-limit already.
  const host = Fastify()
  await host.register(plugin, {
    global: false,
    timeWindow: options.timeWindow,
    // In memory each has its own, so that one that an app drops is collected with its counts.
    store: storeOfLimiters(() => shared ?? memoryQuotaStore(options.cache)),
    keyGenerator: keyGenerator(callerOf),
    allowList: [uncounted],
    ...(typeof options.max === 'number' ? { max: options.max } : {}),
  })
  /** Returns a function that counts in a handler; without options, against the quotas of the plugin. */
  const createRateLimit: CreateRateLimit = (own) =>
    own === undefined ? limiter(counting, limitsOf) : host.createRateLimit(own)
  /** Returns the hook of @fastify/rate-limit. */
  const rateLimitOfFastify: FastifyInstance['rateLimit'] = (own) => host.rateLimit(own)
  return { counting, createRateLimit, rateLimitOfFastify }
}

function sharedStoreOf({ redis, store, nameSpace }: ResolvedRateLimit): QuotaStore | null {
  const shared = redis === undefined ? store : redisQuotaStore(redis, nameSpace)
  return shared === undefined ? null : boundedStore(shared, scheduleTimeout)
}

/** Counts a request, then goes on or refuses it. `null` stands for no quota. */
export type CountAgainst = (
  charge: Charge | null,
  request: FastifyRequest,
  reply: FastifyReply,
  next: (error?: Error) => void,
) => void

/** Returns the function that all hooks of the plugin call. */
export function countingHook(
  options: ResolvedRateLimit,
  { count, giveBack }: Counting,
  reporter: Reporter,
): CountAgainst {
  const { mode } = options
  const servesUncounted = options.skipOnError || mode === 'report'
  const outage = new Outage()

  function apply(counted: Counted, request: FastifyRequest, reply: FastifyReply, next: Next): void {
    const { limits, states, isTaken, cost } = counted
    const { quotas } = limits
    if (isTaken && limits.ofFailures.length > 0) giveBackAfterSuccess(counted, request, reply)
    if (mode === 'report') {
      if (!isTaken) {
        const names = exceededQuotas(quotas, states, cost).map(([{ name }]) => name)
        reporter.observe('rateLimit', 'quota', request, `beyond the quota ${names.join(', ')}`, 429)
      } else {
        reporter.observe(
          'rateLimit',
          'fields',
          request,
          'without RateLimit and RateLimit-Policy',
          'header added',
        )
      }
      next()
      return
    }
    const fields = {
      [policyField]: withItems(reply, policyField, limits.policies),
      [stateField]: withItems(reply, stateField, stateItems(counted)),
    }
    if (isTaken) {
      reply.header(policyField, fields[policyField]).header(stateField, fields[stateField])
      next()
    } else {
      const member = violatedPolicies[keyStyleOf(reply.server)]
      refuse(request, reply, quotaProblem(quotas, states, cost, fields, member), next)
    }
  }

  function giveBackAfterSuccess(counted: Counted, request: FastifyRequest, { raw }: FastifyReply): void {
    // A response that is cut off emits no `finish`, and so counts.
    raw.once('finish', () => {
      if (raw.statusCode >= 400 && raw.statusCode !== 429) return
      const given = giveBack(counted)
      if (isPromise(given)) given.catch((error: unknown) => logOutage(error, request, 'not given back'))
    })
  }

  function logOutage(error: unknown, request: FastifyRequest, consequence: string): void {
    if (outage.begins()) {
      request.log.error({ err: error }, `rateLimit: requests cannot be counted, and are ${consequence}`)
    }
  }

  function fail(error: unknown, request: FastifyRequest, reply: FastifyReply, next: Next): void {
    const isUnavailable = isProblemError(error) && error.code === 'quota-unavailable'
    if (servesUncounted || isUnavailable) {
      logOutage(error, request, servesUncounted ? 'served uncounted' : 'refused')
    }
    if (servesUncounted) next()
    else if (isUnavailable) refuse(request, reply, error, next)
    else next(hookError(error))
  }

  return function countAgainst(charge, request, reply, next) {
    if (charge === null || isPreflight(request)) {
      next()
      return
    }
    function proceed(counted: Counted | null): void {
      if (counted === null) {
        next()
        return
      }
      if (outage.ends()) request.log.info('rateLimit: requests are counted again')
      apply(counted, request, reply, next)
    }
    whenSettled(
      () => count(charge, request),
      proceed,
      (error) => fail(error, request, reply, next),
    )
  }
}

type Next = (error?: Error) => void

// draft-ietf-httpapi-ratelimit-headers writes `violated-policies`, for a problem type of its own.
const violatedPolicies = { snake_case: 'violated_policies', camelCase: 'violatedPolicies' } as const

function stateItems({ limits, states }: Counted): string {
  let items = ''
  for (const [index, quota] of limits.quotas.entries()) {
    const state = states[index]
    if (state !== undefined) items += `${items === '' ? '' : ', '}${quota.state(state)}`
  }
  return items
}

/** Returns a List of structured fields with more items (RFC 9651 §3.1): a hook of the route may add quotas. */
function withItems(reply: FastifyReply, field: string, items: string): string {
  const before = reply.getHeader(field)
  return before === undefined ? items : `${before}, ${items}`
}
