import Fastify, { type FastifyInstance } from 'fastify'
import { memoryOperationStore, type OperationStore, operations, serverOptions } from 'fastify-conventions'
import { postgresOperationStore } from 'fastify-conventions/stores/postgres'
import { redisOperationStore } from 'fastify-conventions/stores/redis'
import { Redis } from 'ioredis'
import pg from 'pg'
import { operationRecord, startedAt } from '../fixtures/operation-record.js'
import { postgresOfBench, redisOfBench } from '../fixtures/servers.js'
import { loadScenario } from '../scenario.js'

const { obstacle: noRedis, url } = await redisOfBench()
const { obstacle: noPostgres, url: connectionString } = await postgresOfBench()

const [few, many] = [100, 100_000]

/** The cost of a poll, by the number of records in the store. */
export default loadScenario({
  title: 'a poll of an operation, with 100 and with 100,000 records in the store',
  obstacle: noRedis ?? noPostgres,
  baseline: 'memory',
  requests: [{ target: `/v1/operations/${idOf(1)}/status`, headers: { accept: 'application/json' } }],
  sameBody: true,
  bounds: {
    memoryFull: { max: 1.1 },
    redisFull: { max: 1.1, to: 'redis' },
    postgresFull: { max: 1.1, to: 'postgres' },
  },
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
    postgres: {
      about: '100 records in PostgreSQL',
      build: () => inPostgres(few),
    },
    postgresFull: {
      about: '100,000 records in PostgreSQL',
      build: () => inPostgres(many),
    },
  },
})

async function inRedis(count: number): Promise<FastifyInstance> {
  const redis = new Redis(url)
  const app = await withRecords(redisOperationStore(redis, { keyPrefix: `records-${count}` }), count)
  app.addHook('onClose', () => redis.disconnect())
  return app
}

async function inPostgres(count: number): Promise<FastifyInstance> {
  const schema = `records_${count}`
  const pool = new pg.Pool({ connectionString, options: `-c search_path=${schema}` })
  await pool.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
  const store = postgresOperationStore(pool)
  await store.migrate()
  const app = await withRecords(store, count)
  app.addHook('onClose', () => pool.end())
  return app
}

/** A store of a server has the records already if another process of the bench has filled it. */
async function withRecords(store: OperationStore, count: number): Promise<FastifyInstance> {
  const isFilled = (await store.get(idOf(count - 1))) !== null
  for (let first = 0; first < (isFilled ? 0 : count); first += 1_000) {
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
