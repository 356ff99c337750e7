import Fastify, { type FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import conventions, { serverOptions } from '../../src/index.js'
import { injected, isProblem } from '../support/problem.js'

/**
 * A service with the preset, for tests that run it in another form: minified, on a second copy of Fastify, or with plugins
 * of two copies of this package.
 */
export async function buildService(
  create = Fastify,
  register: (app: FastifyInstance) => PromiseLike<unknown> = (app) => app.register(conventions),
): Promise<FastifyInstance> {
  const app = create({ ...serverOptions(), bodyLimit: 10_000 }) as FastifyInstance
  await register(app)
  const text = { type: 'string' }
  const date = { type: 'string', format: 'date-time' }
  const id = { type: 'integer', format: 'int64' }
  const user = { type: 'object', properties: { id, name: text, password: text, updated_at: date } }
  const updated_at = '2026-11-20T08:00:00Z'
  const ada = { id: 9007199254740993n, name: 'Ada', password: 'secret', updated_at }
  const config = { fields: { hidden: { password: true } } } as const
  app.get('/v1/users/:id', { schema: { response: { 200: user } }, config }, async () => ada)
  const body = { type: 'object', required: ['name'], properties: { name: text } }
  app.post('/v1/users', { schema: { body } }, (_, reply) => reply.code(201).send({ name: 'Ada' }))
  app.get('/v1/failures', async () => Promise.reject(new Error('broken')))
  return app
}

/** A service whose route is declared before the preset has been loaded. */
export function buildUnawaited(): FastifyInstance {
  const app = Fastify()
  app.register(conventions)
  app.get('/v1/users', async () => ({}))
  return app
}

const json = 'application/json'
// Those of scripts/smoke.mjs, and what hooks do not see.
const refusals = [
  [404, 'path-uppercase', '/v1/Users'],
  [404, 'path-encoded', '/v1/%55sers'],
  [400, 'uri-malformed', '/%zz'],
  [404, 'not-found', '/nope'],
  [405, 'method-not-allowed', '/v1/failures', json, '{}'],
  [400, 'body-malformed', '/v1/users', json, '{"name":'],
  [400, 'validation', '/v1/users', json, '{}'],
  [413, 'content-too-large', '/v1/users', json, JSON.stringify({ name: 'x'.repeat(20_000) })],
  [415, 'unsupported-media-type', '/v1/users', 'text/plain', 'hello'],
  [400, 'fields-invalid', '/v1/users/1?fields=zz'],
  [500, 'internal-server-error', '/v1/failures'],
] as const

/** Checks that a service of `buildService()` keeps the conventions, and closes it. */
export async function keepsConventions(t: Test, app: FastifyInstance): Promise<void> {
  for (const [status, code, url, type, payload] of refusals) {
    const post = { method: 'POST', headers: { 'content-type': type ?? '' }, payload: payload ?? '' } as const
    const answer = await app.inject({ url, ...(type === undefined ? {} : post) })
    isProblem(t, injected(answer), { status, code })
  }
  const read = await app.inject('/v1/users/1')
  const ada =
    '"id":9007199254740993,"id_str":"9007199254740993","name":"Ada","updated_at":"2026-11-20T08:00:00Z"'
  t.equal(read.payload, `{${ada}}`, 'exact integers with their twins, and no hidden field')
  t.equal((await app.inject('/v1/users/1?fields=name')).payload, '{"name":"Ada"}')
  const headers = { 'if-none-match': String(read.headers.etag) }
  for (const method of ['GET', 'HEAD'] as const)
    t.equal((await app.inject({ method, url: '/v1/users/1', headers })).statusCode, 304, method)
  await app.close()
}
