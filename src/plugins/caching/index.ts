import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { addFrameworkErrorHeaders } from '../../fastify/framework-error-headers.js'
import { hiddenFieldsOf } from '../../fastify/hidden-fields.js'
import { keyStyleOf } from '../../fastify/key-style.js'
import { completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { needFields } from '../../fastify/needed-fields.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { type AddedResponses, withResponses } from '../../json-schema/added-responses.js'
import { invalid, resolveOptions } from '../../options.js'
import { reporterOf } from '../../rules/report.js'
import { ruledRoutes } from '../../rules/ruled-routes.js'
import type { KeyStyle } from '../../words/key-names.js'
import {
  dateFromPayload,
  dateOfItems,
  type FinishHook,
  finishReading,
  finishWriting,
  letThrough,
} from './after-handler.js'
import { validatorsOfAnswer } from './answered-validators.js'
import { expectedVersionOf, guardWrites, validateBeforeReading } from './before-handler.js'
import type { CacheDirectives } from './cache-control.js'
import type { CachingCounts } from './counts.js'
import { type CachedRoute, findCachingBreaches, findHiddenBreaches, tellExceptions } from './findings.js'
import { spareNotModified } from './head-of-not-modified.js'
import { forbidStoring, forbidStoringErrors, varyBy, varyConfig, varyEarly } from './headers.js'
import { observeRoute } from './observer.js'
import { cachingResponses } from './openapi.js'
import {
  type CachingOptions,
  type CachingRouteOptions,
  cachingChecks,
  cachingDefaults,
  cachingRouteChecks,
  cachingRuleNames,
} from './options.js'
import { type CachingPlan, planOf, type ResourceVersion } from './plan.js'
import { addReplyHelpers, type ModificationTimes, type VaryHelper } from './reply-helpers.js'
import { hookFor, kindOf, type RouteKind } from './route-kind.js'

export type { CacheDirectives } from './cache-control.js'
export type { CachingCounts } from './counts.js'
export type { CachingOptions, CachingRouteOptions, CachingRule } from './options.js'
export type { FindValidators, ResourceVersion, RouteValidators } from './plan.js'

// @fastify/sensible declares `reply.vary` as a property, which cannot be declared twice: with it, its own type counts.
type ReplyWithVary = 'httpErrors' extends keyof FastifyInstance ? object : VaryHelper

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Caching and preconditions of this route; `false` leaves it alone. */
    caching?: CachingRouteOptions | false
  }
  interface FastifyInstance {
    /** What caching saved. */
    caching: {
      /** How often conditional requests were answered without the whole work, since the start. */
      counts(): Readonly<CachingCounts>
    }
  }
  interface FastifyRequest {
    /**
     * The version that this write may change, as `config.caching.validators` returned it: `null` where nothing may be
     * there yet, `undefined` where the request has no precondition. Compare it in the statement that writes, and throw
     * `ProblemError('precondition-failed')` where it was no longer there.
     */
    readonly expectedVersion: ResourceVersion | null | undefined
  }
  interface FastifyReply extends ReplyWithVary {
    /**
     * Sets `Cache-Control` from directives (RFC 9111 §5.2.2), in place of the route's.
     * @throws FST_CONV_OPTION_INVALID where they contradict each other
     */
    cacheControl(directives: CacheDirectives): this
    /**
     * Sets `Expires` (RFC 9111 §5.3). More than one year ahead is cut to one year, what is past or no date is not sent;
     * the log tells of both.
     */
    expires(time: Date | number | string): this
    /**
     * Sets `Last-Modified`: the latest of the times, never later than now (RFC 9110 §8.8.2.1). An empty list sets none.
     * @throws FST_CONV_OPTION_INVALID for what is no `Date` and no RFC 3339 text
     */
    lastModified(times: ModificationTimes): this
    /**
     * Sets `ETag`: an entity tag such as `W/"v7"`, or what is to stand between the quotes of a strong one.
     * @throws TypeError for characters that an entity tag cannot have (RFC 9110 §8.8.3)
     */
    etag(tag: string): this
  }
}

