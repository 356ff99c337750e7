import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { resolveOptions } from '../../options.js'
import { declarePathHints } from '../../problem/path-hints.js'
import { modesOf } from '../../rules/modes.js'
import { reporterOf } from '../../rules/report.js'
import { ruledRoutes } from '../../rules/ruled-routes.js'
import { guardedRoute, pathHook } from './hooks.js'
import {
  type PathGuardOptions,
  type PathGuardRouteOptions,
  pathGuardChecks,
  pathGuardDefaults,
  pathGuardRouteChecks,
} from './options.js'
import { parameterHint } from './parameter-hint.js'
import { pathFaults } from './path-faults.js'
import { pathBreaches, pathRuleNames } from './path-rules.js'
import { knownVerbs, type PathVocabulary } from './path-words.js'

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
    const options = resolveOptions('pathGuard', received, pathGuardChecks, pathGuardDefaults)
    const { basePath, statusCode } = options
    const vocabulary: PathVocabulary = {
      collections: new Set(options.collections),
      verbs: new Set([...knownVerbs, ...options.verbs]),
      selfAliases: new Set(options.selfAliases),
    }
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

    app.addHook('onRoute', function checkPath(route) {
      const { methods, name, own, exclusionReason, isHeadSibling, addExceptions, ...ruled } = readRoute(route)
      // An excluded route is guarded only if it has options of its own.
      const isGuarded = exclusionReason === null || route.config?.pathGuard !== undefined
      const modeOf = isGuarded ? ruled.modeOf : off
      const anyParameter = own !== false && own.params === 'any'
      guardedRoute.set(route, { modeOf, path: route.path, anyParameter })
      if (!guardsAll && pathFaults.some((rule) => modeOf[rule] !== 'off')) {
        addHook(route, 'onRequest', 'pathGuard', hook)
      }
      if (isHeadSibling) return
      const common = { plugin: 'pathGuard', route: name }
      if (exclusionReason !== null) {
        reporter.addException({ ...common, rules: pathRuleNames, reason: exclusionReason, unused: false })
        return
      }
      const breaches = pathBreaches(methods, route.path, vocabulary, basePath)
      for (const breach of breaches) {
        const mode = modeOf[breach.rule]
        if (mode !== 'off') reporter.addFinding({ ...common, mode, ...breach })
      }
      addExceptions(new Set(breaches.map(({ rule }) => rule)))
    })
  },
)
