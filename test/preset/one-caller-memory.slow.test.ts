// Own process: measures memory
/** What is kept of a request is bounded, for callers that stay the same too. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import Fastify, { type InjectOptions } from 'fastify'
import t from 'tap'
import { readMemory } from '../../bench/memory.js'
import conventions, { serverOptions } from '../../src/index.js'

const id = { type: 'integer', minimum: 0, maximum: 99 }
const user = { type: 'object', properties: { id, name: { type: 'string' } } }
const users = { type: 'object', properties: { users: { type: 'array', items: user } } }

const requests: readonly (readonly [status: number, request: (number: number) => InjectOptions])[] = [
  [200, () => ({ url: '/v1/users/7', headers: { origin: 'https://app.example' } })],
  [200, () => ({ url: '/v1/users?limit=5&fields=name' })],
  [404, (number) => ({ url: `/v1/nothings/${number}` })],
  [400, (number) => ({ method: 'POST', url: '/v1/users', payload: { id: `x${number}` } })],
  [201, (number) => ({ ...created, headers: { 'idempotency-key': `"${number % 20}"` } })],
  [400, () => ({ method: 'POST', url: '/v1/users/7', headers: { 'x-http-method-override': 'TRACE' } })],
]
const created = { method: 'POST', url: '/v1/users', payload: { id: 1 } } as const

t.test('requests of one caller leave nothing in memory', async (t) => {
  const app = Fastify(serverOptions())
  t.teardown(() => app.close())
  await app.register(conventions, {
    rateLimit: { max: 1_000_000 },
    cors: { origin: ['https://app.example'] },
  })
  app.get('/v1/users/:id', { schema: { response: { 200: user } } }, async () => ({ id: 7, name: 'Ada' }))
  const list = async () => ({ users: [{ id: 7, name: 'Ada' }] })
  app.get('/v1/users', { schema: { response: { 200: users } } }, list)
  app.post('/v1/users', { schema: { body: user, response: { 201: user } } }, async (_request, reply) =>
    reply.code(201).send({ id: 1 }),
  )
  const send = async (times: number) => {
    for (let number = 0; number < times; number += 1) {
      for (const [status, request] of requests) {
        const { statusCode } = await app.inject(request(number))
        if (statusCode !== status) t.equal(statusCode, status, request(number).url as string)
      }
      // What a request leaves for the next turns of the event loop is not kept, only not yet let go.
      if (number % 20 === 0) await turnOfTheLoop()
    }
    await turnOfTheLoop()
    return readMemory().heap
  }
  const grown = -(await send(1_500)) + (await send(3_000))
  t.ok(grown < 1_200_000, `the heap grew by ${grown} bytes`)
})
