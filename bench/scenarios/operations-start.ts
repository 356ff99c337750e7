import { randomUUID } from 'node:crypto'
import { Queue } from 'bullmq'
import Fastify, { type FastifyInstance } from 'fastify'
import { type OperationsOptions, operations, serverOptions } from 'fastify-conventions'
import { bullmqEngine } from 'fastify-conventions/engines/bullmq'
import { pgBossEngine } from 'fastify-conventions/engines/pg-boss'
import { postgresOperationStore } from 'fastify-conventions/stores/postgres'
import { redisOperationStore } from 'fastify-conventions/stores/redis'
import { Redis } from 'ioredis'
import pg from 'pg'
import PgBoss from 'pg-boss'
import { postgresOfBench, redisOfBench } from '../fixtures/servers.js'
import { loadScenario } from '../scenario.js'

const { obstacle: noRedis, url } = await redisOfBench()
const { obstacle: noPostgres, url: connectionString } = await postgresOfBench()

/** The cost of starting an operation that other processes run, compared with a job of the queue alone. */
export default loadScenario({
  title: 'POST that starts an operation which other processes run, through BullMQ or pg-boss',
  obstacle: noRedis ?? noPostgres,
  clock: 'time',
  baseline: 'queueAdd',
  requestsPerRound: 10_000,
  requests: [{ method: 'POST', target: '/v1/works', status: 202 }],
  sameBody: false,
  // Two writes instead of one.
  bounds: { operations: { max: 2.2 }, operationsInPostgres: { max: 2.2, to: 'bossSend' } },
  variants: {
    queueAdd: {
      about: 'Fastify, and queue.add of BullMQ',
      build: async () => {
        const app = Fastify()
        const queue = new Queue('works', { connection: { url } })
        app.addHook('onClose', () => queue.close())
        app.post('/v1/works', async (_request, reply) => {
          const id = randomUUID()
          await queue.add('work', {}, { jobId: id, removeOnComplete: true, removeOnFail: true })
          return reply.code(202).send({ id, status: 'In progress', created_at: new Date().toISOString() })
        })
        return app
      },
    },
    operations: {
      about: 'operations: its record in Redis, then its job in BullMQ',
      build: withOperations,
    },
    bossSend: {
      about: 'Fastify, and boss.send of pg-boss',
      build: async () => {
        const app = Fastify()
        const boss = new PgBoss({ connectionString, supervise: false, schedule: false })
        await boss.start()
        await boss.createQueue('works')
        app.addHook('onClose', () => boss.stop())
        app.post('/v1/works', async (_request, reply) => {
          const id = randomUUID()
          await boss.send('works', {}, { id })
          return reply.code(202).send({ id, status: 'In progress', created_at: new Date().toISOString() })
        })
        return app
      },
    },
    operationsInPostgres: {
      about: 'operations: its record in PostgreSQL, then its job in pg-boss',
      build: async () => {
        const pool = new pg.Pool({ connectionString })
        const store = postgresOperationStore(pool)
        await store.migrate()
        const engine = pgBossEngine({ postgres: pool, migrate: true, work: false, maxQueued: 10_000_000 })
        const app = await startsOperations({ store, engine })
        app.addHook('onClose', () => pool.end())
        return app
      },
    },
  },
})

async function withOperations(): Promise<FastifyInstance> {
  const redis = new Redis(url)
  const app = await startsOperations({
    store: redisOperationStore(redis),
    engine: bullmqEngine({ redis: url, work: false, maxQueued: 10_000_000 }),
  })
  app.addHook('onClose', () => redis.disconnect())
  return app
}

async function startsOperations(
  backend: Pick<OperationsOptions, 'store' | 'engine'>,
): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  // No process runs them: with a shorter lease the sweeper would check them during the rounds.
  await app.register(operations, { ...backend, lease: '1 hour' })
  app.operations.define('work', async () => {})
  app.post('/v1/works', async (_request, reply) => reply.startOperation('work'))
  return app
}
