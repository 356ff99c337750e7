import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { basePathOf } from '../../convention/contexts.js'
import { convention, type RouteContext } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { routeSlot } from '../../convention/slots.js'
import type { Effect } from '../../convention/steps.js'
import { hasParameter, pathOf, routePath } from '../../http/url.js'
import { problemsOf } from '../../problem/route-description.js'
import { type Mode, modesOf } from '../../report/modes.js'
import {
  type PathGuardOptions,
  type PathGuardRouteOptions,
  pathGuardOptions,
  pathGuardRouteOptions,
  vocabularyOf,
} from './options.js'
import { type PathFault, pathFault, pathFaults, pathProblem, segmentFaults } from './path-faults.js'
import { breachesOfAll, type PathRule, pathBreaches, pathRuleNames } from './path-rules.js'

export type { PathGuardOptions, PathGuardRouteOptions } from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of {@link pathGuard} for this route; `false` turns it off. */
    pathGuard?: PathGuardRouteOptions | false
  }
}

interface GuardedRoute {
  readonly path: string | null
  /** Whether parameters may have uppercase letters and encoded characters. */
  readonly anyParameter: boolean
  readonly modeOf: Readonly<Record<PathRule, Mode>>
}

const guardedRoute = routeSlot<GuardedRoute>('pathGuard.route')

const problems = {
  uppercase: { 'path-uppercase': 'The path has uppercase letters' },
  encoding: { 'path-encoded': 'The path has encoded characters' },
} as const satisfies Readonly<Record<PathFault, object>>

/**
 * Keeps paths to the conventions: lowercase, words joined by hyphens, plural collections, a major version in front, verbs
 * only as actions.
 *
 * At boot, every route registered after this plugin is checked; all breaches are thrown as one table when the app gets
 * ready. Per request, the raw path is checked: one with an uppercase letter or an encoded character is answered with a
 * 404 problem (`path-uppercase`, `path-encoded`), and no handler runs.
 *
 * Not for paths that are case-sensitive by design, such as short links: give such routes
 * `config: { pathGuard: { params: 'any' } }`. Wildcard routes, WebSocket routes and routes hidden from the OpenAPI
 * document (`schema.hide`) are not checked; the report lists them.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const pathGuard: FastifyPluginAsync<PathGuardOptions & RegistrationOptions> = convention({
  name: 'pathGuard',
  rules: pathRuleNames,
  options: pathGuardOptions,
  routeOptions: pathGuardRouteOptions,
  setUp({ app, options, atReady }) {
    const { statusCode, basePath = basePathOf(app) } = options
    const vocabulary = vocabularyOf(options)
    const checked: RouteContext<unknown, PathRule, unknown>[] = []
    const wildcards = new Set<string>()

    // What routes have in common is known only then.
    atReady(function findBreaches() {
      const ofApi = checked.splice(0).filter((route) => {
        if (!wildcards.has(`${route.path.replace(/\/$/, '')}/*`)) return true
        route.turnOff()
        route.exclude('the root of a wildcard route: files or a proxy')
        return false
      })
      const ruled = ofApi.map((route) => ({
        ...route,
        applies: (rule: PathRule) => route.modeOf[rule] !== 'off',
      }))
      for (const route of breachesOfAll(ruled, vocabulary, basePath)) {
        const { methods, path, breaches, addFinding, breaks } = route
        for (const { rule, problem, instead } of breaches) addFinding(rule, problem, instead)
        breaks(pathBreaches(methods, path, vocabulary, basePath).map(({ rule }) => rule))
      }
    })

    const unknown = { path: null, anyParameter: false, modeOf: modesOf(pathRuleNames, options) }
    return {
      checked,
      wildcards,
      refuseFaults(request: FastifyRequest): readonly Effect[] | undefined {
        const target = request.raw.url ?? '/'
        if (pathFault(target) === null) return undefined
        const { path: pattern, anyParameter, modeOf } = guardedRoute.of(request) ?? unknown
        const path = pathOf(target)
        const faults = segmentFaults(path, pattern === null ? null : routePath(pattern), anyParameter)
        return pathFaults.flatMap((rule) => {
          const refused = faults.filter(({ fault }) => modeOf[fault] === modeOf[rule])
          if (!faults.some(({ fault }) => fault === rule)) return []
          const refusal = pathProblem(path, refused, pathOf(request.originalUrl), statusCode)
          return { rule, given: path, refusal }
        })
      },
    }
  },
  route(context) {
    const { path, route, isConfigured, options, modeOf, exclusionReason, state } = context
    const { checked, wildcards, refuseFaults } = state
    if (route === null) return { onRequest: refuseFaults }
    const anyParameter = options.params === 'any'
    guardedRoute.set(route, { path, anyParameter, modeOf })
    if (path.endsWith('/*')) wildcards.add(path)
    if (exclusionReason === null) {
      checked.push(context)
    } else {
      context.exclude(exclusionReason)
      // An excluded route is guarded only if it has options of its own.
      if (!isConfigured) context.turnOff()
    }
    const isGuarded = exclusionReason === null || isConfigured
    const refused = isGuarded ? pathFaults.filter((rule) => modeOf[rule] === 'enforce') : []
    // A path with a fault in another segment is not one of this route.
    const isDescribed = refused.length > 0 && !anyParameter && hasParameter(path)
    return {
      onRequest: refuseFaults,
      describe: isDescribed
        ? {
            problems: refused
              .flatMap((fault) => problemsOf(problems[fault]))
              .map((one) => ({ ...one, status: options.statusCode })),
          }
        : undefined,
    }
  },
})
