import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { bootErrors } from '../errors.js'

/**
 * Makes a Fastify plugin of a convention: not encapsulated (what it sets up serves the context that registers it),
 * for Fastify 5, and refused where a registration already serves.
 */
export function conventionPlugin<Options extends object>(
  name: string,
  setUp: (app: FastifyInstance, options: Options) => void | Promise<void>,
): FastifyPluginAsync<Options> {
  const registered = Symbol.for(`fastify-conventions.${name}`)
  return fastifyPlugin(
    async function registerConvention(app: FastifyInstance, options: Options): Promise<void> {
      if (app.hasDecorator(registered)) throw new bootErrors.FST_CONV_ALREADY_REGISTERED(name)
      app.decorate(registered, true)
      await setUp(app, options)
    },
    { name: `fastify-conventions/${name}`, fastify: '5.x' },
  )
}
