/** What a boot says about a store that cannot be used. */
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import t from 'tap'
import { idempotency, operations } from '../../src/index.js'
import { postgresIdempotency, postgresOperationStore } from '../../src/stores/postgres.js'
import { redisIdempotency, redisOperationStore } from '../../src/stores/redis.js'

const code = 'ECONNREFUSED'
const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code })
const poolThatFails = (error: Error) => ({ query: () => Promise.reject(error) })

t.test('the error names the convention and the reason, and what to do about a missing table', async (t) => {
  const refusing = poolThatFails(refused)
  // As Node.js does for a host with several addresses.
  const refusingTwice = poolThatFails(Object.assign(new AggregateError([refused, refused]), { code }))
  const empty = poolThatFails(Object.assign(new Error('there is no relation'), { code: '42P01' }))
  const offline = new Redis({ port: 1, lazyConnect: true, enableOfflineQueue: false })
  offline.on('error', () => {})
  t.teardown(() => offline.disconnect())
  const why = (reason: string) => RegExp(`^(idempotency|operations): the store cannot be used: ${reason}`)
  const hasNoTable = why('the table \\w+ cannot be used: there is no relation\\. Run migrate\\(\\)')
  const hasNoRedis = why(
    "Redis does not answer \\(is it up, and the client connected\\?\\): Stream isn't writeable",
  )
  const table = [
    [postgresIdempotency(refusing), postgresOperationStore(refusing), why(`${refused.message}$`)],
    [postgresIdempotency(refusingTwice), postgresOperationStore(refusingTwice), why(`${code}$`)],
    [postgresIdempotency(empty), postgresOperationStore(empty), hasNoTable],
    [redisIdempotency(offline), redisOperationStore(offline), hasNoRedis],
  ] as const
  for (const [ofKeys, ofOperations, message] of table) {
    const keys = Fastify()
    keys.register(idempotency, { store: ofKeys })
    keys.register(async (app) => void app.post('/v1/orders', async () => ({})))
    await t.rejects(async () => keys.ready(), { message }, `idempotency: ${message}`)
    const work = Fastify()
    work.register(operations, { store: ofOperations })
    work.register(async (app) => void app.operations.define('work', async () => {}))
    await t.rejects(async () => work.ready(), { message }, `operations: ${message}`)
  }
})
