/** Decisions §3 “Integer twins”, the inward rows, over a real socket: what the handler gets, told on raw bytes. */
import Fastify from 'fastify'
import t from 'tap'
import { integerTwins, problems } from '../../src/index.js'
import { serve } from '../support/serve.js'

const int64 = { type: 'integer', format: 'int64' }
const body = {
  type: 'object',
  required: ['id'],
  additionalProperties: false,
  properties: { id: int64, friend_ids: { type: 'array', items: int64 }, note: { type: 'string' } },
}
const integers = { type: 'object', properties: { id: int64, user_id: int64 } }

/** A service that says what it got: BigInts as their digits with an `n`. */
async function service(t: Parameters<typeof serve>[0]) {
  const app = Fastify()
  await app.register(problems)
  await app.register(integerTwins)
  const tell = (value: unknown): string =>
    JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${one}n` : one))
  app.post('/v1/orders', { schema: { body } }, async (request) => ({ got: tell(request.body) }))
  app.get('/v1/orders/:id', { schema: { params: integers, querystring: integers } }, async (request) => ({
    got: tell([request.params, request.query]),
  }))
  return serve(t, app)
}

const post = (payload: string) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: payload,
})

const taken: readonly (readonly [payload: string, got: unknown])[] = [
  ['{"id":9007199254740993}', { id: '9007199254740993n' }],
  ['{"id":-9223372036854775808}', { id: '-9223372036854775808n' }],
  ['{"id":5}', { id: '5n' }],
  ['{"id_str":"9007199254740993"}', { id: '9007199254740993n' }],
  ['{"id":9007199254740992,"id_str":"9007199254740993"}', { id: '9007199254740993n' }],
  ['{"id":9007199254740993,"id_str":"9007199254740993"}', { id: '9007199254740993n' }],
  ['{"id":1,"friend_ids":[2,9007199254740993]}', { id: '1n', friend_ids: ['2n', '9007199254740993n'] }],
  [
    '{"id":9007199254740992,"friend_ids":[9007199254740993,9007199254740992]}',
    { id: '9007199254740992n', friend_ids: ['9007199254740993n', '9007199254740992n'] },
  ],
  [
    '{"id":9007199254740993,"note":"9007199254740992"}',
    { id: '9007199254740993n', note: '9007199254740992' },
  ],
  ['{"id":1,"note":"12345678901234567890"}', { id: '1n', note: '12345678901234567890' }],
]

t.test('a declared integer of a body is the exact BigInt', async (t) => {
  const { origin } = await service(t)
  for (const [payload, got] of taken) {
    const answer = await fetch(`${origin}/v1/orders`, post(payload))
    t.same(JSON.parse(((await answer.json()) as { got: string }).got), got, payload)
  }
})

const refused: readonly (readonly [payload: string, code: string])[] = [
  ['{"id":5,"id_str":"9007199254740993"}', 'integer-twin-mismatch'],
  ['{"id":1e400}', 'validation'],
  [`{"id":${'9'.repeat(10_000)}}`, 'validation'],
  ['{"id":-0}', 'validation'],
  ['{"id":9223372036854775808}', 'validation'],
  ['{"id":-9223372036854775809}', 'validation'],
  ['{"id":1.5}', 'validation'],
  ['{"id_str":"abc"}', 'validation'],
  ['{"id":9007199254740993,"__proto__":{}}', 'body-malformed'],
  ['{"id":9007199254740992,"friend_ids":[9007199254740993],"__proto__":{}}', 'body-malformed'],
  ['{"id":9007199254740993', 'body-malformed'],
]

t.test('what is no integer of 64 bits is a 400', async (t) => {
  const { origin } = await service(t)
  for (const [payload, code] of refused) {
    const answer = await fetch(`${origin}/v1/orders`, post(payload))
    t.match([answer.status, await answer.json()], [400, { code }], payload.slice(0, 60))
  }
})

t.test('path and query integers are exact', async (t) => {
  const { origin } = await service(t)
  const answer = await fetch(`${origin}/v1/orders/9007199254740993?user_id=9223372036854775807`)
  const { got } = (await answer.json()) as { got: string }
  t.same(JSON.parse(got), [{ id: '9007199254740993n' }, { user_id: '9223372036854775807n' }])
  for (const path of ['/v1/orders/9223372036854775808', '/v1/orders/007', '/v1/orders/1?user_id=1e3']) {
    const { status } = await fetch(origin + path)
    t.equal(status, 400, path)
  }
})

t.test('a body that comes in pieces is exact too', async (t) => {
  const { origin } = await service(t)
  const pieces = ['{"id":90071992', '54740993,"note":"caf', 'é"}'].map((piece) =>
    new TextEncoder().encode(piece),
  )
  const stream = new ReadableStream({
    pull(controller) {
      const piece = pieces.shift()
      if (piece === undefined) controller.close()
      else controller.enqueue(piece)
    },
  })
  const init = { ...post(''), body: stream, duplex: 'half' } as RequestInit
  const { got } = (await (await fetch(`${origin}/v1/orders`, init)).json()) as { got: string }
  t.same(JSON.parse(got), { id: '9007199254740993n', note: 'café' })
})
