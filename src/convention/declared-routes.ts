import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { bootErrors } from '../boot-errors.js'
import { kept } from '../kept.js'
import { functionOf, listOf, type OptionsOf, objectOf, option, optional } from '../options.js'
import {
  exceptionChecks,
  exclusionReasonOf,
  type Mode,
  matchesUrl,
  servesAllMethods,
} from '../report/modes.js'
import type { Reporter } from '../report/report.js'
import type { ToJsonSchema } from '../schema/provider-schema.js'
import { appKey, contextsAbove, isWithin } from './contexts.js'
import { hasRoutes } from './internals.js'
import { sharedByCopies } from './slots.js'

/** A route that is declared before the plugin, and may stay without the convention. */
export interface EarlierRoute {
  /** Path pattern as it was registered; a final `*` matches all paths below. */
  readonly url: string
  /** The reason, for the boot report. */
  readonly reason: string
}

export const registrationOptions = {
  /**
   * Routes that are declared before the plugin is loaded, and may stay without it. Any other such route is a finding: it
   * fails the boot, or is reported if the plugin's `mode` is `report`.
   *
   * Not for your own routes: `await` the registration, and declare them after it.
   * @default []
   */
  earlierRoutes: option<readonly EarlierRoute[]>(
    listOf(objectOf<EarlierRoute, 'url' | 'reason'>(exceptionChecks, ['url', 'reason'])),
    [],
  ),
  /**
   * Returns the JSON Schema of a schema of another library, such as Valibot or Zod 3. Called once for each schema, when its
   * route is declared. The first plugin of a context that has it decides for the context and those below.
   *
   * Not needed for Zod 4.2 and later, and for schemas that follow Standard JSON Schema: they give it themselves.
   * @default none
   */
  toJsonSchema: optional(functionOf<ToJsonSchema>('a function of a schema that returns its JSON Schema')),
}

/** Options of all plugins of this package. */
export interface RegistrationOptions extends OptionsOf<typeof registrationOptions> {}

export interface Watcher {
  readonly name: string
  readonly app: FastifyInstance
  readonly mode: Mode
  readonly earlierRoutes: readonly EarlierRoute[]
  /** Whether the context has routes that are not the plugin's own. */
  servesRoutes: boolean
}

/** The name of the preset. Its findings replace those of the plugins that it registers. */
export const presetName = 'conventions'

const rule = 'registration'

export type Route = RouteOptions & { path: string }

/** What all conventions know of a route. Paths without a route are compiled together, as `*`. */
export interface RouteFacts {
  /** The context of the route. */
  readonly app: FastifyInstance
  /** Methods and path pattern, as the report has them. */
  readonly name: string
  /** Path pattern with all prefixes. */
  readonly path: string
  readonly methods: readonly string[]
  /** The route as it was declared; `null` for the paths without a route. */
  readonly route: Route | null
  /** Why no rule about the content of the API applies, such as that the route is hidden; `null` if rules apply. */
  readonly exclusionReason: string | null
}

export interface Declared extends RouteFacts {
  readonly route: Route
  exclusionReason: string | null
  /** The plugins that compile it, by name. */
  readonly seenBy: Set<string>
}

/** Returns a function that returns the GET route of a HEAD route that Fastify adds, given all routes in their order, else `null`. */
function readsOf(app: FastifyInstance): (route: Route) => Route | null {
  // Fastify's types leave this option out.
  const { exposeHeadRoutes } = app.initialConfig as { readonly exposeHeadRoutes: boolean }
  const reads = new Map<string, Route>()
  return function readOf(route) {
    const { method, path, constraints } = route
    const methods = [method].flat()
    if (methods.join() !== 'HEAD') {
      const hasHead = methods.includes('GET') && !methods.includes('HEAD')
      if (hasHead && (route.exposeHeadRoute ?? exposeHeadRoutes)) reads.set(path, route)
      return null
    }
    // A route at `/` below a prefix has a second form with a slash, for which the hook gets the HEAD route only.
    const read = reads.get(path) ?? (path.endsWith('/') ? reads.get(path.slice(0, -1)) : undefined)
    return read?.constraints === constraints ? (read ?? null) : null
  }
}

/** Notes the routes of an app in the order in which they are declared. */
function newRoutes(app: FastifyInstance) {
  const declared: Declared[] = []
  const byOptions = new WeakMap<RouteOptions, Declared>()
  const readOf = readsOf(app)
  // A context has the hooks that those above it had when it was created.
  for (const context of contextsAbove(app)) {
    context.addHook('onRoute', function noteRoute(options) {
      const read = readOf(options)
      if (read !== null) {
        byOptions.set(options, byOptions.get(read) as Declared)
        return
      }
      const methods = [options.method].flat()
      const { path } = options
      const name = `${methods.join(', ')} ${path}`
      const exclusionReason = exclusionReasonOf(options)
      const seenBy = new Set<string>()
      const route = { app: this, name, path, methods, route: options, exclusionReason, seenBy }
      declared.push(route)
      byOptions.set(options, route)
    })
  }
  return {
    declared,
    /** Returns the route with these options; of a HEAD route that Fastify adds, the GET route. */
    of: (options: RouteOptions) => byOptions.get(options) as Declared,
  }
}

