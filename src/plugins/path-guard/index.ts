import type { FastifyPluginAsync } from 'fastify'
import { basePathOf } from '../../convention/contexts.js'
import { convention, type RouteContext } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { refusesEmpty } from '../../convention/not-found-handler.js'
import { hasParameter } from '../../http/url.js'
import { basePath, listOf, type OptionsOf, oneOf, option, optional, text } from '../../options.js'
import { problemsOf } from '../../problem/route-description.js'
import {
  modesOf,
  type RouteRuleOptions,
  type RuleOptions,
  routeRuleOptions,
  ruleOptions,
} from '../../report/modes.js'
import { guardedRoute, type PathFault, pathFaults, refusalOfFaults } from './hooks.js'
import { breachesOfAll, type PathRule, pathRuleNames } from './path-rules.js'
import { knownVerbs, type PathVocabulary } from './path-words.js'

const params = oneOf('lowercase', 'any')

const ownOptions = {
  /**
   * Status of the answer to a path with uppercase letters or encoded characters.
   * @default 404
   */
  statusCode: option(oneOf(404, 400), 404),
  /**
   * Path in front of the version if the service is mounted below one, such as `/api`.
   * @default the prefix of the context that registers the plugin, without a version
   */
  basePath: optional(basePath),
  /**
   * Names that all rules accept as they are: collections such as `merge-requests`, and what exists once in its context, such as
   * `leaderboard`, besides the built-in names (`health`, `me`, `profile`, `config`, `cart`, `search` and their like).
   * @default []
   */
  collections: option(listOf(text()), []),
  /**
   * Verbs of this service's actions that the built-in list does not have.
   * @default []
   */
  verbs: option(listOf(text()), []),
  /**
   * `any` allows uppercase letters and encoded characters in the parameters of all routes, for ids that are
   * case-sensitive: ULIDs, nanoids, `cus_NffrFeUfNV2Hib`. Their decoded values are still checked: no control characters, no
   * slashes, no dot segments. Literals stay strict.
   * @default 'lowercase'
   */
  params: option(params, 'lowercase'),
  /**
   * Segments that stand for the caller's own record: `/v1/users/me`.
   * @default ['me', 'self']
   */
  selfAliases: option(listOf(text()), ['me', 'self']),
}

const ownRouteOptions = {
  /**
   * As the option of the plugin, for this route.
   * @default the option of the plugin
   */
  params: optional(params),
}

const pathGuardOptions = { ...ruleOptions(pathRuleNames), ...ownOptions }

const pathGuardRouteOptions = { ...routeRuleOptions(pathRuleNames), ...ownRouteOptions }

/** Options of {@link pathGuard}. */
export interface PathGuardOptions extends RuleOptions<PathRule>, OptionsOf<typeof ownOptions> {}

/** Options of a route under `config.pathGuard`; `false` turns the guard off for it. */
export interface PathGuardRouteOptions
  extends RouteRuleOptions<PathRule>,
    OptionsOf<typeof ownRouteOptions> {}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of {@link pathGuard} for this route; `false` turns it off. */
    pathGuard?: PathGuardRouteOptions | false
  }
}

const problems = {
  uppercase: { 'path-uppercase': 'The path has uppercase letters' },
  encoding: { 'path-encoded': 'The path has encoded characters' },
} as const satisfies Readonly<Record<PathFault, object>>

/**
 * Keeps paths to the conventions: lowercase, words joined by hyphens, plural collections, a major version in front, verbs
 * only as actions.
 *
 * At boot, every route registered after this plugin is checked; all breaches are thrown as one table when the app gets
 * ready. Per request, the raw path is checked: one with an uppercase letter, an encoded character or an empty parameter is
 * answered with a 404 problem (`path-uppercase`, `path-encoded`, `not-found`), and no handler runs.
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
    const vocabulary: PathVocabulary = {
      collections: new Set(options.collections),
      verbs: new Set([...knownVerbs, ...options.verbs]),
      selfAliases: new Set(options.selfAliases),
    }
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
      for (const { route, breaches } of breachesOfAll(ofApi, vocabulary, basePath)) {
        for (const { rule, problem, instead } of breaches) route.addFinding(rule, problem, instead)
      }
    })

    const unknown = { path: null, anyParameter: false, modeOf: modesOf(pathRuleNames, options) }
    if (unknown.modeOf.slash === 'enforce') refusesEmpty.set(app, true)
    return { checked, wildcards, refuseFaults: refusalOfFaults(statusCode, unknown) }
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
