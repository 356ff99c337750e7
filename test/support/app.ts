import Fastify, { type FastifyInstance, type FastifyPluginAsync, type FastifyPluginCallback } from 'fastify'

type Plugin<Options extends object> = FastifyPluginAsync<Options> | FastifyPluginCallback<Options>

/** Returns an app with some plugins, each alone or with its options, which are registered in this order. */
export async function appOf<const All extends readonly object[]>(
  ...plugins: { readonly [At in keyof All]: Plugin<All[At]> | readonly [Plugin<All[At]>, All[At]] }
): Promise<FastifyInstance> {
  const app = Fastify()
  for (const each of plugins) {
    const [plugin, options] = Array.isArray(each) ? each : [each, {}]
    await app.register(plugin, options)
  }
  return app
}
