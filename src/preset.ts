import type { FastifyPluginAsync } from 'fastify'
import { conventionPlugin } from './fastify/plugin.js'
import type { RegistrationOptions } from './fastify/route-watch.js'
import { writeFast } from './fastify/serialization.js'
import { type Check, type Checks, invalid, isObject, oneOf, resolveOptions } from './options.js'
import { caching } from './plugins/caching/index.js'
import { cors } from './plugins/cors/index.js'
import { fields } from './plugins/fields/index.js'
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
import { type Mode, modes } from './rules/modes.js'

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
   * Caching headers and conditional requests.
   * @default {}
   */
  caching,
  /**
   * Long-running operations.
   * @default {}
   */
  operations,
}

type Plugins = typeof plugins

/** The options of a plugin, without those of its registration. */
type OptionsOf<Plugin> =
  Plugin extends FastifyPluginAsync<infer Options & RegistrationOptions> ? Options : never

type PluginsOptions = { readonly [Name in keyof Plugins]?: OptionsOf<Plugins[Name]> | false }

/** Options of {@link conventions}: for each plugin its own options, or `false` to leave it out. */
export interface ConventionsOptions extends PluginsOptions {
  /**
   * Mode of all plugins that have one and say nothing themselves. With `report` no response changes by a byte: what
   * would be refused, added or altered is counted and logged.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Who writes JSON by a response schema, where no twin and no field selection is involved. `fast`: this package, for
   * schemas that name all members; the bytes are Fastify's, and values that it does not expect are left to Fastify.
   * `fastify`: Fastify alone, as without this package. In `report` mode it is Fastify alone.
   * @default 'fast'
   */
  readonly serializer?: 'fast' | 'fastify'
}

// The plugin checks the members of the object.
const pluginOptions: Check<object | false> = (label, received) =>
  received === false || isObject(received) ? received : invalid(label, 'an object or false', received)

const names = Object.keys(plugins) as (keyof Plugins)[]

const checks = {
  ...Object.fromEntries(names.map((name) => [name, pluginOptions])),
  mode: oneOf(...modes),
  serializer: oneOf('fast', 'fastify'),
} as Checks<ConventionsOptions>

const defaults = {
  ...Object.fromEntries(names.map((name) => [name, {}])),
  mode: 'enforce',
  serializer: 'fast',
} as Required<ConventionsOptions>

/**
 * The whole preset: every convention of this package.
 *
 * ```ts
 * const app = Fastify({ ...serverOptions(), logger: true })
 * await app.register(conventions, { pathGuard: { basePath: '/api' }, lists: false })
 * ```
 *
 * The path of a request, as `fastify/order.ts` defines it, whichever plugin is registered first:
 *
 * - onRequest: problems:admission → cors → securityHeaders → maintenance → rateLimit → pathGuard →
 *   methodOverride → versions → bearer → xsrf → hooks of the app → caching → hooks of the route →
 *   problems:expectation → selfAlias
 * - preParsing: hooks of the app → selfAlias → problems:empty-body → hooks of the route →
 *   problems:content-coding → integerTwins
 * - preValidation: hooks of the app → lists → selfAlias → methodOverride → hooks of the route → fields →
 *   integerTwins
 * - preHandler: hooks of the app → integerTwins → hooks of the route → fields → idempotency → caching
 * - preSerialization: hooks of the app → caching → hooks of the route → responseRules → fields → integerTwins
 *   → serialization
 * - onSend: problems → cors → securityHeaders → hooks of the app → caching → caching:empty-304 → fields →
 *   hooks of the route → versions → selfAlias → caching:length-of-304
 * - onError: hooks of the app → versions → caching → hooks of the route
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const conventions = conventionPlugin<ConventionsOptions>(
  'conventions',
  async function setUpConventions(app, received) {
    const { mode, serializer, ...options } = resolveOptions('conventions', received, checks, defaults)
    if (serializer === 'fast' && mode === 'enforce') writeFast(app)
    for (const name of names) {
      const own = options[name] as { readonly mode?: Mode } | false
      if (own === false) continue
      // Operations are started by the app, so there is nothing that a mode could leave out.
      const ofPlugin = name === 'operations' ? own : { ...own, mode: own.mode ?? mode }
      await app.register(plugins[name] as FastifyPluginAsync<object>, ofPlugin)
    }
  },
)