/**
 * Caching headers and conditional requests (RFC 9110 §13, RFC 9111): every 200 of a GET or HEAD has
 * `Cache-Control`, `ETag` and `Last-Modified`; preconditions are evaluated in the order of RFC 9110 §13.2.2, and a 304
 * or 412 is answered before the work is done where the route has `validators`. Writes and errors are not stored. With
 * `validators`, a PUT, PATCH or DELETE whose `If-Match` is stale is answered with 412, and the handler does not run.
 *
 * A route without `validators` leaves the preconditions of its writes to the handler. Wildcard routes, WebSocket routes
 * and routes hidden from the OpenAPI document (`schema.hide`) are left alone; the report lists them.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const caching = conventionPlugin<CachingOptions>('caching', function setUpCaching(app, received) {
  const options = resolveOptions('caching', received, cachingChecks, cachingDefaults)
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
  app.decorate('caching', { counts: () => ({ ...counts }) })
  addReplyHelpers(app, options.now, options.mode === 'enforce')
  app.decorateReply(dateOfItems, undefined)
  if (options.mode !== 'off') addFrameworkErrorHeaders(app, varyEarly)
  let decorated = false
  const optionsOf = {
    snake_case: options,
    camelCase: received.lastModified === undefined ? { ...options, lastModified: 'updatedAt' } : options,
  }
  const plansOfMost: Partial<Record<KeyStyle, CachingPlan>> = {}
  const finishOfMost = new WeakMap<FastifyInstance, FinishHook>()
  const described: { readonly route: RouteOptions; readonly plan: CachingPlan; readonly kind: RouteKind }[] =
    []

  app.addHook('onRoute', function cacheOnRoute(route) {
    const ruled = readRoute(route)
    const { own, name, methods, exclusionReason, isHeadSibling } = ruled
    if (!isHeadSibling) tellExceptions(ruled, reporter)
    if (own === false || exclusionReason !== null) return
    const plan = planFor(ruled, own, route, keyStyleOf(this))
    if (plan.mode === 'off') return
    const kind = kindOf(methods)
    if (!isHeadSibling) findCachingBreaches(own, ruled, options.now(), reporter)
    if (!isHeadSibling && kind !== 'writes') findHiddenBreaches(hiddenFieldsOf(route), plan, ruled, reporter)
    if (own.preconditions === 'required' && plan.validators === null) {
      invalid(
        `${name} config.caching.preconditions`,
        "'optional', for the route has no validators",
        'required',
      )
    }
    if (plan.validators !== null) decorateRequests()
    if (!isHeadSibling && plan.mode === 'enforce') described.push({ route, plan, kind })
    if (plan.mode === 'report') observeRoute(route, plan, kind, reporter)
    else enforce(route, plan, kind, own.vary ?? [], this, isHeadSibling)
  })

  app.addHook('onReady', function describeCaching(done) {
    for (const { route, plan, kind } of described) {
      completeWhenRead(route, (schema) => withResponses(schema, responsesOf(plan, kind)))
    }
    done()
  })

  // A path that no route serves has no hooks of a route. A page that is sent there all the same is the app's own.
  if (options.mode === 'enforce') {
    addAppHook(app, 'onSend', 'caching', function forbidStoringUnknownPaths(request, reply, payload, next) {
      if (request.is404 && reply.statusCode >= 400) forbidStoring(reply)
      next(null, payload)
    })
  }

  // An app without validators may have a name of its own; otherwise Fastify tells that it is taken.
  function decorateRequests(): void {
    if (decorated) return
    decorated = true
    app.decorateRequest(expectedVersionOf, undefined)
    app.decorateRequest('expectedVersion', {
      getter() {
        return (this as FastifyRequest & WithExpectedVersion)[expectedVersionOf]
      },
    })
  }

  // Most routes say nothing themselves: those of one key style share one plan, and so their hooks.
  function planFor(
    ruled: CachedRoute,
    own: CachingRouteOptions,
    route: RouteOptions,
    keyStyle: KeyStyle,
  ): CachingPlan {
    const isOneOfMost = route.config?.caching === undefined && ruled.exceptions.length === 0
    if (!isOneOfMost) return planOf(ruled, own, optionsOf[keyStyle])
    plansOfMost[keyStyle] ??= planOf(ruled, own, optionsOf[keyStyle])
    return plansOfMost[keyStyle]
  }

  function enforce(
    route: RouteOptions,
    plan: CachingPlan,
    kind: RouteKind,
    vary: readonly string[],
    context: FastifyInstance,
    isHeadSibling: boolean,
  ): void {
    const { validators, validatorsOf, lastModified } = plan
    if (validators !== null) {
      const reads = validateBeforeReading(plan, validators, counts)
      addHook(route, 'preHandler', 'caching', hookFor(kind, reads, guardWrites(plan, validators, counts)))
    }
    if (validatorsOf !== null)
      addHook(route, 'preSerialization', 'caching', validatorsOfAnswer(plan, validatorsOf))
    if (kind !== 'writes') {
      if (vary.length > 0) {
        addHook(route, 'onRequest', 'caching', varyBy(vary))
        route.config = Object.assign({}, route.config, varyConfig(vary))
      }
      if (lastModified !== false) {
        const date = hookFor(kind, dateFromPayload(plan, lastModified), letThrough)
        addHook(route, 'preSerialization', 'caching', date)
        needFields(route, () => [lastModified], true)
      }
    }
    const finish = kind === 'writes' ? finishWriting : finishFor(plan, route, context, isHeadSibling)
    addHook(route, 'onSend', 'caching', hookFor(kind, finish, finishWriting))
    if (isHeadSibling) spareNotModified(route)
    addHook(route, 'onError', 'caching', forbidStoringErrors)
  }

  function finishFor(
    plan: CachingPlan,
    route: RouteOptions,
    context: FastifyInstance,
    isHeadSibling: boolean,
  ): FinishHook {
    const isBodiless = [route.method].flat().join() === 'HEAD' && !isHeadSibling
    const isShared = Object.values(plansOfMost).includes(plan) && !isBodiless && !plan.tellsMissing
    const known = isShared ? finishOfMost.get(context) : undefined
    if (known !== undefined) return known
    let compressed: boolean | undefined
    let told = false
    const finish = finishReading(plan, counts, {
      // Known once all plugins are there, whichever came first.
      isCompressed: () => (compressed ??= context.hasReplyDecorator('compress')),
      // Once: it is about the route, and counting costs as much as all the rest.
      onMissing: (request) => {
        if (!told) reporter.observe('caching', 'last-modified', request, 'a 200 without Last-Modified')
        told = true
      },
      isBodiless,
    })
    if (isShared) finishOfMost.set(context, finish)
    return finish
  }
})

function responsesOf({ validators, validatorsOf, required }: CachingPlan, kind: RouteKind): AddedResponses {
  const guards = kind !== 'reads' && validators !== null && (required ? 'required' : 'optional')
  return cachingResponses({ reads: kind !== 'writes', guards, tagsWrites: validatorsOf !== null })
}

interface WithExpectedVersion {
  readonly [expectedVersionOf]: ResourceVersion | null | undefined
}
