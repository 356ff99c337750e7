import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { bootErrors } from '../boot-errors.js'
import type { ToJsonSchema } from '../json-schema/provider-schema.js'
import { exclusionReasonOf, matchesUrl, servesAllMethods } from '../rules/exceptions.js'
import type { Mode } from '../rules/modes.js'
import { type Reporter, reporterOf } from '../rules/report.js'
import { appKey, contextsAbove, hasRoutes, headSiblings, isWithin } from './internals.js'
import { noteRoute } from './route-schemas.js'

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

/** Watches which routes a plugin sees. */
export function watchRoutes(registration: Registration): () => void {
  const { app, plugin, mode } = registration
  const reporter = reporterOf(app)
  if (mode !== 'off') checkLoadedEarly(app, plugin)
  const routes = routesOf(app)
  const registrations = routes.registrationsOf(reporter)
  const watched: Watched = { ...registration, servesRoutes: false }
  if (registrations.length === 0) reporter.checkAtReady(() => addUnseen(routes, registrations, reporter))
  registrations.push(watched)
  let isSettingUp = true
  app.addHook('onRoute', function seeRoute(route) {
    noteRoute(this, route, plugin, reporter)
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
  readonly options: RouteOptions
}

/** The routes of one app, in the order in which they were declared. */
class AppRoutes {
  readonly declared: Declared[] = []
  readonly #registrations = new Map<Reporter, Watched[]>()
  /** The plugins that have seen a route, by its options. */
  readonly #seen = new WeakMap<object, string[]>()

  constructor(app: FastifyInstance) {
    const { declared } = this
    const isHeadSibling = headSiblings(app)
    // A context has the hooks that those above it had when it was created.
    for (const context of contextsAbove(app)) {
      context.addHook('onRoute', function noteRoute(options) {
        if (isHeadSibling(options)) return
        const methods = [options.method].flat()
        const exclusionReason = exclusionReasonOf(options)
        declared.push({ methods, path: options.path, context: this, exclusionReason, options })
      })
    }
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
    return this.#seen.get(options)?.includes(plugin) === true
  }
}

const appRoutes = new WeakMap<object, AppRoutes>()

// All copies of Fastify publish each new app on this channel. An `onRoute` hook that is added later does not see the
// routes before it.
subscribe('fastify.initialization', (message) => {
  const { fastify: app } = message as { readonly fastify: FastifyInstance }
  appRoutes.set(appKey(app), new AppRoutes(app))
})

function checkLoadedEarly(app: FastifyInstance, plugin: string): void {
  if (!appRoutes.has(appKey(app)) && hasRoutes(app)) throw new bootErrors.FST_CONV_LOADED_LATE(plugin)
}

function routesOf(app: FastifyInstance): AppRoutes {
  const routes = appRoutes.get(appKey(app)) ?? new AppRoutes(app)
  appRoutes.set(appKey(app), routes)
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
        reporter.addException({
          plugin,
          route: name,
          rules: [rule],
          reason,
          declared: declared !== undefined,
          unused: false,
        })
      else if (mode !== 'off') {
        const problem = 'is declared before the plugin is loaded, so the plugin does not apply to it'
        reporter.addFinding({ plugin, rule, route: name, mode, problem, instead: instead(plugin) })
      }
    }
  }
  for (const { plugin, earlierRoutes } of registrations) {
    for (const { url, reason } of earlierRoutes.filter((route) => !met.has(route))) {
      reporter.addException({ plugin, route: url, rules: [rule], reason, declared: true, unused: true })
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
      problem: 'the context that registers the plugin has no routes, so the plugin applies to none',
      instead: `${instead(plugin)} in the context of the routes, or wrap the function that does in fastify-plugin`,
    })
  }
}

/** Returns the registrations without the plugins that the preset of the same context has registered. */
function withoutCovered(registrations: readonly Watched[]): readonly Watched[] {
  const presets = new Set(registrations.filter(({ plugin }) => plugin === presetName).map(({ app }) => app))
  return registrations.filter(({ app, plugin }) => plugin === presetName || !presets.has(app))
}

/** Whether the route's `config` has options for one of the plugins. */
function configuresAny({ options }: Declared, registrations: readonly Watched[]): boolean {
  const config = (options.config ?? {}) as Readonly<Record<string, unknown>>
  return registrations.some(({ plugin }) => config[plugin] !== undefined && config[plugin] !== false)
}

function instead(plugin: string): string {
  return `await app.register(${plugin}) before the route is declared`
}
