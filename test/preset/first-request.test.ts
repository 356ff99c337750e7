/** `ready()` compiles what requests need: the first request of a route waits for nothing. */
import Fastify, { type InjectOptions } from 'fastify'
import t from 'tap'
import conventions, { serverOptions } from '../../src/index.js'

const user = {
  type: 'object',
  properties: { id: { type: 'integer', format: 'int64' }, name: { type: 'string' } },
}
const requests: readonly InjectOptions[] = [
  { url: '/v1/users/1' },
  { url: '/v1/users' },
  { method: 'POST', url: '/v1/users', payload: { id: 1, name: 'Ada' } },
  { method: 'POST', url: '/v1/users', payload: {} },
  { url: '/nothing' },
]

t.test('the first request of a route compiles nothing', async (t) => {
  const app = Fastify(serverOptions())
  await app.register(conventions)
  const schema = { response: { 200: user } }
  app.get('/v1/users/:id', { schema }, async () => ({ id: 9007199254740993n, name: 'Ada' }))
  const list = { type: 'object', properties: { users: { type: 'array', items: user } } }
  app.get('/v1/users', { schema: { response: { 200: list } } }, async () => ({
    users: [{ id: 1, name: 'Ada' }],
  }))
  app.post('/v1/users', { schema: { body: { ...user, required: ['name'] } } }, async (_request, reply) =>
    reply.code(201).send({}),
  )
  await app.ready()

  const compiled: unknown[] = []
  t.intercept(globalThis, 'Function', {
    value: new Proxy(Function, {
      construct(target, sources) {
        compiled.push(sources.at(-1))
        return Reflect.construct(target, sources)
      },
    }),
  })
  for (const request of requests) {
    await app.inject(request)
    t.same(compiled.splice(0), [], `${request.method ?? 'GET'} ${request.url}`)
  }
})
