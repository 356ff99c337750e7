import { EventEmitter, once } from 'node:events'
import Fastify, { type FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import t from 'tap'
import conventions, { serverOptions } from '../src/index.js'
import { injected, isProblem } from './support/problem.js'
import { ask, openConnection, requestBytes } from './support/raw.js'
import { serve } from './support/serve.js'

const nothing = async (): Promise<object> => ({})

t.test('schemas by $ref and addSchema keep working', async (t) => {
  const app = await appWithConventions()
  app.addSchema({ $id: 'name', type: 'string', minLength: 2 })
  app.addSchema({
    $id: 'user',
    type: 'object',
    required: ['name'],
    properties: { name: { $ref: 'name#' }, friends: { type: 'array', items: { $ref: '#' } } },
  })
  const schema = { body: { $ref: 'user#' }, response: { 200: { $ref: 'user#' } } }
  app.post('/v1/users', { schema }, async (request) => request.body)

  const sound = await app.inject({ method: 'POST', url: '/v1/users', payload: { name: 'Ada' } })
  t.strictSame(sound.json(), { name: 'Ada' })
  const payload = { name: 'Ada', friends: [{ name: 'Bo' }, { name: 'C' }] }
  const broken = await app.inject({ method: 'POST', url: '/v1/users', payload })
  const message = 'must NOT have fewer than 2 characters'
  const errors = [{ in: 'body', pointer: '/friends/1/name', message }]
  isProblem(t, injected(broken), { status: 400, code: 'validation', errors })
})

t.test('plugins that wrap others, each in its context, keep their hooks and decorators', async (t) => {
  const steps: string[] = []
  const app = await appWithConventions()
  await app.register(
    fastifyPlugin(async (shared) => {
      shared.decorateRequest('tenant', '')
      shared.addHook('onRequest', async () => void steps.push('shared'))
    }),
  )
  app.register(
    async (users) => {
      users.addHook('preHandler', async () => void steps.push('users'))
      users.get('/users', nothing)
      users.register(async (friends) => {
        friends.addHook('preHandler', async () => void steps.push('friends'))
        friends.get('/users/:id/friends', nothing)
      })
    },
    { prefix: '/v1' },
  )

  t.equal((await app.inject('/v1/users/7/friends')).statusCode, 200)
  t.strictSame(steps, ['shared', 'users', 'friends'])
})

t.test('a validator and a serializer of the app’s own keep working', async (t) => {
  const app = await appWithConventions()
  app.setValidatorCompiler(() => (value) => {
    const { name } = value as { readonly name?: unknown }
    return typeof name === 'string'
      ? { value: { name: name.trim() } }
      : { error: new Error('a name, please') }
  })
  app.setSerializerCompiler(() => (value) => JSON.stringify({ wrapped: value }))
  const schema = { body: { type: 'object' }, response: { 200: { type: 'object' } } }
  app.post('/v1/users', { schema }, async (request) => request.body)

  const sound = await app.inject({ method: 'POST', url: '/v1/users', payload: { name: ' Ada ' } })
  t.strictSame(sound.json(), { wrapped: { name: 'Ada' } })
  const broken = await app.inject({ method: 'POST', url: '/v1/users', payload: {} })
  t.match(broken.json(), { status: 400, detail: /a name, please/ })
})

t.test('files and proxies: an error response that is a stream is not changed', async (t) => {
  const app = await appWithConventions()
  app.get('/files/*', async (_request, reply) => {
    const { body } = new Response('<h1>No such file</h1>')
    return reply.code(404).type('text/html').send(body)
  })
  const { origin } = await serve(t, app)

  const response = await fetch(`${origin}/files/lost.txt`)
  t.equal(response.status, 404)
  t.equal(await response.text(), '<h1>No such file</h1>')
})

t.test('a body parser for all media types is used', async (t) => {
  const app = await appWithConventions()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, { length: body.length }),
  )
  app.post('/v1/uploads', async (request) => request.body)

  const headers = { 'content-type': 'image/png' }
  const response = await app.inject({ method: 'POST', url: '/v1/uploads', headers, payload: 'abc' })
  t.strictSame(response.json(), { length: 3 })
})

t.test('an aborted request gets no response, and the server continues', async (t) => {
  const app = await appWithConventions()
  const events = new EventEmitter()
  const entered = once(events, 'entered')
  app.get('/v1/held', { config: { pathGuard: false } }, async ({ raw }) => {
    events.emit('entered')
    await once(raw, 'close')
    throw new Error('broken')
  })
  const { port } = await serve(t, app)
  const connection = await openConnection(port)
  connection.send(requestBytes('GET', '/v1/held'))
  await entered
  connection.socket.resetAndDestroy()
  t.equal(await connection.ended(), '')

  isProblem(t, await ask(port, requestBytes('GET', '/nothing')), { status: 404, code: 'not-found' })
})

async function appWithConventions(): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  await app.register(conventions)
  return app
}
