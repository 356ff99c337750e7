import Fastify, { type FastifyInstance, type FastifyPluginAsync, type FastifyPluginCallback } from 'fastify'

type Plugin<Options extends object> = FastifyPluginAsync<Options> | FastifyPluginCallback<Options>
/** Plugins, each alone or with its options. */
type Plugins<All extends readonly object[]> = {
  readonly [At in keyof All]: Plugin<All[At]> | readonly [Plugin<All[At]>, All[At]]
}

/** Returns an app with some plugins, which are registered in this order. */
export async function appOf<const All extends readonly object[]>(...plugins: Plugins<All>) {
  return withPlugins(Fastify(), ...plugins)
}

/** Registers some plugins in an app that has options of its own, and returns it. */
export async function withPlugins<const All extends readonly object[]>(
  app: FastifyInstance,
  ...plugins: Plugins<All>
): Promise<FastifyInstance> {
  for (const each of plugins) {
    const [plugin, options] = Array.isArray(each) ? each : [each, {}]
    await app.register(plugin, options)
  }
  return app
}
