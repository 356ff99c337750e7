import type { RateLimitOptions as FastifyRateLimitOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { headSiblings } from '../../fastify/internals.js'
import { watchNeighbour } from '../../fastify/neighbours.js'
import { offerNames } from '../../fastify/offer-names.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook } from '../../fastify/route.js'
import { routeSlot } from '../../fastify/slots.js'
import { resolveOptions } from '../../options.js'
import { routeDescriber } from '../../problem/route-description.js'
import { reporterOf } from '../../rules/report.js'
import { scheduleTimeout } from '../../time/schedule.js'
import { type Charge, chargesOf } from './charges.js'
import { countingHook, setUpCounting } from './hooks.js'
import { describeQuotas } from './openapi.js'
import {
  checkContradictions,
  foreignFinding,
  foreignOptions,
  type RateLimitOptions,
  type RateLimitRouteOptions,
  rateLimitChecks,
  rateLimitDefaults,
  understoodOptions,
  withoutForeignOptions,
} from './options.js'

export type {
  CallerKey,
  NamedQuotaOptions,
  QuotaOptions,
  RateLimitMax,
  RateLimitOptions,
  RateLimitRouteOptions,
} from './options.js'
export type { RateLimitNodeRedis, RateLimitRedis } from './stores/redis-store.js'
export type { QuotaLimit, QuotaOutcome, QuotaState, QuotaStore } from './stores/store.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The quotas of this route, `{ max, timeWindow, count }` or `{ quotas }`, and the `cost` of a request; `false` for no
     * quota. The key and its type are those of @fastify/rate-limit; its other options are findings.
     */
    rateLimit?: FastifyRateLimitOptions | false
  }
}

declare module '@fastify/rate-limit' {
  interface RateLimitOptions extends Pick<RateLimitRouteOptions, 'quotas' | 'cost' | 'count'> {}
}

// Its decorators may be those of this plugin.
const neighbour = {
  name: '@fastify/rate-limit',
  isIn: (app: FastifyInstance) => app.hasPlugin('@fastify/rate-limit'),
}

/** What the requests of a route count against, if that is not the standard; `null` for no quota. */
const chargeOfRoute = routeSlot<Charge | null>('rateLimit.charge')

