import type { FastifyPluginAsync } from 'fastify'
import type { AnyRequest } from './convention/any-request.js'
import { isRoot } from './convention/contexts.js'
import type { RegistrationOptions } from './convention/declared-routes.js'
import { watchOrder } from './convention/neighbours.js'
import { conventionPlugin } from './convention/plugin.js'
import { fastTicksOption, keepTicksFast } from './fast-ticks.js'
import { basePath, type Check, functionOf, invalid, isObject, listOf, option, optional } from './options.js'
import { bearer } from './plugins/bearer/index.js'
import { caching } from './plugins/caching/index.js'
import { cors } from './plugins/cors/index.js'
import { fields } from './plugins/fields/index.js'
import { formats } from './plugins/formats/index.js'
import { httpsOnly } from './plugins/https-only/index.js'
import { idempotency } from './plugins/idempotency/index.js'
import { integerTwins } from './plugins/integer-twins/index.js'
import { lists } from './plugins/lists/index.js'
import { maintenance } from './plugins/maintenance/index.js'
import { methodOverride } from './plugins/method-override/index.js'
import { operations } from './plugins/operations/index.js'
import { pathGuard } from './plugins/path-guard/index.js'
import { problems } from './plugins/problems/index.js'
import { rateLimit } from './plugins/rate-limit/index.js'
import { responseRules } from './plugins/response-rules/index.js'
import { securityHeaders } from './plugins/security-headers/index.js'
import { selfAlias } from './plugins/self-alias/index.js'
import { versions } from './plugins/versions/index.js'
import { xsrf } from './plugins/xsrf/index.js'
import { type Mode, modeOption, type RouteException, routeException } from './report/modes.js'
import { exceptRoutes } from './report/route-exceptions.js'

/**
 * The conventions, in the order in which a route meets them at boot: one completes the schema that the next one reads.
 * The order of a request is the table below. The comment of a plugin here is the comment of its option.
 */
const plugins = {
  /**
   * Every error as a problem document (RFC 9457); what no route serves; `Accept`.
   * @default {}
   */
  problems,
  /**
   * Pages of other origins. No origin is allowed by default.
   * @default {}
   */
  cors,
  /**
   * Security headers of helmet.
   * @default {}
   */
  securityHeaders,
  /**
   * 403 for requests over plain HTTP.
   * @default false
   */
  httpsOnly,
  /**
   * 503 for all requests while the service is in maintenance.
   * @default {}
   */
  maintenance,
  /**
   * Requests of a caller in a time window.
   * @default {}
   */
  rateLimit,
  /**
   * Paths: lowercase, plural, versioned.
   * @default {}
   */
  pathGuard,
  /**
   * `PUT`, `PATCH` and `DELETE` for clients that can only send `POST`.
   * @default {}
   */
  methodOverride,
  /**
   * Deprecation and sunset of versions.
   * @default {}
   */
  versions,
  /**
   * Access tokens (OAuth 2.0): who calls, and what they may do.
   * @default false
   */
  bearer,
  /**
   * Requests that a cookie authenticates, against pages of other origins.
   * @default false
   */
  xsrf,
  /**
   * `/v1/users/me`: the record of the caller.
   * @default {}
   */
  selfAlias,
  /**
   * Keyset pagination.
   * @default {}
   */
  lists,
  /**
   * The shape of responses.
   * @default {}
   */
  responseRules,
  /**
   * Field selection: `?fields=name,address.city`.
   * @default {}
   */
  fields,
  /**
   * Integers beyond 2^53, exact in both directions.
   * @default {}
   */
  integerTwins,
  /**
   * Repeated requests with `Idempotency-Key` run once.
   * @default {}
   */
  idempotency,
  /**
   * Caching headers and conditional requests.
   * @default {}
   */
  caching,
  /**
   * Long-running operations.
   * @default {}
   */
  operations,
  /**
   * XML and CSV beside JSON, on routes that opt in.
   * @default false
   */
  formats,
}

type Plugins = typeof plugins

/** The plugins that are registered only if the app gives their options: no default fits every service. */
const optIn: ReadonlySet<keyof Plugins> = new Set<keyof Plugins>(['httpsOnly', 'bearer', 'formats', 'xsrf'])

type OptionsOf<Plugin> =
  Plugin extends FastifyPluginAsync<infer Options & RegistrationOptions> ? Options : never

type PluginsOptions = { readonly [Name in keyof Plugins]?: OptionsOf<Plugins[Name]> | false }

/** Returns the id of the caller of a request; `null` if the caller is not known. */
export type IdentifyCaller = AnyRequest<
  [],
  string | number | bigint | null | Promise<string | number | bigint | null>
>

const identifying: ReadonlySet<string> = new Set(['selfAlias', 'operations', 'idempotency'])

