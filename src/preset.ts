import { conventionPlugin } from './fastify/plugin.js'
import { writeFast } from './fastify/serialization.js'
import { type Check, type Checks, invalid, isObject, oneOf, resolveOptions } from './options.js'
import { type CachingOptions, caching } from './plugins/caching/index.js'
import { type CorsOptions, cors } from './plugins/cors/index.js'
import { type FieldsOptions, fields } from './plugins/fields/index.js'
import { type IntegerTwinsOptions, integerTwins } from './plugins/integer-twins/index.js'
import { type ListsOptions, lists } from './plugins/lists/index.js'
import { type MaintenanceOptions, maintenance } from './plugins/maintenance/index.js'
import { type MethodOverrideOptions, methodOverride } from './plugins/method-override/index.js'
import { type OperationsOptions, operations } from './plugins/operations/index.js'
import { type PathGuardOptions, pathGuard } from './plugins/path-guard/index.js'
import { type ProblemsOptions, problems } from './plugins/problems/index.js'
import { type RateLimitOptions, rateLimit } from './plugins/rate-limit/index.js'
import { type ResponseRulesOptions, responseRules } from './plugins/response-rules/index.js'
import { type SecurityHeadersOptions, securityHeaders } from './plugins/security-headers/index.js'
import { type SelfAliasOptions, selfAlias } from './plugins/self-alias/index.js'
import { type VersionsOptions, versions } from './plugins/versions/index.js'
import { type Mode, modes } from './rules/modes.js'

/** Options of {@link conventions}: for each plugin its own options, or `false` to leave it out. */
export interface ConventionsOptions {
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
  readonly problems?: ProblemsOptions | false
  readonly cors?: CorsOptions | false
  readonly securityHeaders?: SecurityHeadersOptions | false
  readonly maintenance?: MaintenanceOptions | false
  readonly rateLimit?: RateLimitOptions | false
  readonly pathGuard?: PathGuardOptions | false
  readonly methodOverride?: MethodOverrideOptions | false
  readonly versions?: VersionsOptions | false
  readonly selfAlias?: SelfAliasOptions | false
  readonly lists?: ListsOptions | false
  readonly responseRules?: ResponseRulesOptions | false
  readonly fields?: FieldsOptions | false
  readonly integerTwins?: IntegerTwinsOptions | false
  readonly caching?: CachingOptions | false
  readonly operations?: OperationsOptions | false
}

// What is in the object, the plugin itself checks.
const pluginOptions: Check<object | false> = (label, received) =>
  received === false || isObject(received) ? received : invalid(label, 'an object or false', received)

const checks: Checks<ConventionsOptions> = {
  mode: oneOf(...modes),
  serializer: oneOf('fast', 'fastify'),
  problems: pluginOptions,
  cors: pluginOptions,
  securityHeaders: pluginOptions,
  maintenance: pluginOptions,
  rateLimit: pluginOptions,
  pathGuard: pluginOptions,
  methodOverride: pluginOptions,
  versions: pluginOptions,
  selfAlias: pluginOptions,
  lists: pluginOptions,
  responseRules: pluginOptions,
  fields: pluginOptions,
  integerTwins: pluginOptions,
  caching: pluginOptions,
  operations: pluginOptions,
}

const defaults: Required<ConventionsOptions> = {
  mode: 'enforce',
  serializer: 'fast',
  problems: {},
  cors: {},
  securityHeaders: {},
  maintenance: {},
  rateLimit: {},
  pathGuard: {},
  methodOverride: {},
  versions: {},
  selfAlias: {},
  lists: {},
  responseRules: {},
  fields: {},
  integerTwins: {},
  caching: {},
  operations: {},
}

/**
 * The whole preset: every convention of this package, registered in the order in which a request meets them.
 *
 * ```ts
 * const app = Fastify({ ...serverOptions(), logger: true })
 * await app.register(conventions, { pathGuard: { basePath: '/api' }, lists: false })
 * ```
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const conventions = conventionPlugin<ConventionsOptions>(
  'conventions',
  async function setUpConventions(app, received) {
    const { mode, serializer, ...options } = resolveOptions('conventions', received, checks, defaults)

    if (options.problems !== false) await app.register(problems, withMode(options.problems, mode))
    if (options.cors !== false) await app.register(cors, withMode(options.cors, mode))
    if (options.securityHeaders !== false)
      await app.register(securityHeaders, withMode(options.securityHeaders, mode))
    if (options.maintenance !== false) await app.register(maintenance, withMode(options.maintenance, mode))
    // Before pathGuard: what that refuses counts too.
    if (options.rateLimit !== false) await app.register(rateLimit, withMode(options.rateLimit, mode))
    if (options.pathGuard !== false) await app.register(pathGuard, withMode(options.pathGuard, mode))
    if (options.methodOverride !== false)
      await app.register(methodOverride, withMode(options.methodOverride, mode))
    if (options.versions !== false) await app.register(versions, withMode(options.versions, mode))
    if (options.selfAlias !== false) await app.register(selfAlias, withMode(options.selfAlias, mode))
    if (options.lists !== false) await app.register(lists, withMode(options.lists, mode))
    if (options.responseRules !== false)
      await app.register(responseRules, withMode(options.responseRules, mode))
    if (options.fields !== false) await app.register(fields, withMode(options.fields, mode))
    if (options.integerTwins !== false) await app.register(integerTwins, withMode(options.integerTwins, mode))
    if (serializer === 'fast' && mode === 'enforce') writeFast(app)
    if (options.caching !== false) await app.register(caching, withMode(options.caching, mode))
    if (options.operations !== false) await app.register(operations, options.operations)
  },
)

/** The options of a plugin with the preset's mode, unless they name one. */
function withMode<Options extends { readonly mode?: Mode }>(options: Options, mode: Mode): Options {
  return { ...options, mode: options.mode ?? mode }
}
