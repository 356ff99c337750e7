import type { FastifyInstance, RouteOptions } from 'fastify'
import { callerFields } from '../../fastify/caller.js'
import { addFrameworkErrorHeaders } from '../../fastify/framework-error-headers.js'
import { headerOf } from '../../fastify/header-of.js'
import { keyStyleOf } from '../../fastify/key-style.js'
import { watchNeighbour } from '../../fastify/neighbours.js'
import { offerNames } from '../../fastify/offer-names.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { hiddenFieldsOf, needFields } from '../../fastify/selection.js'
import { varyMerger } from '../../http/vary.js'
import { resolveOptions } from '../../options.js'
import { describeRoute } from '../../problem/route-description.js'
import { foreignReasonOf } from '../../rules/exceptions.js'
import { reporterOf } from '../../rules/report.js'
import { ruledRoutes } from '../../rules/ruled-routes.js'
import { effectOn } from './decision.js'
import {
  addVary,
  allowHead304,
  type CachingCounts,
  type CachingHooks,
  cachingHooks,
  countVary,
  declareSlots,
  forbidStoring,
  forbidStoringOnError,
  varyEarly,
  versionOf,
} from './hooks.js'
import { describeCaching } from './openapi.js'
import {
  type CachingOptions,
  type CachingRouteOptions,
  cachingChecks,
  cachingDefaults,
  cachingRouteChecks,
  cachingRuleNames,
  type VersionOf,
} from './options.js'
import { type CachedRoute, type CachingPlan, callerFindings, findingsOf, planner } from './plan.js'
import { isRead } from './preconditions.js'
import { type CachingFields, cachingHelper } from './reply-helpers.js'

export type { CacheDirectives } from './cache-control.js'
export type { CachingCounts } from './hooks.js'
export type {
  CachingOptions,
  CachingRouteOptions,
  CachingRule,
  FindValidators,
  ResourceVersion,
  RouteValidators,
} from './options.js'
export type { CachingFields, ModificationTimes } from './reply-helpers.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of `caching` for this route; `false` turns it off. */
    caching?: CachingRouteOptions | false
  }
  interface FastifyInstance {
    /** What caching has saved. */
    caching: {
      /** Returns how many conditional requests were answered without all of the work, since the start. */
      counts(): Readonly<CachingCounts>
    }
  }
  interface FastifyRequest<RouteGeneric, RawServer, RawRequest, SchemaCompiler, TypeProvider, ContextConfig> {
    /**
     * The version that this write may overwrite, as `config.caching.validators` returned it: `null` if the resource must
     * not exist yet, `undefined` if the request has no precondition. Compare it in the statement that writes, and throw
     * `ProblemError('precondition-failed')` if it has changed.
     */
    readonly expectedVersion: VersionOf<ContextConfig> | null | undefined
  }
  interface FastifyReply {
    /**
     * Sets header fields about caching.
     * @throws FST_CONV_OPTION_INVALID for directives that contradict each other, and for times that are neither a `Date`
     * nor RFC 3339 text; FST_CONV_OPTION_UNKNOWN; TypeError for characters that an entity tag or a field name cannot have
     */
    caching(fields: CachingFields): this
  }
}

/** Plugins whose headers stay. */
const neighbours = [
  {
    name: '@fastify/etag',
    isIn: (app: FastifyInstance) => app.hasPlugin('@fastify/etag'),
    problem: 'makes the entity tags here: this plugin makes none',
    instead: 'no @fastify/etag',
  },
  {
    name: '@fastify/caching',
    isIn: (app: FastifyInstance) => app.hasPlugin('@fastify/caching'),
    problem: 'sets Cache-Control here, and it stays: the options of this plugin do not apply to it',
    instead: 'no @fastify/caching',
  },
] as const

