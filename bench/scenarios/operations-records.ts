import Fastify, { type FastifyInstance } from 'fastify'
import { memoryOperationStore, type OperationStore, operations, serverOptions } from 'fastify-conventions'
import { redisOperationStore } from 'fastify-conventions/stores/redis'
import { Redis } from 'ioredis'
import { obstacleToRedis, startRedis } from '../../test/support/redis.js'
import { operationRecord, startedAt } from '../fixtures/operation-record.js'
import { loadScenario } from '../scenario.js'

// One server for all variants: the process that runs the bench starts it, and it ends with that process.
const obstacle = await obstacleToRedis()
if (obstacle === null) process.env.BENCH_REDIS_URL ??= (await startRedis()).url
const url = process.env.BENCH_REDIS_URL ?? ''

const [few, many] = [100, 100_000]

/** The cost of a poll, by the number of records in the store. */
export default loadScenario({
  title: 'a poll of an operation, with 100 and with 100,000 records in the store',
  obstacle,
  baseline: 'memory',
  requests: [{ target: `/v1/operations/${idOf(1)}/status`, headers: { accept: 'application/json' } }],
  sameBody: true,
  bounds: { memoryFull: { max: 1.1 }, redisFull: { max: 1.1, to: 'redis' } },
  variants: {
    memory: {
      about: '100 records in memory',
      build: () => withRecords(memoryOperationStore(), few),
    },
    memoryFull: {
      about: '100,000 records in memory',
      build: () => withRecords(memoryOperationStore(), many),
    },
    redis: {
      about: '100 records in Redis',
      build: () => inRedis(few),
    },
    redisFull: {
      about: '100,000 records in Redis',
      build: () => inRedis(many),
    },
  },
})

async function inRedis(count: number): Promise<FastifyInstance> {
  const redis = new Redis(url)
  const app = await withRecords(redisOperationStore(redis, { keyPrefix: `records-${count}` }), count)
  app.addHook('onClose', () => redis.disconnect())
  return app
}

async function withRecords(store: OperationStore, count: number): Promise<FastifyInstance> {
  for (let first = 0; first < count; first += 1_000) {
    const page = Array.from({ length: Math.min(count - first, 1_000) }, (_, index) => idOf(first + index))
    await Promise.all(page.map((id) => store.create(operationRecord(id), null)))
  }
  const app = Fastify(serverOptions())
  await app.register(operations, {
    store,
    polls: false,
    retryAfter: 30,
    now: () => startedAt,
  })
  // No record is due, so the records stay as they are.
  app.operations.define('payments.retry', { cancellable: true }, async () => {})
  return app
}

function idOf(number: number): string {
  return number.toString(16).padStart(32, '0')
}
