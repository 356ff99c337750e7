import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { bootErrors } from '../boot-errors.js'
import type { ToJsonSchema } from '../json-schema/provider-schema.js'
import { type Check, functionOf, invalid, isObject, listOf, objectOf, text } from '../options.js'
import { type Mode, modes } from '../rules/modes.js'
import { reporterOf } from '../rules/report.js'
import { clip } from '../text.js'
import { isMisspelt } from '../words/misspelt.js'
import { checkInternals, headSiblings } from './internals.js'
import { schemaConverter } from './route-schemas.js'
import { type EarlierRoute, type RegistrationOptions, watchRoutes } from './route-watch.js'

/**
 * Makes a Fastify plugin of a convention: not encapsulated (what it sets up serves the context that registers it),
 * for Fastify 5, and refused where a registration already serves. Routes that are declared before it is loaded are
 * findings.
 *
 * @param hasMode whether the plugin has the option `mode`
 */
export function conventionPlugin<Options extends object>(
  name: string,
  setUp: (app: FastifyInstance, options: Options) => void | Promise<void>,
  hasMode = true,
): FastifyPluginAsync<Options & RegistrationOptions> {
  const registered = Symbol.for(`fastify-conventions.${name}`)
  return fastifyPlugin(
    async function registerConvention(
      app: FastifyInstance,
      options: Options & RegistrationOptions,
    ): Promise<void> {
      checkInternals(app)
      if (app.hasDecorator(registered)) throw new bootErrors.FST_CONV_ALREADY_REGISTERED(name)
      app.decorate(registered, true)
      const { earlierRoutes, toJsonSchema, ...own } = options
      if (toJsonSchema !== undefined) {
        checkConverter(`${name}.toJsonSchema`, toJsonSchema)
        if (schemaConverter.own(app) === undefined) schemaConverter.set(app, toJsonSchema)
      }
      const setUpIsDone = watchRoutes({
        app,
        plugin: name,
        mode: modeOf(own),
        earlierRoutes: earlierRoutes === undefined ? [] : checkRoutes(`${name}.earlierRoutes`, earlierRoutes),
      })
      if (hasMode) findMisspelt(app, name, modeOf(own))
      await setUp(app, own as unknown as Options)
      setUpIsDone()
    },
    { name: `fastify-conventions/${name}`, fastify: '5.x' },
  )
}

/** Finds keys of `config` that look like the name of a convention: its options would be ignored without a word. */
function findMisspelt(app: FastifyInstance, name: string, mode: Mode): void {
  if (mode === 'off') return
  const reporter = reporterOf(app)
  const isHeadSibling = headSiblings(app)
  app.addHook('onRoute', function findMisspeltConfig(route) {
    if (route.config === undefined || isHeadSibling(route)) return
    for (const [key, value] of Object.entries(route.config)) {
      // Options are an object or `false`: `config.version: '2'` is something else.
      if ((value !== false && !isObject(value)) || !isMisspelt(key, name)) continue
      reporter.addFinding({
        plugin: 'conventions',
        rule: 'config',
        route: `${[route.method].flat().join(', ')} ${route.path}`,
        problem: `config.${clip(key, maxKey)} is not read by anything of this package`,
        instead: `config.${name}`,
        mode,
      })
    }
  })
}

const maxKey = 50

const checkConverter: Check<ToJsonSchema> = functionOf('a function of a schema that returns its JSON Schema')

const checkRoute = objectOf<Partial<EarlierRoute>>({
  url: text("a path such as '/metrics' or '/docs/*'", /^\//),
  reason: text(),
})

const checkRoutes: Check<readonly EarlierRoute[]> = listOf((label, received) => {
  const { url, reason } = checkRoute(label, received)
  if (url === undefined || reason === undefined) {
    return invalid(label, 'an object with url and reason', received)
  }
  return { url, reason }
})

// What is wrong with it, the plugin itself says.
function modeOf(options: object): Mode {
  const { mode } = options as { readonly mode?: Mode }
  return mode !== undefined && modes.includes(mode) ? mode : 'enforce'
}
