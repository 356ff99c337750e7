import Fastify from 'fastify'
import conventions, { serverOptions } from 'fastify-conventions'
import { user, userSchema, users } from '../fixtures/user.js'
import { type BenchRequest, memoryScenario } from '../scenario.js'

const first = 100_000
const last = 1_000_000

const accept = 'application/json'
const version = 'v7'
/** A caller without any quota: each of its requests is a 429. */
const refused = '192.0.2.1'

const schemaOfPayment = {
  body: { type: 'object', properties: { amount: { type: 'integer' } } },
  response: { 201: { type: 'object', properties: { id: { type: 'integer' }, status: { type: 'string' } } } },
}

/**
 * What stays of requests that are over: what is kept by caller, key, path or selection has to be bounded. After the first
 * reading all bounds are reached.
 */
export default memoryScenario({
  title:
    'memory of a service with all conventions, after mixed requests of new and of known callers, with ever new keys, ids and fields',
  baseline: 'heapFirst',
  bounds: { heapLast: { max: 1.1 }, rssLast: { max: 1.1, to: 'rssFirst' } },
  variants: {
    heapFirst: { about: 'heap and buffers after 100,000 requests', after: first, of: 'heap' },
    heapLast: { about: 'heap and buffers after 1,000,000 requests', after: last, of: 'heap' },
    rssFirst: { about: 'resident set after 100,000 requests', after: first, of: 'rss' },
    rssLast: { about: 'resident set after 1,000,000 requests', after: last, of: 'rss' },
  },
  request: mixedRequest,
  build: async () => {
    const app = Fastify({ ...serverOptions(), trustProxy: true })
    await app.register(conventions, {
      cors: { origin: ['https://app.example'] },
      rateLimit: { max: ({ ip }) => (ip === refused ? 0 : 1_000) },
    })
    app.get(
      '/v1/users/:id',
      { schema: { response: { 200: userSchema } }, config: { caching: { validators: () => ({ version }) } } },
      async () => user,
    )
    app.get(
      '/v1/users',
      {
        schema: {
          response: { 200: { type: 'object', properties: { users: { type: 'array', items: userSchema } } } },
        },
        config: { lists: { member: 'users', total: false } },
      },
      async (_request, reply) => reply.list(users.slice(0, 5)),
    )
    app.post('/v1/payments', { schema: schemaOfPayment }, async (_request, reply) =>
      reply.code(201).send({ id: 1, status: 'paid' }),
    )
    return app
  },
})

function mixedRequest(index: number): BenchRequest {
  const turn = index >> 3
  // Each caller sends one request of each kind. Those that come after the first reading come again and again.
  const number = index < first ? turn : turn % 5_000
  const caller = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`
  const headers = { accept, 'x-forwarded-for': caller }
  switch (index % 8) {
    case 0:
      return { target: `/v1/users/${turn}`, headers: { ...headers, origin: 'https://app.example' } }
    case 1:
      return { target: `/v1/users?limit=5&fields=${someFields(turn)}`, headers }
    case 2:
      return {
        target: `/v1/users/${turn}`,
        headers: { ...headers, 'if-none-match': `"${version}"` },
        status: 304,
      }
    case 3:
      return { target: `/v1/nothings/${turn}`, headers, status: 404 }
    case 4:
      return payment(turn, headers)
    case 5:
      // A replay, unless the key is new.
      return payment(Math.max(0, turn - 100), headers)
    case 6:
      return { target: `/v1/users/${turn}`, headers: { ...headers, 'x-forwarded-for': refused }, status: 429 }
    default:
      return { target: `/v1/users?limit=${turn}x`, headers, status: 400 }
  }
}

/** Another selection for each of many turns. */
function someFields(turn: number): string {
  const names = Object.keys(userSchema.properties)
  return ['id', ...names.filter((name, bit) => name !== 'id' && (turn >> bit) & 1)].join(',')
}

function payment(key: number, headers: Readonly<Record<string, string>>): BenchRequest {
  return {
    method: 'POST',
    target: '/v1/payments',
    headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': `"key-${key}"` },
    body: '{"amount":5}',
    status: 201,
  }
}