/**
 * Limits the requests of a caller (RFC 6585 §4), by default to 1,000 per minute. Requests beyond a quota get 429
 * `quota-exceeded` with a `Retry-After` that is never before the end of the window. All counted responses have the quotas
 * and what is left of them, in `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
 *
 * A request counts once, before the app's authentication, whatever the response and with or without a route. Preflights
 * and requests that no hook sees do not count. `config.rateLimit` gives a route quotas of its own, or a `cost`, or `false`
 * for none.
 *
 * Not against floods: these have to be stopped in front of the process. Without `redis` or `store` each instance counts
 * alone. With one, a request waits at most half a second for its count, and is then served uncounted, or refused with 503
 * `quota-unavailable`, see {@link RateLimitOptions.skipOnError}.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const rateLimit = conventionPlugin<RateLimitOptions>(
  'rateLimit',
  async function setUpRateLimit(app, received) {
    const options = resolveOptions('rateLimit', received, rateLimitChecks, rateLimitDefaults)
    checkContradictions('rateLimit', received)
    if (options.mode === 'off') return
    const charges = chargesOf(options, { ...options, now: () => Date.now(), schedule: scheduleTimeout })
    const { standard } = charges
    const isHeadSibling = headSiblings(app)
    const { counting, createRateLimit, rateLimitOfFastify } = await setUpCounting(options, standard)
    const reporter = reporterOf(app)
    const countAgainst = countingHook(options, counting, reporter)
    const isLimitedByApp = watchNeighbour(app, neighbour, {
      plugin: 'rateLimit',
      problem: 'counts these requests: this plugin does not',
      instead: 'one of the two: rateLimit: false, or no @fastify/rate-limit',
    })
    // Reading the route of a request takes time, so it is read only if a route has a charge of its own.
    let hasOwn = false

    addAppHook(app, 'onRequest', 'rateLimit', function limitOnRequest(request, reply, next) {
      const own = hasOwn ? chargeOfRoute.of(request) : undefined
      const charge = own === undefined ? standard : own
      countAgainst(isLimitedByApp(request) ? null : charge, request, reply, next)
    })

    if (options.mode === 'enforce') {
      // In `report` mode they would keep @fastify/rate-limit from adding its own.
      const members = { createRateLimit: { value: createRateLimit }, rateLimit: { value: quotaHook } }
      if (!neighbour.isIn(app))
        offerNames(app, { plugin: 'rateLimit', mode: options.mode, owner: 'app', members })
      reporter.checkAtReady(() => {
        if (!neighbour.isIn(app) || app.rateLimit !== quotaHook) return
        const problem = 'app.rateLimit() was there before @fastify/rate-limit, and knows none of its options'
        const instead = 'await app.register() of @fastify/rate-limit first'
        const finding = {
          plugin: 'rateLimit',
          rule: 'overlap',
          route: '(all)',
          mode: 'report',
          problem,
          instead,
        } as const
        reporter.addFinding(finding, 'none')
      })
    }

    const findingMode = options.mode
    const describe = routeDescriber(app)
    const mayBeUnavailable = (options.redis ?? options.store) !== undefined && !options.skipOnError
    let hookQuotas = 0

    /**
     * Returns a hook for single routes. With options it counts against quotas of its own, besides those that the request
     * has counted against. Without, it counts against the quotas of the plugin, unless the request has. If the app has
     * @fastify/rate-limit too, it is the hook of that package.
     */
    function quotaHook(given?: RateLimitRouteOptions) {
      if (neighbour.isIn(app)) return rateLimitOfFastify(given as FastifyRateLimitOptions)
      if (given === undefined) {
        return function limitUncounted(request: FastifyRequest, reply: FastifyReply, ...rest: unknown[]) {
          const isCounted = chargeOfRoute.of(request) !== null
          countAgainst(isCounted ? null : standard, request, reply, nextOf(rest))
        }
      }
      hookQuotas += 1
      const charge = charges.ofHook(`hook-${hookQuotas}`, given)
      return function limitByHook(request: FastifyRequest, reply: FastifyReply, ...rest: unknown[]) {
        countAgainst(charge, request, reply, nextOf(rest))
      }
    }

    function addForeign(context: FastifyInstance, route: string, names: readonly string[]): void {
      if (neighbour.isIn(context)) return
      const [problem, instead] = foreignFinding(names)
      reporter.addFinding({
        plugin: 'rateLimit',
        rule: 'options',
        route,
        mode: findingMode,
        problem,
        instead,
      })
    }

    const chargeOfGet = new Map<string, Charge | null>()
    app.addHook('onRoute', function limitOnRoute(route) {
      const { path } = route
      const methods = [route.method].flat()
      const name = `${methods.join(', ')} ${path}`
      const written = route.config?.rateLimit as RateLimitRouteOptions | false | undefined
      const isReadByOther = neighbour.isIn(this)
      const given =
        options.mode === 'report' || isReadByOther
          ? understoodOptions(written)
          : withoutForeignOptions(written)
      const own = charges.ofRoute(name, given)
      const isSibling = isHeadSibling(route)
      const foreign = foreignOptions(written)
      if (foreign.length > 0 && !isSibling) reporter.checkAtReady(() => addForeign(this, name, foreign))
      if (own !== null && options.mode === 'enforce') describe(route, describeQuotas(mayBeUnavailable))
      if (own === undefined) return
      hasOwn = true
      // GET and HEAD of a path share a quota. A path that ends in a slash may be the second form of the one without.
      const ofGet = isSibling
        ? (chargeOfGet.get(path) ?? chargeOfGet.get(path.replace(/\/$/, '')))
        : undefined
      const charge = own === null ? null : (ofGet ?? own)
      if (methods.includes('GET')) chargeOfGet.set(path, charge)
      chargeOfRoute.set(route, charge)
    })
  },
)

/** Returns the callback of a hook of any kind: its last parameter. */
function nextOf(rest: readonly unknown[]): (error?: Error) => void {
  return rest.at(-1) as (error?: Error) => void
}
