import Fastify, { type RouteOptions } from 'fastify'
import { test } from 'tap'
import conventions, { serverOptions } from '../../src/index.js'

const user = { type: 'object', properties: { name: { type: 'string' } } }

/** Whether the responses of a route are readable for a transform that knows the schemas of Zod only. */
async function isReadableForZod(options: Partial<RouteOptions>): Promise<boolean> {
  const app = Fastify(serverOptions())
  await app.register(conventions, {})
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    routes.push(route)
  })
  app.get('/v1/users/:id', { schema: { response: { 200: user } }, ...options }, async () => ({ name: 'Ada' }))
  await app.ready()
  await app.close()
  const [schema] = routes.map((route) => route.schema?.response as Readonly<Record<string, object>>)
  return '_zod' in (schema?.['200'] ?? {})
}

test('schemas are only prepared for a transform of another library if the app has a compiler', async (t) => {
  t.equal(await isReadableForZod({}), false, 'the compilers of HEAD routes are those of this package')
  t.equal(await isReadableForZod({ serializerCompiler: () => JSON.stringify }), true)
  t.equal(await isReadableForZod({ validatorCompiler: () => () => true }), true)
})