/**
 * Caching headers and conditional requests (RFC 9110 §13, RFC 9111). Every 200 to a GET or HEAD has `Cache-Control`,
 * `ETag` and `Last-Modified`. Preconditions are evaluated in the order of RFC 9110 §13.2.2: with `validators` before the
 * handler, else after it. Responses to writes and errors are not stored. With `validators`, a PUT, PATCH or DELETE with a
 * stale `If-Match` is a 412, and the handler does not run; without, preconditions of writes are left to the handler.
 *
 * Wildcard routes, WebSocket routes and routes for all methods are left alone, unless they
 * have `config.caching`; the report lists them.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const caching = conventionPlugin<CachingOptions>('caching', function setUpCaching(app, received) {
  const options = resolveOptions('caching', received, cachingChecks, cachingDefaults)
  const planFor = planner({
    snake_case: options,
    camelCase: received.lastModified === undefined ? { ...options, lastModified: 'updatedAt' } : options,
  })
  const reporter = reporterOf(app)
  const readRoute = ruledRoutes({
    plugin: 'caching',
    rules: cachingRuleNames,
    options,
    routeChecks: cachingRouteChecks,
    app,
  })
  const counts: CachingCounts = {
    notModifiedBeforeHandler: 0,
    notModifiedAfterHandler: 0,
    preconditionFailed: 0,
  }
  const hooksOf = new WeakMap<CachingPlan, CachingHooks>()
  const enforced: { readonly route: RouteOptions; readonly plan: CachingPlan }[] = []
  if (options.mode !== 'off') {
    for (const neighbour of neighbours) watchNeighbour(app, neighbour, { plugin: 'caching', ...neighbour })
  }

  declareSlots(app)
  const offered = { plugin: 'caching', mode: options.mode }
  const value = { counts: () => ({ ...counts }) }
  offerNames(app, { ...offered, owner: 'app', members: { caching: { value } } })
  const helper = { value: cachingHelper(options.now) }
  offerNames(app, { ...offered, owner: 'reply', members: { caching: helper } })
  const needVersion = offerNames(app, {
    ...offered,
    owner: 'request',
    members: { expectedVersion: { get: versionOf } },
  })
  if (options.mode !== 'off') addFrameworkErrorHeaders(app, varyEarly)
  // The hooks of a route do not run for a path without a route. A page that is sent there is the app's own.
  if (options.mode !== 'off') {
    addAppHook(app, 'onSend', 'caching', function forbidStoringUnknownPaths(request, reply, payload, next) {
      const isUnknown = request.is404 && reply.statusCode >= 400
      if (isUnknown && options.mode === 'enforce') forbidStoring(reply)
      else if (isUnknown && headerOf(reply, 'cache-control') !== 'no-store') {
        const effect = effectOn(reply, 'cache-control')
        reporter.observe('caching', 'cache-control', request, 'would get Cache-Control: no-store', effect)
      }
      next(null, payload)
    })
  }

  app.addHook('onRoute', function cacheOnRoute(route) {
    const ruled = readRoute(route)
    const { own, isHeadSibling } = ruled
    const isCommon = route.config?.caching === undefined
    // A route with foreign content is cached only if it has options of its own.
    const foreign = isCommon ? foreignReasonOf(route) : null
    const reason = own === false ? ruled.exclusionReason : foreign
    if (isHeadSibling && options.mode === 'enforce') allowHead304(route)
    if (!isHeadSibling) addExceptions(ruled, reason)
    if (own === false || reason !== null) return
    const plan = planFor(ruled, own, isCommon, keyStyleOf(this))
    if (plan.mode === 'off') return
    if (!isHeadSibling) {
      addFindings(ruled, findingsOf(plan, own, ruled, hiddenFieldsOf(route)))
      if (plan.isShared && ruled.methods.some(isRead))
        reporter.checkAtReady(() => addFindings(ruled, callerFindings(callerFields.get(route))))
    }
    if (plan.validators !== null && !isHeadSibling && !ruled.methods.every(isRead))
      needVersion(ruled.name, 'expectedVersion')
    addHooks(route, plan, ruled.methods)
    if (plan.mode === 'report') {
      if (own.vary !== undefined && ruled.methods.some(isRead)) countVary(route, own.vary, reporter)
      return
    }
    addHook(route, 'onError', 'caching', forbidStoringOnError)
    if (ruled.methods.some(isRead)) varyByCaller(route, own.vary ?? [])
    if (!isHeadSibling) enforced.push({ route, plan })
  })

  app.addHook('onReady', function describeOnReady(done) {
    for (const { route, plan } of enforced) describeRoute(route, describeCaching([route.method].flat(), plan))
    done()
  })

  function addHooks(route: RouteOptions, plan: CachingPlan, methods: readonly string[]): void {
    const hooks = hooksOf.get(plan) ?? cachingHooks(plan, counts, reporter)
    // Each route reports a missing date once.
    if (!plan.reportsMissingDate) hooksOf.set(plan, hooks)
    const { lastModified } = plan
    const reads = methods.some(isRead)
    addHook(route, 'onSend', 'caching', hooks.finishOnSend)
    if (plan.validators !== null)
      addHook(route, 'preHandler', 'caching', hooks.checkPreconditionsOnPreHandler)
    if (plan.validatorsOf !== null || (reads && lastModified !== false))
      addHook(route, 'preSerialization', 'caching', hooks.readPayloadOnPreSerialization)
    if (reads && lastModified !== false && plan.mode === 'enforce')
      needFields(route, () => [lastModified], true)
  }

  function varyByCaller(route: RouteOptions, vary: readonly string[]): void {
    const fields = callerFields.get(route)
    const names = [...vary, ...(fields ?? [])]
    const added = names.length > 0 ? addVary(route, names) : null
    if (fields !== undefined) return
    // A plugin that is registered later may authenticate the route.
    queueMicrotask(() => {
      const later = callerFields.get(route)
      if (later === undefined) return
      if (added === null) addVary(route, later)
      else added.merge = varyMerger([...vary, ...later])
    })
  }

  function addFindings({ name, modeOf }: CachedRoute, findings: ReturnType<typeof findingsOf>): void {
    for (const [rule, problem, instead] of findings) {
      const mode = modeOf[rule]
      if (mode !== 'off')
        reporter.addFinding({ plugin: 'caching', route: name, rule, mode, problem, instead })
    }
  }

  function addExceptions({ name: route, own, addExceptions }: CachedRoute, reason: string | null): void {
    // Whether requests break a rule is not known at boot.
    if (reason === null) addExceptions(null)
    else {
      const declared = own === false
      reporter.addException({
        plugin: 'caching',
        route,
        rules: cachingRuleNames,
        reason,
        declared,
        unused: false,
      })
    }
  }
})
