import Fastify from 'fastify'
import t from 'tap'
import { fields, lists } from '../../../src/index.js'

t.test('`lists: true` is `lists: {}`, for fields too, whichever plugin is first', async (t) => {
  for (const plugins of [
    [lists, fields],
    [fields, lists],
  ]) {
    const app = Fastify()
    t.teardown(() => app.close())
    for (const plugin of plugins) await app.register(plugin)
    const users = [{ id: 2, name: 'Ada' }]
    app.get('/v1/users', { config: { lists: true } }, async (_request, reply) => reply.list(users))
    t.equal((await app.inject('/v1/users?limit=1')).body, '{"users":[{"id":2,"name":"Ada"}]}')
    t.equal((await app.inject('/v1/users?fields=name')).body, '{"users":[{"name":"Ada"}]}')
    t.equal((await app.inject('/v1/users?limit=0')).statusCode, 400)
  }
})
