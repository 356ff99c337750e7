import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import {
  type DeclaredOptions,
  type OptionsOf,
  pluginOptions,
  type ResolvedOptions,
  resolveOptions,
} from '../options.js'
import type { Mode } from '../report/modes.js'
import { checkLoadedEarly, type RegistrationOptions, registrationOptions } from './declared-routes.js'
import { checkInternals } from './internals.js'
import { addEntry, type Entry, modeOfPreset } from './registry.js'
import { schemaConverter } from './route-schemas.js'

/**
 * Makes a Fastify plugin of a convention: not encapsulated (what it sets up serves the context that registers it),
 * for Fastify 5, and refused where a registration already serves. Routes that are declared before it is loaded are
 * findings. The options of all plugins are not passed on.
 */
export function conventionPlugin<Declared extends DeclaredOptions>(
  name: string,
  declared: Declared,
  setUp: (app: FastifyInstance, options: ResolvedOptions<Declared>, entry: Entry) => void | Promise<void>,
): FastifyPluginAsync<OptionsOf<Declared> & RegistrationOptions> {
  const all: DeclaredOptions = { ...declared, ...registrationOptions }
  return fastifyPlugin(
    async function registerConvention(
      app: FastifyInstance,
      received: RegistrationOptions & { readonly mode?: Mode },
    ) {
      checkInternals(app)
      const { earlierRoutes, toJsonSchema, ...options } = resolveOptions(
        name,
        pluginOptions(received),
        all,
      ) as ResolvedOptions<typeof registrationOptions>
      const mode = received.mode ?? modeOfPreset(app)
      if (mode !== 'off') checkLoadedEarly(app, name)
      const entry = addEntry(app, { name, mode, earlierRoutes })
      if (toJsonSchema !== undefined && schemaConverter.own(app) === undefined)
        schemaConverter.set(app, toJsonSchema)
      await setUp(app, Object.freeze(options) as unknown as ResolvedOptions<Declared>, entry)
      entry.isSettingUp = false
    },
    { name: `fastify-conventions/${name}`, fastify: '5.x' },
  )
}
