import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import type { ToJsonSchema } from '../json-schema/provider-schema.js'
import { exclusionReasonOf, matchesUrl, servesAllMethods } from '../rules/exceptions.js'
import type { Mode } from '../rules/modes.js'
import { type Reporter, reporterOf } from '../rules/report.js'
import { appKey, headSiblings, isRoot, isWithin, printedRoutes } from './internals.js'
import { completeWhenRead } from './lazy-route-schema.js'
import { isForTransform, noteRoute } from './route-schemas.js'
import { routeSlot } from './slots.js'

/** A route that is declared before the plugin, and may stay without the convention. */
export interface EarlierRoute {
  /** Path pattern as it was registered; a final `*` matches all paths below. */
  readonly url: string
  /** The reason, for the boot report. */
  readonly reason: string
}

/** Options of all plugins of this package. */
export interface RegistrationOptions {
  /**
   * Routes that are declared before the plugin is loaded, and may stay without it. Any other such route is a finding: it
   * fails the boot, or is reported if the plugin's `mode` is `report`.
   *
   * Not for your own routes: `await` the registration, and declare them after it.
   * @default []
   */
  readonly earlierRoutes?: readonly EarlierRoute[]
  /**
   * Returns the JSON Schema of a schema of another library, such as Valibot or Zod 3. Called once for each schema, when its
   * route is declared. The first plugin of a context that has it decides for the context and those below.
   *
   * Not needed for Zod 4.2 and later, and for schemas that follow Standard JSON Schema: they give it themselves.
   * @default none
   */
  readonly toJsonSchema?: ToJsonSchema
}

/** A plugin of this package in a context. */
export interface Registration {
  readonly app: FastifyInstance
  readonly plugin: string
  readonly mode: Mode
  readonly earlierRoutes: readonly EarlierRoute[]
}

/** The name of the preset. Its findings replace those of the plugins that it registers. */
const presetName = 'conventions'

/** The rule that routes are declared after the plugins. */
const rule = 'registration'

/**
 * Watches which routes a plugin sees. When the app gets ready, each route in its context that the plugin has not seen is a
 * finding, and so is a context without routes.
 *
 * @returns a function to call after the set-up of the plugin: routes that are declared until then are its own
 */
export function watchRoutes(registration: Registration): () => void {
  const { app, plugin } = registration
  const reporter = reporterOf(app)
  const routes = routesOf(app)
  const registrations = routes.registrationsOf(reporter)
  const watched: Watched = { ...registration, servesRoutes: false }
  if (registrations.length === 0) reporter.checkAtReady(() => addUnseen(routes, registrations, reporter))
  const isCovered = registrations.some((other) => other.plugin === presetName && other.app === app)
  if (!routes.isComplete && !isCovered) refuseUnseen(watched, reporter)
  registrations.push(watched)
  let isSettingUp = true
  app.addHook('onRoute', function seeRoute(route) {
    if (noteRoute(this, route, plugin, reporter)) {
      reporter.checkAtReady(() => {
        if (route.schema !== undefined && isForTransform(route)) completeWhenRead(route, (schema) => schema)
      })
    }
    routes.see(plugin, route)
    watched.servesRoutes ||= !isSettingUp
  })
  return function setUpIsDone() {
    isSettingUp = false
  }
}

interface Watched extends Registration {
  /** Whether the context has routes that are not the plugin's own. */
  servesRoutes: boolean
}

interface Declared {
  readonly methods: readonly string[]
  readonly path: string
  readonly context: FastifyInstance
  /** The reason for which no rule applies; `null` if they do. */
  readonly exclusionReason: string | null
  /** The options that `onRoute` hooks get; `null` if the app was created before this module was loaded. */
  readonly options: RouteOptions | null
}

/** The routes of one app, in the order in which they were declared. */
class AppRoutes {
  readonly declared: Declared[] = []
  readonly #registrations = new Map<Reporter, Watched[]>()
  /** The plugins that have seen a route, by its options. */
  readonly #seen = new WeakMap<object, string[]>()
  #isComplete = false

