/** The whole preset on Fastify 5.12.2, the oldest release that the package supports. */
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify-oldest'
import t from 'tap'
import conventions, { serverOptions } from '../../src/index.js'
import { injected, isProblem } from '../support/problem.js'
import { until } from '../support/until.js'

const json = { 'content-type': 'application/json' }
const big = 9_007_199_254_740_993n
const user = {
  type: 'object',
  properties: {
    id: { type: 'integer', format: 'int64' },
    name: { type: 'string' },
    updated_at: { type: 'string', format: 'date-time' },
  },
} as const

t.test('items, fields, twins, caching and preconditions', async (t) => {
  const app = await appWith()
  const item = await app.inject('/v1/users/1')
  t.equal(item.statusCode, 200)
  const written = `{"id":${big},"id_str":"${big}","name":"Ada","updated_at":"2026-01-01T00:00:00.000Z"}`
  t.equal(item.body, written, 'the exact integer, and its twin')
  t.equal(item.headers['last-modified'], 'Thu, 01 Jan 2026 00:00:00 GMT')
  const { etag } = item.headers
  t.type(etag, 'string')
  t.match(item.headers, { 'x-content-type-options': 'nosniff', ratelimit: /^"default";r=/ })

  t.strictSame((await app.inject('/v1/users/1?fields=name')).json(), { name: 'Ada' })
  const headers = { 'if-none-match': String(etag) }
  t.equal((await app.inject({ url: '/v1/users/1', headers })).statusCode, 304)
})

t.test('integers of a body, and lists', async (t) => {
  const app = await appWith()
  const payload = `{"id":${big}}`
  const response = await app.inject({ method: 'POST', url: '/v1/users', payload, headers: json })
  t.equal(response.body, `{"id":${big},"id_str":"${big}"}`)
  const list = await app.inject('/v1/users?limit=1')
  t.equal(list.json().users.length, 1)
  t.equal(list.headers.link, '</v1/users?limit=1&before_id=2>; rel="next"')
})

t.test('errors', async (t) => {
  const app = await appWith()
  const rows = [
    ['PATCH', '/v1/users/1', { ...json, 'if-match': '"x"' }, '{}', 412, 'precondition-failed'],
    ['GET', '/nothing', {}, '', 404, 'not-found'],
    ['GET', '/v1/users/%zz', {}, '', 400, 'uri-malformed'],
    ['DELETE', '/v1/users', {}, '', 405, 'method-not-allowed'],
    ['GET', '/v1/users/1', { accept: 'text/csv' }, '', 406, 'not-acceptable'],
    ['POST', '/v1/users', json, '{"a":', 400, 'body-malformed'],
    ['POST', '/v1/users', json, '{"id":"x"}', 400, 'validation'],
    ['GET', '/v1/faults', {}, '', 500, 'internal-server-error'],
  ] as const
  for (const [method, url, headers, payload, status, code] of rows) {
    const response = await app.inject({ method, url, headers, ...(payload !== '' && { payload }) })
    isProblem(t, injected(response), { status, code }, `${method} ${url}`)
  }
})

t.test('a method that is overridden', async (t) => {
  const app = await appWith()
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const [headers, payload] of [
    [form, '_method=PATCH&name=Eve'],
    [{ ...json, 'x-http-method-override': 'PATCH' }, '{}'],
  ] as const) {
    const response = await app.inject({ method: 'POST', url: '/v1/users/1', headers, payload })
    t.match(response.json(), { method: 'PATCH' }, payload)
  }
})

t.test('an operation, from its start to its result', async (t) => {
  const app = await appWith()
  const started = await app.inject({ method: 'POST', url: '/v1/jobs', payload: {} })
  t.equal(started.statusCode, 202)
  const status = String(started.headers.location)
  const done = await until(
    async () => app.inject(status),
    ({ statusCode }) => statusCode !== 200,
  )
  t.match(done, { statusCode: 303, headers: { location: '/v1/users/1' } })
})

async function appWith(): Promise<FastifyInstance> {
  // The types of the two releases are not the same to TypeScript.
  const app = Fastify(serverOptions() as object) as unknown as FastifyInstance
  await app.register(conventions)
  const updated_at = '2026-01-01T00:00:00.000Z'
  const item = async () => ({ id: big, name: 'Ada', updated_at })
  app.get('/v1/users/:id', { schema: { response: { 200: user } } }, item)
  app.operations.define('jobs.run', async () => ({ resource: '/v1/users/1' }))
  app.post('/v1/jobs', { config: { operations: { starts: 'jobs.run' } } }, async (_request, reply) =>
    reply.startOperation('jobs.run', {}),
  )
  const config = { caching: { validators: async () => ({ version: 1 }) } }
  app.patch('/v1/users/:id', { config }, async ({ method }) => ({ method, updated_at }))
  const list = [{ id: 2 }, { id: 1 }]
  app.get('/v1/users', { config: { lists: {} } }, async (_request, reply) => reply.list(list))
  const schema = {
    body: { type: 'object', properties: { id: user.properties.id } },
    response: { 200: user },
  }
  app.post('/v1/users', { schema }, async ({ body }) => body)
  app.get('/v1/faults', async () => Promise.reject(new Error('secret')))
  return app
}
