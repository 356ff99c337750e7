import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { type Checks, functionOf, listOf, objectOf } from '../options.js'
import { exceptionChecks, type Mode, modes } from '../report/modes.js'
import { checkLoadedEarly, type EarlierRoute, type RegistrationOptions } from './declared-routes.js'
import { checkInternals } from './internals.js'
import { addEntry, type Entry, modeOfPreset } from './registry.js'
import { schemaConverter } from './route-schemas.js'

/**
 * Makes a Fastify plugin of a convention: not encapsulated (what it sets up serves the context that registers it),
 * for Fastify 5, and refused where a registration already serves. Routes that are declared before it is loaded are
 * findings.
 */
export function conventionPlugin<Options extends object>(
  name: string,
  setUp: (app: FastifyInstance, options: Options, entry: Entry) => void | Promise<void>,
): FastifyPluginAsync<Options & RegistrationOptions> {
  return fastifyPlugin(
    async function registerConvention(
      app: FastifyInstance,
      options: Options & RegistrationOptions,
    ): Promise<void> {
      checkInternals(app)
      const { earlierRoutes = [], toJsonSchema, ...own } = options
      const mode = modeOf(own) ?? modeOfPreset(app)
      if (mode !== 'off') checkLoadedEarly(app, name)
      const entry = addEntry(app, {
        name,
        mode,
        earlierRoutes: registrationChecks.earlierRoutes(`${name}.earlierRoutes`, earlierRoutes),
      })
      if (toJsonSchema !== undefined) {
        registrationChecks.toJsonSchema(`${name}.toJsonSchema`, toJsonSchema)
        if (schemaConverter.own(app) === undefined) schemaConverter.set(app, toJsonSchema)
      }
      await setUp(app, own as unknown as Options, entry)
      entry.isSettingUp = false
    },
    { name: `fastify-conventions/${name}`, fastify: '5.x' },
  )
}

/** Checks of the options of all plugins, which the plugin itself does not get. */
export const registrationChecks: Checks<RegistrationOptions> = {
  earlierRoutes: listOf(objectOf<EarlierRoute, 'url' | 'reason'>(exceptionChecks, ['url', 'reason'])),
  toJsonSchema: functionOf('a function of a schema that returns its JSON Schema'),
}

// The plugin itself refuses an invalid mode.
function modeOf({ mode }: { readonly mode?: Mode }): Mode | undefined {
  return mode !== undefined && modes.includes(mode) ? mode : undefined
}
