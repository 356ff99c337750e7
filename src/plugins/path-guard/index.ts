import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import {
  lowercasePath,
  pathFault,
  pathOf,
  type SegmentFault,
  segmentFaults,
} from '../../http/request-target.js'
import { routePath } from '../../http/route-path.js'
import { basePath, type Checks, listOf, oneOf, resolveOptions, text } from '../../options.js'
import { declarePathHints } from '../../problem/path-hints.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Mode } from '../../rules/modes.js'
import {
  modesOf,
  type RouteRuleOptions,
  type RuleOptions,
  routeRuleChecks,
  ruleChecks,
} from '../../rules/modes.js'
import { reporterOf } from '../../rules/report.js'
import { ruledRoutes } from '../../rules/ruled-routes.js'
import { clip } from '../../text.js'
import { parameterHint } from './parameter-hint.js'
import { knownVerbs, type PathRule, type PathVocabulary, pathBreaches, pathRuleNames } from './path-rules.js'

/** Options of {@link pathGuard}. */
export interface PathGuardOptions extends RuleOptions<PathRule> {
  /**
   * Status of a request whose path has uppercase letters or encoded characters.
   * @default 404
   */
  readonly statusCode?: 404 | 400
  /**
   * Path in front of the version, where the service is mounted below one, such as `/api`.
   * @default ''
   */
  readonly basePath?: string
  /**
   * Collection names that are right as they are, whatever the plural rule thinks, such as `health`.
   * @default []
   */
  readonly collections?: readonly string[]
  /**
   * Verbs of this service's actions that the built-in list does not know.
   * @default []
   */
  readonly verbs?: readonly string[]
  /**
   * Segments that stand for the caller's own record: `/v1/users/me`.
   * @default ['me', 'self']
   */
  readonly selfAliases?: readonly string[]
}

/** What a route says under `config.pathGuard`; `false` leaves the route alone. */
export interface PathGuardRouteOptions extends RouteRuleOptions<PathRule> {
  /**
   * `any` lets parameters have uppercase letters and encoded characters, for ids that are case-sensitive. What they
   * decode to is still checked: no control characters, no slashes, no dot segments. Literals stay strict.
   * @default 'lowercase'
   */
  readonly params?: 'lowercase' | 'any'
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Path rules of this route; `false` leaves it alone. */
    pathGuard?: PathGuardRouteOptions | false
  }
}

const checks: Checks<PathGuardOptions> = {
  ...ruleChecks(pathRuleNames),
  statusCode: oneOf(404, 400),
  basePath,
  collections: listOf(text()),
  verbs: listOf(text()),
  selfAliases: listOf(text()),
}

const routeChecks: Checks<PathGuardRouteOptions> = {
  ...routeRuleChecks(pathRuleNames),
  params: oneOf('lowercase', 'any'),
}

const defaults: Required<PathGuardOptions> = {
  mode: 'enforce',
  rules: {},
  exceptions: [],
  statusCode: 404,
  basePath: '',
  collections: [],
  verbs: [],
  selfAliases: ['me', 'self'],
}

/** What the guard knows of a route when a request comes in. */
interface GuardedRoute {
  readonly modeOf: Readonly<Record<PathRule, Mode>>
  /** Its pattern; `null` for a path that no route serves. */
  readonly path: string | null
  readonly anyParameter: boolean
}

const guarded = Symbol('fastify-conventions.pathGuard.route')

