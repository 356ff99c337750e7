import { basePathOf } from '../../fastify/base-path.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { hasParameter } from '../../http/route-path.js'
import { resolveOptions } from '../../options.js'
import { declarePathHints } from '../../problem/path-hints.js'
import { routeDescriber } from '../../problem/route-description.js'
import { modesOf } from '../../rules/modes.js'
import { reporterOf } from '../../rules/report.js'
import { type RuledRoute, ruledRoutes } from '../../rules/ruled-routes.js'
import { type GuardedRoute, guardedRoute, pathHook } from './hooks.js'
import { describePathFaults } from './openapi.js'
import {
  type PathGuardOptions,
  type PathGuardRouteOptions,
  pathGuardChecks,
  pathGuardDefaults,
  pathGuardRouteChecks,
  vocabularyOf,
} from './options.js'
import { parameterHint } from './parameter-hint.js'
import { pathFaults } from './path-faults.js'
import { type PathRule, pathBreaches, pathRuleNames, withCommonCause } from './path-rules.js'

export type { PathGuardOptions, PathGuardRouteOptions } from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of {@link pathGuard} for this route; `false` turns it off. */
    pathGuard?: PathGuardRouteOptions | false
  }
}

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
export const pathGuard = conventionPlugin<PathGuardOptions>(
  'pathGuard',
  function setUpPathGuard(app, received) {
    const defaults = { ...pathGuardDefaults, basePath: basePathOf(app) }
    const options = resolveOptions('pathGuard', received, pathGuardChecks, defaults)
    const { basePath, statusCode } = options
    const vocabulary = vocabularyOf(options)
    const reporter = reporterOf(app)
    const defaultModes = modesOf(pathRuleNames, options)
    const off = modesOf(pathRuleNames, options, false)
    const hook = pathHook({ modeOf: defaultModes, path: null, anyParameter: false }, statusCode, reporter)
    const guardsAll = pathFaults.some((rule) => defaultModes[rule] !== 'off')
    const readRoute = ruledRoutes({
      plugin: 'pathGuard',
      rules: pathRuleNames,
      options,
      routeChecks: pathGuardRouteChecks,
      app,
    })

    if (options.mode === 'enforce') {
      const { selfAliases } = vocabulary
      declarePathHints(app, (path, pattern, name) => parameterHint(path, pattern, name, selfAliases))
    }
    if (guardsAll) addAppHook(app, 'onRequest', 'pathGuard', hook)

    const checked: CheckedRoute[] = []
    const wildcards = new Set<string>()
    const describe = routeDescriber(app)
    app.addHook('onRoute', function checkPath(route) {
      const { methods, name, own, exclusionReason, isHeadSibling, addExceptions, ...ruled } = readRoute(route)
      // An excluded route is guarded only if it has options of its own.
      const isGuarded = exclusionReason === null || route.config?.pathGuard !== undefined
      const modeOf = isGuarded ? ruled.modeOf : off
      const anyParameter = own !== false && (own.params ?? options.params) === 'any'
      const guarded = { modeOf, path: route.path, anyParameter }
      guardedRoute.set(route, guarded)
      if (!guardsAll && pathFaults.some((rule) => modeOf[rule] !== 'off')) {
        addHook(route, 'onRequest', 'pathGuard', hook)
      }
      const refused = pathFaults.filter((rule) => modeOf[rule] === 'enforce')
      // A path with a fault in another segment is not one of this route.
      if (refused.length > 0 && !anyParameter && hasParameter(route.path)) {
        describe(route, describePathFaults(refused, statusCode))
      }
      if (isHeadSibling) return
      if (exclusionReason !== null) exclude(name, exclusionReason)
      else checked.push({ guarded, modeOf, name, methods, path: route.path, addExceptions })
      if (route.path.endsWith('/*')) wildcards.add(route.path)
    })

    // What routes have in common is known only then.
    reporter.checkAtReady(function findBreaches() {
      const ofApi = checked.splice(0).filter(({ guarded, name, path }) => {
        if (!wildcards.has(`${path.replace(/\/$/, '')}/*`)) return true
        guarded.modeOf = off
        exclude(name, 'the root of a wildcard route: files or a proxy')
        return false
      })
      const breached = ofApi.map((route) => ({
        ...route,
        breaches: pathBreaches(route.methods, route.path, vocabulary, basePath),
      }))
      for (const { name, modeOf, breaches, addExceptions } of withCommonCause(breached, basePath)) {
        for (const breach of breaches) {
          const mode = modeOf[breach.rule]
          if (mode !== 'off') reporter.addFinding({ plugin: 'pathGuard', route: name, mode, ...breach })
        }
        addExceptions(new Set(breaches.map(({ rule }) => rule)))
      }
    })

    function exclude(route: string, reason: string): void {
      reporter.addException({ plugin: 'pathGuard', route, rules: pathRuleNames, reason, unused: false })
    }
  },
)

/** A route whose path is checked when the app gets ready. */
interface CheckedRoute
  extends Pick<RuledRoute<PathRule, PathGuardRouteOptions>, 'addExceptions' | 'methods' | 'modeOf' | 'name'> {
  /** How its requests are treated, which is decided when the app gets ready. */
  readonly guarded: { modeOf: GuardedRoute['modeOf'] }
  readonly path: string
}
