import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import rateLimit from '@fastify/rate-limit'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import Fastify, { type FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import t from 'tap'
import conventions, { serverOptions } from '../src/index.js'
import { fetched, injected, isProblem } from './support/problem.js'
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
  const errors = [
    { in: 'body', pointer: '/friends/1/name', message: 'must NOT have fewer than 2 characters' },
  ]
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

t.test('@fastify/rate-limit: its 429 is a problem that keeps Retry-After', async (t) => {
  const app = await appWithConventions()
  await app.register(rateLimit, { max: 1, timeWindow: '1 minute' })
  app.get('/v1/users', nothing)

  t.equal((await app.inject('/v1/users')).statusCode, 200)
  const response = await app.inject('/v1/users')
  isProblem(t, injected(response), { status: 429, code: 'too-many-requests', detail: /Rate limit exceeded/ })
  t.match(response.headers, { 'retry-after': /^\d+$/, 'x-ratelimit-limit': '1' })
})

t.test('@fastify/helmet and @fastify/cors: their headers are on problems too', async (t) => {
  const app = await appWithConventions()
  await app.register(helmet)
  await app.register(cors, { origin: ['https://a.example'] })
  app.get('/v1/users', async () => Promise.reject(new Error('broken')))

  for (const url of ['/v1/users', '/nothing']) {
    const { headers } = await app.inject({ url, headers: { origin: 'https://a.example' } })
    t.equal(headers['content-type'], 'application/problem+json', url)
    t.equal(headers['access-control-allow-origin'], 'https://a.example', url)
    t.equal(headers['x-content-type-options'], 'nosniff', url)
  }
})

t.test('the routes of @fastify/swagger are not changed, and the report lists them', async (t) => {
  const app = await appWithConventions()
  await app.register(swagger, { openapi: { info: { title: 'Users', version: '1.0.0' } } })
  await app.register(swaggerUi, { routePrefix: '/docs' })
  app.get('/v1/users', { schema: { response: { 200: { type: 'object' } } } }, nothing)
  const { origin } = await serve(t, app)

  const page = await fetched(await fetch(`${origin}/docs`))
  t.equal(page.status, 200)
  t.match(page.body, 'swagger-ui')
  const script = await fetched(await fetch(`${origin}/docs/static/swagger-ui-bundle.js`))
  t.equal(script.status, 200)
  const document = await fetched(await fetch(`${origin}/docs/json`))
  t.strictSame(Object.keys(JSON.parse(document.body).paths), ['/v1/users'])
  const { findings, exceptions } = app.conventions.report()
  t.strictSame(findings, [])
  const ofPages = exceptions.filter(({ reason }) => !reason.startsWith('no response schema'))
  t.ok(ofPages.every(({ route }) => route.includes('/docs')))
  t.ok(ofPages.length > 0)
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
  let enter = (): void => {}
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  app.get('/v1/held', { config: { pathGuard: false } }, async (request) => {
    enter()
    await new Promise<void>((resolve) => request.raw.once('close', () => resolve()))
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
