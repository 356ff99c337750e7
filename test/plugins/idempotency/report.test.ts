/** Mode `report`, and what the OpenAPI document shows. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { idempotency, memoryIdempotency } from '../../../src/plugins/idempotency/index.js'
import { until } from '../../support/until.js'
import { deferred, payment, serviceWith } from './service.js'

t.test('mode `report` changes no response, and counts what would', async (t) => {
  const { app, payments } = await serviceWith({ mode: 'report', required: true })
  const gate = deferred<void>()
  let running = 0
  app.post('/v1/slow', async () => {
    running++
    await gate.promise
    return 'done'
  })
  const first = await app.inject(payment('k'))
  const replayed = await app.inject(payment('k'))
  t.equal(payments(), 2, 'both run')
  t.notOk(replayed.headers['idempotent-replayed'])
  t.strictSame(Object.keys(replayed.headers), Object.keys(first.headers))
  for (const options of [{ payload: { amount: 6 } }, { headers: { 'idempotency-key': '' } }]) {
    t.equal((await app.inject(payment('k', options))).statusCode, 201)
  }
  t.equal((await app.inject(payment(null))).statusCode, 201)
  const slow = [payment('s', { url: '/v1/slow' }), payment('s', { url: '/v1/slow' })].map((one) =>
    app.inject(one),
  )
  await until(
    async () => running,
    (count) => count === 2,
  )
  gate.resolve()
  for (const { body } of await Promise.all(slow)) t.equal(body, 'done')
  const counted = app.conventions
    .report()
    .observations.map(({ rule, route, status, count }) => `${route} ${rule} ${status} ${count}`)
  t.strictSame(counted.sort(), [
    'POST /v1/payments key-invalid 400 2',
    'POST /v1/payments key-reused 422 1',
    'POST /v1/payments replayed undefined 1',
    'POST /v1/slow in-progress 409 1',
  ])
})

t.test('mode `report`: requests run while the store fails', async (t) => {
  const store = { ...memoryIdempotency(), claim: () => Promise.reject(new Error('away')) }
  const { app } = await serviceWith({ mode: 'report', store })
  t.equal((await app.inject(payment('k'))).statusCode, 201)
  t.match(app.conventions.report().observations, [{ rule: 'unavailable', count: 1 }])
})

type Document = {
  paths: Record<
    string,
    Record<string, { parameters?: unknown; responses: Record<string, { headers?: unknown }> }>
  >
}

t.test('the OpenAPI document has the header, its responses and Idempotent-Replayed', async (t) => {
  const app: FastifyInstance = Fastify()
  await app.register(swagger, { openapi: {} })
  await app.register(idempotency)
  const response = { 200: { type: 'object', properties: { id: { type: 'integer' } } } }
  const headers = { type: 'object', properties: { 'x-a': { type: 'string' } } }
  app.post('/v1/payments', { schema: { response } }, async () => ({ id: 1 }))
  app.put(
    '/v1/payments',
    { schema: { response, headers }, config: { idempotency: { required: true } } },
    async () => ({}),
  )
  app.patch('/v1/payments', { schema: { response }, config: { idempotency: false } }, async () => ({}))
  app.get('/v1/payments', { schema: { response } }, async () => ({}))
  await app.ready()
  const { post, put, patch, get } = (app.swagger() as unknown as Document).paths['/v1/payments'] ?? {}
  t.match(post?.parameters, [
    { in: 'header', name: 'Idempotency-Key', required: false, schema: { type: 'string', maxLength: 257 } },
  ])
  t.match(put?.parameters, [
    { in: 'header', name: 'x-a' },
    { in: 'header', name: 'Idempotency-Key', required: true },
  ])
  t.strictSame(Object.keys(post?.responses ?? {}), ['200', '400', '409', '422', '503'])
  t.match(post?.responses['200'], { headers: { 'Idempotent-Replayed': { schema: { type: 'string' } } } })
  for (const other of [patch, get]) {
    t.equal(other?.parameters, undefined)
    t.strictSame(Object.keys(other?.responses ?? {}), ['200'])
  }
  t.equal(
    (await app.inject({ method: 'POST', url: '/v1/payments' })).statusCode,
    200,
    'the key is not validated',
  )
})
