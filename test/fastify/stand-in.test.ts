import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { standInFor } from '../../src/fastify/stand-in.js'

t.test('what is given takes the place of the own, all else is that of the app', async (t) => {
  const app = Fastify()
  const hooks: string[] = []
  const standIn: FastifyInstance = standInFor(app, { addHook: (name: string) => hooks.push(name) })
  standIn.addHook('onRequest', async (_, reply) => reply.code(500).send())
  standIn.decorate('answer', 42)
  app.get('/', () => ({}))
  t.same(hooks, ['onRequest'])
  t.equal(standIn.prefix, app.prefix)
  t.equal((await app.inject('/')).statusCode, 200, 'the app has no such hook')
  t.notOk(app.hasDecorator('answer'), 'nor what the plugin decorates')
})
