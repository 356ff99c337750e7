/** Integers of a request. What is an integer, and what is a twin, is told in `input/`. */
import Fastify from 'fastify'
import t from 'tap'
import { integerTwins, problems } from '../../../src/index.js'
import { keepLogs } from '../../support/logs.js'
import { serve } from '../../support/serve.js'

const int64 = { type: 'integer', format: 'int64' }
const body = {
  type: 'object',
  required: ['id'],
  additionalProperties: false,
  properties: { id: int64, friend_ids: { type: 'array', items: int64 }, note: { type: 'string' } },
}

t.test('all errors of one kind are sent at once', async (t) => {
  const customOptions = { allErrors: true, removeAdditional: false, coerceTypes: false } as const
  const app = Fastify({ ajv: { customOptions } })
  await app.register(problems)
  await app.register(integerTwins)
  app.post('/v1/orders', { schema: { body: { ...body, required: ['id', 'note'] } } }, async () => ({}))
  const table: readonly (readonly [payload: string, code: string, faults: readonly string[]])[] = [
    // In the words of the validator: of the type, and of the format.
    ['{"id":1.5,"extra":1}', 'validation', ['/id', '/id', '/note', '/extra']],
    ['{"id":5,"id_str":"6","note":"a"}', 'integer-twin-mismatch', ['/id_str']],
    ['{"id_str":"x","note":"a"}', 'validation', ['/id_str']],
    ['{"id":1,"friend_ids":[1e30],"note":"a"}', 'validation', ['/friend_ids/0']],
  ]
  for (const [payload, code, faults] of table) {
    const headers = { 'content-type': 'application/json' }
    const document = (await app.inject({ method: 'POST', url: '/v1/orders', headers, payload })).json()
    t.equal(document.code, code, payload)
    const found = document.errors.map(({ pointer }: { readonly pointer: string }) => pointer)
    t.strictSame(found.sort(), [...faults].sort(), payload)
  }
})

t.test('the size of a refusal is bounded, whatever names the body has', async (t) => {
  const logs = keepLogs('info')
  const app = Fastify({ logger: logs.logger })
  await app.register(problems)
  await app.register(integerTwins)
  const map = { type: 'object', additionalProperties: { type: 'array', items: int64 } }
  app.post('/v1/orders', { schema: { body: map } }, async () => ({}))
  const payload = `{"${'k'.repeat(100_000)}":[${Array.from({ length: 60 }, () => '1e30')}]}`
  const headers = { 'content-type': 'application/json' }
  const response = await app.inject({ method: 'POST', url: '/v1/orders', headers, payload })
  t.match(response.json(), { status: 400, code: 'validation', errors: [{ pointer: /^\/k+…$/ }] })
  t.equal(response.payload.length < 5_000, true, `${response.payload.length} characters are answered`)
  t.equal(JSON.stringify(logs.lines).length < 10_000, true, 'what is logged')
})

t.test('a body in several chunks, with a byte order mark, is exact too', async (t) => {
  const app = Fastify()
  await app.register(integerTwins)
  app.post('/v1/orders', { schema: { body } }, async (request) => request.body)
  const { origin } = await serve(t, app)
  const pieces = ['\ufeff{"id":90071992', '54740993,"note":"caf', 'é"}']
  const stream = new ReadableStream({
    pull(controller) {
      const piece = pieces.shift()
      if (piece === undefined) controller.close()
      else controller.enqueue(new TextEncoder().encode(piece))
    },
  })
  const headers = { 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: stream, duplex: 'half' } as RequestInit
  const answer = await (await fetch(`${origin}/v1/orders`, init)).text()
  t.equal(answer, '{"id":9007199254740993,"id_str":"9007199254740993","note":"café"}')
})
