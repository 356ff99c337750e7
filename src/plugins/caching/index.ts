import type { FastifyInstance, RouteOptions } from 'fastify'
import { addFrameworkErrorHeaders } from '../../fastify/framework-error-headers.js'
import { hiddenFieldsOf } from '../../fastify/hidden-fields.js'
import { keyStyleOf } from '../../fastify/key-style.js'
import { completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { needFields } from '../../fastify/needed-fields.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addReplyMethods } from '../../fastify/reply-methods.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { withResponses } from '../../json-schema/added-responses.js'
import { resolveOptions } from '../../options.js'
import { reporterOf } from '../../rules/report.js'
import { ruledRoutes } from '../../rules/ruled-routes.js'
import type { CacheDirectives } from './cache-control.js'
import {
  addVary,
  allowHead304,
  type CachingCounts,
  type CachingHooks,
  cachingHooks,
  decorateReplies,
  decorateRequests,
  forbidStoring,
  forbidStoringOnError,
  varyEarly,
} from './hooks.js'
import { cachingResponses } from './openapi.js'
import {
  type CachingOptions,
  type CachingRouteOptions,
  cachingChecks,
  cachingDefaults,
  cachingRouteChecks,
  cachingRuleNames,
  type ResourceVersion,
} from './options.js'
import { type CachedRoute, type CachingPlan, findingsOf, planner } from './plan.js'
import { isRead } from './preconditions.js'
import { cachingHelpers, type ModificationTimes, mergeHelpers, type VaryHelper } from './reply-helpers.js'

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

// @fastify/sensible declares `reply.vary` as a property, which cannot be declared twice.
type ReplyWithVary = 'httpErrors' extends keyof FastifyInstance ? object : VaryHelper

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
  interface FastifyRequest {
    /**
     * The version that this write may overwrite, as `config.caching.validators` returned it: `null` if the resource must
     * not exist yet, `undefined` if the request has no precondition. Compare it in the statement that writes, and throw
     * `ProblemError('precondition-failed')` if it has changed.
     */
    readonly expectedVersion: ResourceVersion | null | undefined
  }
  interface FastifyReply extends ReplyWithVary {
    /**
     * Sets `Cache-Control` from directives (RFC 9111 §5.2.2), instead of those of the route.
     * @throws FST_CONV_OPTION_INVALID if they contradict each other
     */
    cacheControl(directives: CacheDirectives): this
    /**
     * Sets `Expires` (RFC 9111 §5.3). A time more than one year ahead is cut to one year; a past or invalid time is not
     * sent. Both are logged.
     */
    expires(time: Date | number | string): this
    /**
     * Sets `Last-Modified` to the latest of the times, but never later than now (RFC 9110 §8.8.2.1). An empty list sets
     * none.
     * @throws FST_CONV_OPTION_INVALID for anything that is neither a `Date` nor RFC 3339 text
     */
    lastModified(times: ModificationTimes): this
    /**
     * Sets `ETag`: an entity tag such as `W/"v7"`, or the text between the quotes of a strong one.
     * @throws TypeError for characters that an entity tag cannot have (RFC 9110 §8.8.3)
     */
    etag(tag: string): this
  }
}

/**
 * Caching headers and conditional requests (RFC 9110 §13, RFC 9111). Every 200 to a GET or HEAD has `Cache-Control`,
 * `ETag` and `Last-Modified`. Preconditions are evaluated in the order of RFC 9110 §13.2.2: with `validators` before the
 * handler, else after it. Responses to writes and errors are not stored. With `validators`, a PUT, PATCH or DELETE with a
 * stale `If-Match` is a 412, and the handler does not run; without, preconditions of writes are left to the handler.
 *
 * Wildcard routes, WebSocket routes and routes hidden from the OpenAPI document (`schema.hide`) are left alone; the
 * report lists them.
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
  let areRequestsDecorated = false

  app.decorate('caching', { counts: () => ({ ...counts }) })
  decorateReplies(app)
  const merge = options.mode === 'enforce' ? mergeHelpers : null
  addReplyMethods(app, 'caching', cachingHelpers(options.now), merge)
  if (options.mode !== 'off') addFrameworkErrorHeaders(app, varyEarly)
  // The hooks of a route do not run for a path without a route. A page that is sent there is the app's own.
  if (options.mode === 'enforce') {
    addAppHook(app, 'onSend', 'caching', function forbidStoringUnknownPaths(request, reply, payload, next) {
      if (request.is404 && reply.statusCode >= 400) forbidStoring(reply)
      next(null, payload)
    })
  }

  app.addHook('onRoute', function cacheOnRoute(route) {
    const ruled = readRoute(route)
    const { own, isHeadSibling } = ruled
    if (!isHeadSibling) addExceptions(ruled)
    if (own === false || ruled.exclusionReason !== null) return
    const plan = planFor(ruled, own, route.config?.caching === undefined, keyStyleOf(this))
    if (plan.mode === 'off') return
    if (!isHeadSibling) addFindings(ruled, findingsOf(plan, own, ruled, hiddenFieldsOf(route)))
    if (plan.validators !== null && !areRequestsDecorated) {
      // Not before: an app without validators may have an `expectedVersion` of its own.
      areRequestsDecorated = true
      decorateRequests(app)
    }
    addHooks(route, plan, ruled.methods)
    if (plan.mode === 'report') return
    addHook(route, 'onError', 'caching', forbidStoringOnError)
    if (ruled.methods.some(isRead) && own.vary?.length) addVary(route, own.vary)
    if (isHeadSibling) allowHead304(route)
    else enforced.push({ route, plan })
  })

  app.addHook('onReady', function describeCaching(done) {
    for (const { route, plan } of enforced)
      completeWhenRead(route, (schema) =>
        withResponses(schema, cachingResponses([route.method].flat(), plan)),
      )
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

  function addFindings({ name, modeOf }: CachedRoute, findings: ReturnType<typeof findingsOf>): void {
    for (const [rule, problem, instead] of findings) {
      const mode = modeOf[rule]
      if (mode !== 'off')
        reporter.addFinding({ plugin: 'caching', route: name, rule, mode, problem, instead })
    }
  }

  function addExceptions({ name: route, exclusionReason: reason, addExceptions }: CachedRoute): void {
    // Whether requests break a rule is not known at boot.
    if (reason === null) addExceptions(null)
    else reporter.addException({ plugin: 'caching', route, rules: cachingRuleNames, reason, unused: false })
  }
})
