/** Mode `report`, and what the OpenAPI document shows. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { idempotency, memoryIdempotency } from '../../../src/plugins/idempotency/index.js'
import { withoutReferences } from '../../support/openapi.js'
import { payment, serviceWith } from './service.js'

t.test('mode `report` changes no response, and counts the keys that would be refused', async (t) => {
  const store = { ...memoryIdempotency(), claim: () => Promise.reject(new Error('not asked')) }
  const { app, payments } = await serviceWith({ mode: 'report', required: true, store })
  const first = await app.inject(payment('k'))
  const again = await app.inject(payment('k'))
  t.equal(payments(), 2, 'both run')
  t.notOk(again.headers['idempotent-replayed'])
  t.strictSame(Object.keys(again.headers), Object.keys(first.headers))
  t.equal((await app.inject(payment('k', { headers: { 'idempotency-key': '' } }))).statusCode, 201)
  t.equal((await app.inject(payment(null))).statusCode, 201)
  const counted = app.conventions.report().observations
  t.match(counted, [{ rule: 'key-invalid', route: 'POST /v1/payments', status: 400, count: 2 }])
})

t.test('the OpenAPI document has the header, its responses and Idempotent-Replayed', async (t) => {
  const app: FastifyInstance = Fastify()
  await app.register(swagger, { openapi: {} })
  await app.register(idempotency)
  const response = { 200: { type: 'object', properties: { id: { type: 'integer' } } } }
  const headers = { type: 'object', properties: { 'x-a': { type: 'string' } } }
  app.post('/v1/payments', { schema: { response } }, async () => ({ id: 1 }))
  const config = { idempotency: { required: true } }
  app.put('/v1/payments', { schema: { response, headers }, config }, async () => ({}))
  app.patch('/v1/payments', { schema: { response }, config: { idempotency: false } }, async () => ({}))
  app.get('/v1/payments', { schema: { response } }, async () => ({}))
  await app.ready()
  const { post, put, patch, get } = withoutReferences(app.swagger()).paths?.['/v1/payments'] ?? {}
  t.match(post?.parameters, [
    { in: 'header', name: 'Idempotency-Key', schema: { type: 'string', maxLength: 257 } },
  ])
  t.match(put?.parameters, [
    { in: 'header', name: 'x-a' },
    { in: 'header', name: 'Idempotency-Key', required: true },
  ])
  t.strictSame(Object.keys(post?.responses ?? {}), ['200', '400', '409', '422', '503'])
  const header = { headers: { 'Idempotent-Replayed': { schema: { type: 'string' } } } }
  t.match(post?.responses?.['200'], header)
  const headersOf409 = {
    'Retry-After': { schema: { type: 'integer' } },
    Location: { schema: { type: 'string' } },
  }
  t.match(post?.responses?.['409'], { headers: headersOf409 })
  for (const other of [patch, get]) {
    t.equal(other?.parameters, undefined)
    t.strictSame(Object.keys(other?.responses ?? {}), ['200'])
  }
  const withoutKey = await app.inject({ method: 'POST', url: '/v1/payments' })
  t.equal(withoutKey.statusCode, 200, 'the key is not validated')
})
