/** The whole preset on Fastify 5.12.2, the oldest release that the package supports. */
import Fastify from 'fastify-oldest'
import t from 'tap'
import { buildService, keepsConventions } from '../package/bundled-service.js'
import { injected, isProblem } from '../support/problem.js'
import { until } from '../support/until.js'

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }

t.test('on the oldest Fastify, a service keeps the conventions', async (t) => {
  // The types of the two releases are not the same to TypeScript.
  const app = await buildService(Fastify as never)
  const id = { type: 'integer', format: 'int64' }
  const account = { type: 'object', properties: { id } }
  const schema = { body: account, response: { 200: account } }
  app.post('/v1/accounts', { schema }, async ({ body }) => body)
  app.get('/v1/lists', { config: { lists: {} } }, (_request, reply) => reply.list([{ id: 2 }, { id: 1 }]))
  const config = { caching: { validators: () => ({ version: 1 }) } }
  app.patch('/v1/accounts/:id', { config }, async ({ method }) => ({ method }))
  app.operations.define('run', async () => ({ resource: '/v1/users/1' }))
  app.post('/v1/jobs', (_request, reply) => reply.startOperation('run'))

  const payload = '{"id":9007199254740993}'
  const echoed = await app.inject({ method: 'POST', url: '/v1/accounts', payload, headers: json })
  t.equal(echoed.body, '{"id":9007199254740993,"id_str":"9007199254740993"}')
  const { headers } = await app.inject('/v1/lists?limit=1')
  t.match(headers, { link: '</v1/lists?limit=1&before_id=2>; rel="next"', ratelimit: /^"default";r=/ })
  for (const [headers, payload] of [
    [form, '_method=PATCH&name=Eve'],
    [{ ...json, 'x-http-method-override': 'PATCH' }, '{}'],
  ] as const) {
    const answer = await app.inject({ method: 'POST', url: '/v1/accounts/1', headers, payload })
    t.match(answer.json(), { method: 'PATCH' }, payload)
  }
  const stale = { ...json, 'if-match': '"x"' }
  const refused = await app.inject({ method: 'PATCH', url: '/v1/accounts/1', headers: stale, payload: {} })
  isProblem(t, injected(refused), { status: 412, code: 'precondition-failed' })
  const csv = await app.inject({ url: '/v1/users/1', headers: { accept: 'text/csv' } })
  isProblem(t, injected(csv), { status: 406, code: 'not-acceptable' })

  const started = await app.inject({ method: 'POST', url: '/v1/jobs' })
  t.equal(started.statusCode, 202)
  const done = await until(
    () => app.inject(String(started.headers.location)),
    ({ statusCode }) => statusCode !== 200,
  )
  t.match(done, { statusCode: 303, headers: { location: '/v1/users/1' } })
  await keepsConventions(t, app)
})