  /** Whether all routes of the app are known. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Notes the routes of an app from now on, given the root context and the routes that are declared already. */
  note(root: FastifyInstance, declared: readonly Declared[]): void {
    const { declared: all } = this
    const isHeadSibling = headSiblings(root)
    all.push(...declared)
    this.#isComplete = true
    root.addHook('onRoute', function noteRoute(options) {
      if (isHeadSibling(options)) return
      const methods = [options.method].flat()
      const exclusionReason = exclusionReasonOf(options)
      all.push({ methods, path: options.path, context: this, exclusionReason, options })
    })
  }

  registrationsOf(reporter: Reporter): Watched[] {
    const registrations = this.#registrations.get(reporter) ?? []
    this.#registrations.set(reporter, registrations)
    return registrations
  }

  see(plugin: string, options: RouteOptions): void {
    const known = this.#seen.get(options)
    if (known === undefined) this.#seen.set(options, [plugin])
    else known.push(plugin)
  }

  isSeen(plugin: string, { options }: Declared): boolean {
    return options !== null && this.#seen.get(options)?.includes(plugin) === true
  }
}

const appRoutes = new WeakMap<object, AppRoutes>()

// All copies of Fastify publish each new app on this channel. An `onRoute` hook that is added later does not see the
// routes before it.
subscribe('fastify.initialization', (message) => {
  const { fastify: app } = message as { readonly fastify: FastifyInstance }
  const routes = new AppRoutes()
  appRoutes.set(appKey(app), routes)
  routes.note(app, [])
})

function routesOf(app: FastifyInstance): AppRoutes {
  const routes = appRoutes.get(appKey(app)) ?? new AppRoutes()
  appRoutes.set(appKey(app), routes)
  // The app was created before this module was loaded. At the root, the context of earlier routes does not matter.
  if (!routes.isComplete && isRoot(app)) routes.note(app, earlierRoutesOf(app))
  return routes
}

/**
 * Returns a function that tells whether a request is for a route that was declared before this call, and that no rule
 * applies to: no `onRoute` hook sees it.
 */
export function excludedEarlier(app: FastifyInstance): (request: FastifyRequest) => boolean {
  const excluded = new Set<string>()
  for (const { methods, path, exclusionReason } of routesOf(app).declared) {
    if (exclusionReason === null) continue
    for (const method of methods) excluded.add(`${method} ${path}`)
    if (methods.includes('GET')) excluded.add(`HEAD ${path}`)
  }
  return function isExcludedEarlier({ method, routeOptions: { url = '' } }) {
    if (excluded.size === 0) return false
    // A route at `/` below a prefix has a second form with a slash.
    return excluded.has(`${method} ${url}`) || excluded.has(`${method} ${url.replace(/\/$/, '')}`)
  }
}

/** Returns a function that tells whether a path is that of a route for all methods, as the root of a proxy is. */
export function proxyPaths(app: FastifyInstance): (path: string) => boolean {
  let paths: ReadonlySet<string> | null = null
  return function isProxyPath(path) {
    paths ??= new Set(
      routesOf(app)
        .declared.filter(({ methods }) => servesAllMethods(methods))
        .map((route) => route.path),
    )
    return paths.has(path)
  }
}

function earlierRoutesOf(root: FastifyInstance): Declared[] {
  return printedRoutes(root).map(({ methods, path }) => {
    const exclusionReason = path.includes('*') ? 'a wildcard route: files or a proxy' : null
    return { methods, path, context: root, exclusionReason, options: null }
  })
}