const belowBase: ReadonlySet<string> = new Set(['pathGuard', 'versions'])

/**
 * A convention that a route can be excepted from. Not from `methodOverride`: it decides before the route is known, and
 * serves only clients that ask for it.
 */
export type ConventionName = Exclude<keyof Plugins, 'methodOverride'>

/**
 * Options of {@link conventions}: for each plugin its own options, or `false` to leave it out. A plugin whose default is
 * `false` is left out unless it is given options.
 */
export interface ConventionsOptions extends PluginsOptions, RegistrationOptions {
  /**
   * Mode of all plugins that have one and say nothing themselves. With `report` no response changes by a byte: what
   * would be refused, added or altered is counted and logged.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Returns the id of the caller, for an app with an authentication of its own: the option `identify` of `selfAlias`,
   * `operations` and `idempotency`, unless they have one. As it may read any header, `caching` makes all responses
   * private that do not say who may store them, unless it has `isAuthenticated`.
   * @default their own default: the subject of `request.caller`, which `bearer` sets
   */
  readonly identify?: IdentifyCaller
  /**
   * Path in front of the version if the service is mounted below one, such as `/api`: the option `basePath` of `pathGuard`
   * and `versions`, unless they have one. On the root, operations are at `<basePath>/v1/operations`, unless their option
   * `path` says otherwise.
   * @default the prefix of the context that registers the preset, without a version
   */
  readonly basePath?: string
  /**
   * Routes that the team cannot change, and what they are excepted from. It is as if `config.<convention>` of the routes
   * were `false`. The report lists them; one that matches no route is a finding.
   *
   * Not for your own routes: `config.<convention>` is beside the route, and can except single rules.
   * @default []
   */
  readonly exceptions?: readonly ConventionsException[]
  /**
   * Whether one object of `process.nextTick()` is kept alive for the life of the process, as by the same option of
   * {@link serverOptions}. An app that uses both turns it off in both.
   * @default true
   */
  readonly fastTicks?: boolean
}

type OwnOptions = Omit<ConventionsOptions, keyof RegistrationOptions>

// The plugin checks the members of the object.
const pluginOptions: Check<object | false> = (label, received) =>
  received === false || isObject(received) ? received : invalid(label, 'an object or false', received)

const names = Object.keys(plugins) as (keyof Plugins)[]

const exceptable = names.filter((name) => name !== 'methodOverride')

/** An exception of {@link ConventionsOptions.exceptions}. */
export type ConventionsException = RouteException<ConventionName>

// Not taken apart here: bundlers leave out a name, and keep a pattern.
const declared = {
  ...Object.fromEntries(names.map((name) => [name, option(pluginOptions, optIn.has(name) ? false : {})])),
  mode: modeOption,
  identify: optional(functionOf('a function of the request that returns the id of the caller')),
  basePath: optional(basePath),
  exceptions: option(listOf(routeException(exceptable)), []),
  fastTicks: fastTicksOption,
}

type ResolvedOptions = Required<Omit<OwnOptions, 'identify' | 'basePath'>> &
  Pick<OwnOptions, 'identify' | 'basePath'>

/**
 * The whole preset: every convention of this package.
 *
 * ```ts
 * const app = Fastify({ ...serverOptions(), logger: true })
 * await app.register(conventions, { pathGuard: { basePath: '/api' }, lists: false })
 * ```
 *
 * The conventions run in the order of `docs/path-of-a-request.md`, whichever plugin is registered first.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const conventions: FastifyPluginAsync<ConventionsOptions> = conventionPlugin(
  'conventions',
  declared,
  async function setUpConventions(app, resolved, entry) {
    const { mode, identify, basePath, exceptions, fastTicks, ...options } =
      resolved as unknown as ResolvedOptions
    if (fastTicks) keepTicksFast()
    if (mode !== 'off') watchOrder(app)
    if (exceptions.length > 0) exceptRoutes(entry, exceptions, exceptable, mode)
    for (const name of names) {
      const given = options[name] as { readonly mode?: Mode } | false
      if (given === false) continue
      const own = {
        ...(identify !== undefined && identifying.has(name) && { identify }),
        ...(identify !== undefined && name === 'caching' && { isAuthenticated: () => true }),
        ...(basePath !== undefined && belowBase.has(name) && { basePath }),
        // Below a prefix, the path is below the prefix.
        ...(basePath !== undefined &&
          name === 'operations' &&
          isRoot(app) && { path: `${basePath}/v1/operations` }),
        ...given,
      }
      // Operations are started by the app, so there is nothing that a mode could leave out.
      const ofPlugin = name === 'operations' ? own : { ...own, mode: own.mode ?? mode }
      await app.register(plugins[name] as FastifyPluginAsync<object>, ofPlugin)
    }
  },
)
