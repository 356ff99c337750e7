import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import { integerTwins, ProblemError, problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

const long = 9007199254740993n

t.test('digits at any depth, and in strings, are kept', async (t) => {
  const numbers = `"debt":-${long},"most":18446744073709551615,"count":9000000000000001`
  const deep = `"orders":[{"id":${long}}],"__proto__":{"id":${long}}`
  const kept = `${deep},"note":"id ${long}, not","share":0.1234567890123456,${numbers}`
  const app = await appThatSends((reply) => reply.code(409).type('application/json').send(`{${kept}}`))
  const response = await app.inject('/v1/orders')
  isProblem(t, injected(response), { status: 409, code: 'conflict' })
  t.match(response.payload, kept)
  t.equal(response.headers['content-length'], String(response.rawPayload.length))
})

t.test('a ProblemError may have BigInts among its members', async (t) => {
  const extensions = { order_id: long, n: 5n }
  const error = new ProblemError('not-retryable', { status: 409, detail: 'no', extensions })
  const response = await (await appThatSends(() => Promise.reject(error))).inject('/v1/orders')
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