/** Adds a finding for each route that a plugin has not seen, and for each plugin without routes. */
function addUnseen(routes: AppRoutes, registrations: readonly Watched[], reporter: Reporter): void {
  const met = new Set<EarlierRoute>()
  for (const route of routes.declared) {
    const unseenBy = registrations.filter(
      ({ app, plugin }) => isWithin(route.context, app) && !routes.isSeen(plugin, route),
    )
    for (const { plugin, mode, earlierRoutes } of withoutCovered(unseenBy)) {
      const name = `${route.methods.join(', ')} ${route.path}`
      const declared = earlierRoutes.find(({ url }) => matchesUrl(url, route.path))
      if (declared !== undefined) met.add(declared)
      const reason = declared?.reason ?? (configuresAny(route, unseenBy) ? null : route.exclusionReason)
      if (reason !== null)
        reporter.addException({ plugin, route: name, rules: [rule], reason, unused: false })
      else if (mode !== 'off') {
        const problem = 'is declared before the plugin is loaded: no convention holds for it'
        reporter.addFinding({ plugin, rule, route: name, mode, problem, instead: instead(plugin) })
      }
    }
  }
  for (const { plugin, earlierRoutes } of registrations) {
    for (const { url, reason } of earlierRoutes.filter((route) => !met.has(route))) {
      reporter.addException({ plugin, route: url, rules: [rule], reason, unused: true })
    }
  }
  addUnused(routes, registrations, reporter)
}

function addUnused(routes: AppRoutes, registrations: readonly Watched[], reporter: Reporter): void {
  const idle = registrations.filter(({ app, servesRoutes }) => {
    if (servesRoutes) return false
    const others = routes.declared.filter(({ exclusionReason }) => exclusionReason === null)
    return others.length > 0 && others.every(({ context }) => !isWithin(context, app))
  })
  for (const { plugin, mode } of withoutCovered(idle)) {
    if (mode === 'off') continue
    reporter.addFinding({
      plugin,
      rule,
      route: '(none)',
      mode,
      problem: 'the context that registers the plugin has no routes: no convention holds anywhere',
      instead: `${instead(plugin)} in the context of the routes, or wrap the function that does in fastify-plugin`,
    })
  }
}

/**
 * Refuses requests on routes that a plugin has not seen. For a context of an app that was created before this module was
 * loaded: only a request shows which of the earlier routes are in the context.
 */
function refuseUnseen({ app, plugin, mode, earlierRoutes }: Watched, reporter: Reporter): void {
  if (mode === 'off' || !earlierRoutesOf(app).some(({ path }) => path.startsWith(app.prefix))) return
  app.addHook('onRoute', function markRoute(route) {
    isMarked.set(route, true)
  })
  app.addHook('onRequest', function refuseUnseenRoute(request, _reply, next) {
    const { url = '' } = request.routeOptions
    const isKnown = request.is404 || isMarked.of(request) === true
    if (isKnown || url.includes('*') || earlierRoutes.some((route) => matchesUrl(route.url, url))) next()
    else if (mode === 'report') {
      reporter.observe(
        plugin,
        rule,
        request,
        `${request.method} ${url} is declared before the plugin is loaded`,
        500,
      )
      next()
    } else next(new Error(`${url} is declared before ${plugin} is loaded: ${instead(plugin)}`))
  })
}

const isMarked = routeSlot<true>('registration.isMarked')

/** Returns the registrations without the plugins that the preset of the same context has registered. */
function withoutCovered(registrations: readonly Watched[]): readonly Watched[] {
  const presets = new Set(registrations.filter(({ plugin }) => plugin === presetName).map(({ app }) => app))
  return registrations.filter(({ app, plugin }) => plugin === presetName || !presets.has(app))
}

/** Whether the route's `config` has options for one of the plugins. */
function configuresAny({ options }: Declared, registrations: readonly Watched[]): boolean {
  const config = (options?.config ?? {}) as Readonly<Record<string, unknown>>
  return registrations.some(({ plugin }) => config[plugin] !== undefined && config[plugin] !== false)
}

function instead(plugin: string): string {
  return `await app.register(${plugin}) before the route is declared`
}