/**
 * Keeps paths to the conventions: lowercase, words joined by hyphens, plural collections, a
 * major version in front, verbs only as actions.
 *
 * While the app boots every route registered after this plugin is held against the rules; all breaches are thrown
 * as one table when the app gets ready. Per request the raw path is read once: an uppercase letter or an encoded
 * character is answered with a 404 problem (`path-uppercase`, `path-encoded`) and no handler runs.
 *
 * Not for paths that are case-sensitive by design, such as short links: give such routes
 * `config: { pathGuard: { params: 'any' } }`. Wildcard routes, WebSocket routes and routes hidden from the OpenAPI
 * document (`schema.hide`) are left alone at boot; the report lists them.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const pathGuard = conventionPlugin<PathGuardOptions>(
  'pathGuard',
  function setUpPathGuard(app, received) {
    const options = resolveOptions('pathGuard', received, checks, defaults)
    const reporter = reporterOf(app)
    const unknownPath: GuardedRoute = {
      modeOf: modesOf(pathRuleNames, options),
      path: null,
      anyParameter: false,
    }

    if (options.mode === 'enforce') {
      const selfAliases = new Set(options.selfAliases)
      declarePathHints(app, (path, pattern, name) => parameterHint(path, pattern, name, selfAliases))
    }

    const guardsAll = requestRules.some((rule) => unknownPath.modeOf[rule] !== 'off')

    app.addHook('onRoute', routeInspector(options, app, guardsAll ? null : pathCaseOnRequest))
    if (guardsAll) {
      addAppHook(app, 'onRequest', 'pathGuard', pathCaseOnRequest)
    }

    function pathCaseOnRequest(
      request: FastifyRequest,
      reply: FastifyReply,
      next: (error?: Error) => void,
    ): void {
      if (pathFault(request.raw.url ?? '/') === null) next()
      else judge(request, reply, next)
    }

    function judge(request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void): void {
      const route = guardedRouteOf(request) ?? unknownPath
      const path = pathOf(request.raw.url ?? '/')
      // Read only now: most routes never meet a faulty path.
      const segments = route.path === null ? null : routePath(route.path)
      const faults = segmentFaults(path, segments, route.anyParameter)
      for (const fault of new Set(faults.map(({ fault }) => fault))) {
        if (route.modeOf[fault] === 'report') reporter.observe('pathGuard', fault, request, path)
      }
      const refused = faults.filter(({ fault }) => route.modeOf[fault] === 'enforce')
      if (refused.length === 0) next()
      else {
        const problem = pathProblem(path, refused, pathOf(request.originalUrl), options.statusCode)
        refuse(request, reply, problem, next)
      }
    }
  },
)

// The rules that requests are held against.
const requestRules = ['uppercase', 'encoding'] as const

/**
 * Holds each new route against the rules, and leaves on it what the request hook needs to know.
 *
 * @param guard the request hook, where only routes that ask for it have it; `null` where all have it already
 */
function routeInspector(
  options: Required<PathGuardOptions>,
  app: FastifyInstance,
  guard: onRequestHookHandler | null,
): (route: RouteOptions & { path: string }) => void {
  const reporter = reporterOf(app)
  const vocabulary: PathVocabulary = {
    collections: new Set(options.collections),
    verbs: new Set([...knownVerbs, ...options.verbs]),
    selfAliases: new Set(options.selfAliases),
  }
  const readRoute = ruledRoutes({ plugin: 'pathGuard', rules: pathRuleNames, options, routeChecks, app })
  const unguarded = modesOf(pathRuleNames, options, false)

  return function inspectRoute(route) {
    const ruled = readRoute(route)
    const { methods, name, own, exclusionReason } = ruled
    // A route that is left alone is so for requests too, unless it says something of its own.
    const isGuarded = exclusionReason === null || route.config?.pathGuard !== undefined
    const modeOf = isGuarded ? ruled.modeOf : unguarded
    const known: GuardedRoute = {
      modeOf,
      path: route.path,
      anyParameter: own !== false && own.params === 'any',
    }
    route.config = Object.assign({}, route.config, { [guarded]: known })

    if (guard !== null && requestRules.some((rule) => modeOf[rule] !== 'off')) {
      addHook(route, 'onRequest', 'pathGuard', guard)
    }
    if (ruled.isHeadSibling) return

    if (exclusionReason !== null) {
      reporter.addException({
        plugin: 'pathGuard',
        route: name,
        rules: pathRuleNames,
        reason: exclusionReason,
        unused: false,
      })
      return
    }
    const inForce = pathRuleNames.filter((rule) => modeOf[rule] !== 'off')
    const breaches = pathBreaches(methods, route.path, vocabulary, options.basePath, inForce)
    for (const breach of breaches) {
      const mode = modeOf[breach.rule]
      if (mode !== 'off') reporter.addFinding({ plugin: 'pathGuard', route: name, mode, ...breach })
    }
    ruled.addExceptions(new Set(breaches.map(({ rule }) => rule)))
  }
}

function guardedRouteOf(request: FastifyRequest): GuardedRoute | undefined {
  const config = request.routeOptions.config as { [guarded]?: GuardedRoute } | undefined
  return config?.[guarded]
}

const maxShown = 500

/** Reads the path once, however many segments are refused: a client chooses both. */
function pathProblem(
  path: string,
  refused: readonly SegmentFault[],
  asked: string,
  status: number,
): ProblemError {
  if (refused[0]?.fault === 'uppercase') {
    const detail = `A path is lowercase: ${clip(lowercasePath(path, refused, asked), maxShown)}`
    return new ProblemError('path-uppercase', { status, detail })
  }
  const segments = path.split('/')
  const detail = refused.some(({ index }) => ['.', '..'].includes(segments[index + 1] ?? ''))
    ? 'A path has no dot segments'
    : 'A path has no characters that are, or would have to be, percent-encoded'
  return new ProblemError('path-encoded', { status, detail })
}
