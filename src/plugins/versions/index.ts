import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { routeSlot } from '../../fastify/slots.js'
import { resolveOptions } from '../../options.js'
import { refuse } from '../../problem/send-problem.js'
import { modesOf } from '../../rules/modes.js'
import { reporterOf } from '../../rules/report.js'
import { ruledRoutes } from '../../rules/ruled-routes.js'
import { announce, announced, announceErrors } from './announce.js'
import {
  isAnnounced,
  type LifecyclePlan,
  lifecycleOf,
  planOf,
  retiresAt,
  withoutEnd,
} from './lifecycle-plan.js'
import { describeLifecycle } from './openapi.js'
import {
  type VersionsOptions,
  type VersionsRouteOptions,
  versionRuleNames,
  versionsChecks,
  versionsDefaults,
  versionsRouteChecks,
} from './options.js'
import { retiredProblem } from './retired-problem.js'
import { versionReader } from './version-reader.js'
import { type VersionStatus, versionStatuses } from './version-statuses.js'

export type {
  LifecycleLinkOptions,
  LifecycleOptions,
  VersionRule,
  VersionsOptions,
  VersionsRouteOptions,
} from './options.js'
export type { VersionStatus } from './version-statuses.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How long this route is provided, over what is said of its version; `false` leaves the route alone. */
    versions?: VersionsRouteOptions | false
  }
  interface FastifyInstance {
    /** The versions of the service. */
    versions: {
      /** Those that are listed and those that routes have, the first one first, each as it stands now. */
      list(): readonly VersionStatus[]
    }
  }
}

/** The plan of a route where it is not that of its version; `null` where none applies. */
const plans = routeSlot<LifecyclePlan | null>('versions.plan')

