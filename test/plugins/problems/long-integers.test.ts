import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import { integerTwins, ProblemError, problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

const long = 9007199254740993n

t.test('large integers in an error body keep their digits', async (t) => {
  const app = await appThatSends((reply) => reply.code(409).send({ message: 'no', order_id: long }))
  const response = await app.inject('/v1/orders')

  isProblem(t, injected(response), { status: 409, code: 'conflict', detail: 'no' })
  t.match(response.payload, `"order_id":${long},"order_id_str":"${long}"`)
  t.equal(response.headers['content-length'], String(response.rawPayload.length))
})

t.test('large integers at any depth, and digits in strings, are kept', async (t) => {
  const table: ReadonlyArray<readonly [body: string, kept: string]> = [
    [`{"orders":[{"id":${long}}]}`, `"orders":[{"id":${long}}]`],
    [`{"id":-${long}}`, `"id":-${long}`],
    ['{"id":18446744073709551615}', '"id":18446744073709551615'],
    [`{"note":"id ${long}, not","id":${long}}`, `"note":"id ${long}, not","id":${long}`],
    [
      '{"share":0.1234567890123456,"count":9000000000000001}',
      '"share":0.1234567890123456,"count":9000000000000001',
    ],
    [`{"__proto__":{"id":${long}},"a":1}`, `"__proto__":{"id":${long}},"a":1`],
  ]
  for (const [body, kept] of table) {
    const app = await appThatSends((reply) => reply.code(409).type('application/json').send(body))
    const response = await app.inject('/v1/orders')
    isProblem(t, injected(response), { status: 409, code: 'conflict' }, body)
    t.ok(response.payload.includes(kept), `${body} in ${response.payload}`)
  }
})

t.test('large integers in invalid JSON are not kept', async (t) => {
  const app = await appThatSends((reply) => reply.code(409).type('application/json').send(`{"id":${long},}`))
  isProblem(t, injected(await app.inject('/v1/orders')), {
    status: 409,
    code: 'conflict',
    detail: 'Conflict',
  })
})

t.test('a ProblemError may have BigInts among its members', async (t) => {
  const app = await appThatSends(() => {
    throw new ProblemError('not-retryable', {
      status: 409,
      detail: 'no',
      extensions: { order_id: long, n: 5n },
    })
  })
  const response = await app.inject('/v1/orders')

  isProblem(t, injected(response), { status: 409, code: 'not-retryable', detail: 'no' })
  t.match(response.payload, `"order_id":${long},"n":5`)
})

async function appThatSends(send: (reply: FastifyReply) => unknown): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(problems)
  await app.register(integerTwins)
  app.get('/v1/orders', async (_request, reply) => send(reply))
  return app
}
