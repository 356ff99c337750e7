import type { FastifyRequest, RouteOptions } from 'fastify'
import { basePathOf } from '../../fastify/base-path.js'
import { completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { offerNames } from '../../fastify/offer-names.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook } from '../../fastify/route.js'
import { routeSlot } from '../../fastify/slots.js'
import { resolveOptions } from '../../options.js'
import { describeRoute } from '../../problem/route-description.js'
import { modesOf } from '../../rules/modes.js'
import { reporterOf } from '../../rules/report.js'
import { type RuledRoute, ruledRoutes } from '../../rules/ruled-routes.js'
import { announce, announceOnRoute, refuseRetired } from './hooks.js'
import { isAnnounced, type LifecyclePlan, retiresAt, routePlanOf, versionPlans } from './lifecycle.js'
import { describeAnnouncements, describeLifecycle } from './openapi.js'
import {
  type VersionRule,
  type VersionsOptions,
  type VersionsRouteOptions,
  versionRuleNames,
  versionsChecks,
  versionsDefaults,
  versionsRouteChecks,
} from './options.js'
import { unlistedBreach, type VersionStatus, versionReader, versionStatuses } from './version-path.js'

export type {
  LifecycleLinkOptions,
  LifecycleOptions,
  VersionRule,
  VersionsOptions,
  VersionsRouteOptions,
} from './options.js'
export type { VersionStatus } from './version-path.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of `versions` for this route, over those of its version; `false` leaves the route alone. */
    versions?: VersionsRouteOptions | false
  }
  interface FastifyInstance {
    /** The versions of the service. */
    versions: {
      /** Returns the versions in the options and those of routes, by number, with their status. */
      list(): readonly VersionStatus[]
    }
  }
}

/** The plan of a route that has another one than its version; `null` for none. */
const routePlan = routeSlot<LifecyclePlan | null>('versions.plan')

/**
 * Deprecation and sunset of versions in the path. Responses of a deprecated version, errors and unknown paths included,
 * have `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link`. After the sunset everything below `/v<major>/` is a 410
 * problem (`version-retired`): neither a handler nor a later hook runs. The OpenAPI document shows the dates.
 *
 * Earlier hooks (CORS, maintenance, rate limit) still run, and their refusals have the headers. Wildcard routes below a
 * version are part of it. Not for versions in a header or a media type.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const versions = conventionPlugin<VersionsOptions>('versions', function setUpVersions(app, received) {
  const defaults = { ...versionsDefaults, basePath: basePathOf(app) }
  const options = resolveOptions('versions', received, versionsChecks, defaults)
  const { now } = options
  const reporter = reporterOf(app)
  const readRoute = ruledRoutes({
    plugin: 'versions',
    rules: versionRuleNames,
    options,
    routeChecks: versionsRouteChecks,
    app,
  })
  const readVersion = versionReader(options.basePath)
  const listed = versionPlans(options.versions, modesOf(versionRuleNames, options))
  const ofRoutes = new Set<string>()
  const described: { readonly route: RouteOptions; readonly plan: LifecyclePlan }[] = []
  let hasRoutePlans = false
  let firstRetirement = Math.min(...[...listed.values()].map(retiresAt))

  const value = { list: () => versionStatuses(listed, ofRoutes, options.basePath, now()) }
  offerNames(app, { plugin: 'versions', mode: options.mode, owner: 'app', members: { versions: { value } } })

  app.addHook('onRoute', function followVersionOnRoute(route) {
    const ruled = readRoute(route)
    const { own } = ruled
    const version = readVersion(route.path)
    if (version !== null) ofRoutes.add(version)
    if (!ruled.isHeadSibling) checkRoute(ruled, version)
    const ofVersion = version === null ? undefined : listed.get(version)
    if (own === false) {
      if (ofVersion !== undefined) setPlan(route, null)
      return
    }
    const plan = routePlanOf(ruled, own, version, ofVersion)
    if (plan === null) return
    if (plan !== ofVersion) {
      if (ofVersion !== undefined || retiresAt(plan) < Number.POSITIVE_INFINITY) setPlan(route, plan)
      firstRetirement = Math.min(firstRetirement, retiresAt(plan))
    }
    if (!isAnnounced(plan)) return
    announceOnRoute(route, plan, reporter)
    if (plan.modeOf.headers === 'enforce') described.push({ route, plan })
  })

  app.addHook('onReady', function describeVersions(done) {
    for (const { route, plan } of described) {
      completeWhenRead(route, (schema) => describeLifecycle(schema, plan.lifecycle, now()))
      describeRoute(route, describeAnnouncements(plan.lifecycle))
    }
    done()
  })

  addAppHook(app, 'onRequest', 'versions', function refuseRetiredOnRequest(request, reply, next) {
    const time = firstRetirement === Number.POSITIVE_INFINITY ? 0 : now()
    if (time < firstRetirement) next()
    else refuseRetired(planOfRequest(request), time, reporter, request, reply, next)
  })

  // The hooks of a route do not run for a path without a route.
  if ([...listed.values()].some(isAnnounced)) {
    addAppHook(app, 'onSend', 'versions', function announceUnknownPaths(request, reply, payload, next) {
      const plan = request.is404 ? planOfPath(request) : null
      if (plan === null || !isAnnounced(plan)) next(null, payload)
      else next(null, announce(plan, reporter, request, reply, payload))
    })
  }

  function checkRoute(ruled: RuledRoute<VersionRule, VersionsRouteOptions>, version: string | null): void {
    const { name: route, own, modeOf, exclusionReason } = ruled
    const plugin = 'versions'
    if (own === false) {
      const reason = exclusionReason ?? ''
      reporter.addException({ plugin, route, rules: versionRuleNames, reason, unused: false })
      return
    }
    const breach = exclusionReason === null ? unlistedBreach(version, [...listed.keys()]) : null
    if (breach !== null && modeOf.listed !== 'off') {
      reporter.addFinding({ plugin, route, mode: modeOf.listed, ...breach })
    }
    // Whether requests break the other rules is not known at boot.
    ruled.addExceptions(new Set(breach !== null ? versionRuleNames : ['headers', 'retired']))
  }

  function setPlan(route: RouteOptions, plan: LifecyclePlan | null): void {
    routePlan.set(route, plan)
    hasRoutePlans = true
  }

  function planOfRequest(request: FastifyRequest): LifecyclePlan | null {
    // Fastify builds `routeOptions` at each access.
    if (!hasRoutePlans) return planOfPath(request)
    const plan = routePlan.of(request)
    return plan === undefined ? planOfPath(request) : plan
  }

  function planOfPath(request: FastifyRequest): LifecyclePlan | null {
    const version = readVersion(request.raw.url ?? '/')
    return version === null ? null : (listed.get(version) ?? null)
  }
})