/**
 * Versions that end in an orderly way: answers of a deprecated version, errors and unknown
 * paths included, have `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link` to what to read and what comes instead;
 * after its sunset all below `/v<major>/` is a 410 problem (`version-retired`), and neither a handler nor a hook behind
 * this plugin runs. The OpenAPI document tells of the period.
 *
 * What is registered before it (CORS, maintenance, a rate limit) still runs, and its refusals have the headers too where
 * they are of a known route or path. Wildcard routes below a version are part of it.
 *
 * Not for versions that a header or a media type names: those have no path to tell them by.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const versions = conventionPlugin<VersionsOptions>('versions', function setUpVersions(app, received) {
  const options = resolveOptions('versions', received, versionsChecks, versionsDefaults)
  const { now } = options
  const reporter = reporterOf(app)
  const readRoute = ruledRoutes({
    plugin: 'versions',
    rules: versionRuleNames,
    options,
    routeChecks: versionsRouteChecks,
    app,
  })
  const modeOfMost = modesOf(versionRuleNames, options)
  const readVersion = versionReader(options.basePath)
  const listed = new Map<string, LifecyclePlan>()
  for (const [version, said] of Object.entries(options.versions)) {
    const lifecycle = lifecycleOf(`versions.versions.${version}`, said, withoutEnd)
    listed.set(version, planOf(version, lifecycle, modeOfMost))
  }
  const met = new Set<string>()
  const described: { readonly route: RouteOptions; readonly plan: LifecyclePlan }[] = []
  let isAnyMarked = false
  let soonest = Math.min(...[...listed.values()].map(retiresAt))

  app.decorate('versions', { list: () => versionStatuses(listed, met, options.basePath, now()) })

  app.addHook('onRoute', function followVersionOnRoute(route) {
    const ruled = readRoute(route)
    const { name, own, modeOf, isHeadSibling } = ruled
    const version = readVersion(route.path)
    if (version !== null) met.add(version)
    if (!isHeadSibling && own === false) {
      const reason = ruled.exclusionReason ?? ''
      reporter.addException({
        plugin: 'versions',
        route: name,
        rules: versionRuleNames,
        reason,
        unused: false,
      })
    } else if (!isHeadSibling) {
      const isUnlisted =
        version !== null && ruled.exclusionReason === null && listed.size > 0 && !listed.has(version)
      if (isUnlisted && modeOf.listed !== 'off') {
        const instead = [...listed.keys()].map((known) => `/v${known}`).join(', ')
        const problem = `/v${version} is not among the versions of the service`
        reporter.addFinding({
          plugin: 'versions',
          route: name,
          rule: 'listed',
          mode: modeOf.listed,
          problem,
          instead,
        })
      }
      // Whether a request will meet the others is not known at boot.
      ruled.addExceptions(new Set(isUnlisted ? versionRuleNames : ['headers', 'retired']))
    }
    const ofVersion = version === null ? undefined : listed.get(version)
    if (own === false) {
      if (ofVersion !== undefined) mark(route, null)
      return
    }
    const lifecycle = lifecycleOf(`${name} config.versions`, own, ofVersion?.lifecycle ?? withoutEnd)
    const isOfMost = modeOf === modeOfMost && saysNothing(own)
    const plan = isOfMost && ofVersion !== undefined ? ofVersion : planOf(version, lifecycle, modeOf)
    if (plan !== ofVersion) {
      if (ofVersion !== undefined || retiresAt(plan) < Number.POSITIVE_INFINITY) mark(route, plan)
      soonest = Math.min(soonest, retiresAt(plan))
    }
    if (!isAnnounced(plan)) return
    addHook(route, 'onSend', 'versions', announce(plan, reporter))
    if (plan.modeOf.headers === 'enforce') {
      addHook(route, 'onError', 'versions', announceErrors(plan, reporter))
      described.push({ route, plan })
    }
  })

  app.addHook('onReady', function describeVersions(done) {
    for (const { route, plan } of described) {
      // A route that says nothing of what it takes is deprecated all the same.
      route.schema ??= {}
      completeWhenRead(route, (schema) => describeLifecycle(schema, plan.lifecycle, now()))
    }
    done()
  })

  addAppHook(app, 'onRequest', 'versions', function refuseRetiredOnRequest(request, reply, next) {
    if (soonest === Number.POSITIVE_INFINITY || now() < soonest) next()
    else refuseRetired(request, reply, next)
  })

  // A path that no route serves has no hooks of a route.
  if ([...listed.values()].some(isAnnounced)) {
    addAppHook(app, 'onSend', 'versions', function announceUnknownPaths(request, reply, payload, next) {
      const plan = request.is404 ? planOfPath(request) : undefined
      if (plan === undefined || !isAnnounced(plan)) next(null, payload)
      else next(null, announced(plan, reporter, request, reply, payload))
    })
  }

  /** Leaves on a route what is known of it, where that is not what is known of its version. */
  function mark(route: RouteOptions, plan: LifecyclePlan | null): void {
    plans.set(route, plan)
    isAnyMarked = true
  }

  function refuseRetired(request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void): void {
    const plan = planOfRequest(request)
    if (plan === null || now() < retiresAt(plan)) next()
    else if (plan.modeOf.retired === 'enforce') refuse(request, reply, retiredProblem(plan), next)
    else {
      reporter.observe('versions', 'retired', request, `${request.method} after the sunset`)
      next()
    }
  }

  function planOfRequest(request: FastifyRequest): LifecyclePlan | null {
    // What Fastify says of a route it puts together each time.
    if (!isAnyMarked) return planOfPath(request) ?? null
    const known = plans.of(request)
    return known === undefined ? (planOfPath(request) ?? null) : known
  }

  function planOfPath(request: FastifyRequest): LifecyclePlan | undefined {
    const version = readVersion(request.raw.url ?? '/')
    return version === null ? undefined : listed.get(version)
  }
})

function saysNothing({ deprecated, sunset, link }: VersionsRouteOptions): boolean {
  return deprecated === undefined && sunset === undefined && link === undefined
}