// Two copies of this package may serve one app.
const appRoutes = sharedByCopies('routes', () => new WeakMap<object, ReturnType<typeof newRoutes>>())

// All copies of Fastify publish each new app on this channel. An `onRoute` hook that is added later does not see the
// routes before it.
subscribe('fastify.initialization', (message) => {
  routesOf((message as { readonly fastify: FastifyInstance }).fastify)
})

/** @throws FST_CONV_LOADED_LATE if the app has routes that this package could not see */
export function checkLoadedEarly(app: FastifyInstance, plugin: string): void {
  if (!appRoutes.has(appKey(app)) && hasRoutes(app)) throw new bootErrors.FST_CONV_LOADED_LATE(plugin)
}

export function routesOf(app: FastifyInstance) {
  return kept(appRoutes, appKey(app), () => newRoutes(app))
}

/** Returns whether a request is for a route that was declared before this call, and that no rule applies to; `null` for none. */
export function excludedEarlier(app: FastifyInstance): ((request: FastifyRequest) => boolean) | null {
  const excluded = new Set<string>()
  for (const { methods, path, exclusionReason } of routesOf(app).declared) {
    if (exclusionReason === null) continue
    for (const method of methods) excluded.add(`${method} ${path}`)
    if (methods.includes('GET')) excluded.add(`HEAD ${path}`)
  }
  if (excluded.size === 0) return null
  return function isExcludedEarlier({ method, routeOptions: { url = '' } }) {
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
export function findUnseen(
  declared: readonly Declared[],
  entries: readonly Watcher[],
  reporter: Reporter,
): void {
  const met = new Set<EarlierRoute>()
  for (const route of declared) {
    const above = entries.filter(({ app }) => isWithin(route.app, app))
    if (above.length > 0) reporter.addRoute(route.name)
    const unseenBy = above.filter(({ name }) => !route.seenBy.has(name))
    for (const { name: plugin, mode, earlierRoutes } of withoutCovered(unseenBy)) {
      const earlier = earlierRoutes.find(({ url }) => matchesUrl(url, route.path))
      if (earlier !== undefined) met.add(earlier)
      const reason = earlier?.reason ?? (configuresAny(route, unseenBy) ? null : route.exclusionReason)
      if (reason !== null) {
        const declared = earlier !== undefined
        reporter.addException({ plugin, route: route.name, rules: [rule], reason, declared })
      } else if (mode !== 'off') {
        const problem = 'is declared before the plugin is loaded, so the plugin does not apply to it'
        reporter.addFinding({ plugin, rule, route: route.name, mode, problem, instead: instead(plugin) })
      }
    }
  }
  for (const { name: plugin, mode, earlierRoutes } of withoutCovered(entries)) {
    for (const one of earlierRoutes) {
      if (met.has(one) || mode === 'off') continue
      const problem = 'is in earlierRoutes, and no such route is declared before the plugin is loaded'
      reporter.addFinding({ plugin, rule, route: one.url, mode, problem, instead: 'its path, or no entry' })
    }
  }
  addUnused(declared, entries, reporter)
}

function addUnused(declared: readonly Declared[], entries: readonly Watcher[], reporter: Reporter): void {
  const others = declared.filter(({ exclusionReason }) => exclusionReason === null)
  const idle = entries.filter(({ app, servesRoutes }) => {
    return !servesRoutes && others.length > 0 && others.every((route) => !isWithin(route.app, app))
  })
  for (const { name: plugin, mode } of withoutCovered(idle)) {
    if (mode === 'off') continue
    const problem = 'the context that registers the plugin has no routes, so the plugin applies to none'
    reporter.addFinding({
      plugin,
      rule,
      route: '(none)',
      mode,
      problem,
      instead: `${instead(plugin)} in the context of the routes, or wrap the function that does in fastify-plugin`,
    })
  }
}

/** Returns the entries without the plugins that the preset of the same context has registered. */
function withoutCovered(entries: readonly Watcher[]): readonly Watcher[] {
  const presets = new Set(entries.filter(({ name }) => name === presetName).map(({ app }) => app))
  return entries.filter(({ app, name }) => name === presetName || !presets.has(app))
}

function configuresAny({ route }: Declared, entries: readonly Watcher[]): boolean {
  const config = (route.config ?? {}) as Readonly<Record<string, unknown>>
  return entries.some(({ name }) => config[name] !== undefined && config[name] !== false)
}

function instead(plugin: string): string {
  return `await app.register(${plugin}) before the route is declared`
}
