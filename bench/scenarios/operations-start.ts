import { randomUUID } from 'node:crypto'
import { Queue } from 'bullmq'
import Fastify, { type FastifyInstance } from 'fastify'
import { operations, serverOptions } from 'fastify-conventions'
import { bullmqEngine } from 'fastify-conventions/engines/bullmq'
import { redisOperationStore } from 'fastify-conventions/stores/redis'
import { Redis } from 'ioredis'
import { obstacleToRedis, startRedis } from '../../test/support/redis.js'
import { loadScenario } from '../scenario.js'

// One server for all variants: it is started by the process that runs the bench, and ends with it.
const obstacle = await obstacleToRedis()
if (obstacle === null) process.env.BENCH_REDIS_URL ??= (await startRedis()).url
const url = process.env.BENCH_REDIS_URL ?? ''

/** The cost of starting an operation that other processes run, compared with a job of the queue alone. */
export default loadScenario({
  title: 'POST that starts an operation through BullMQ on Redis, which other processes run',
  obstacle,
  clock: 'time',
  baseline: 'queueAdd',
  requestsPerRound: 10_000,
  requests: [{ method: 'POST', target: '/v1/works', status: 202 }],
  sameBody: false,
  // Two writes instead of one.
  bounds: { operations: { max: 2.2 } },
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
  },
})

async function withOperations(): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  const redis = new Redis(url)
  app.addHook('onClose', () => redis.disconnect())
  await app.register(operations, {
    store: redisOperationStore(redis),
    engine: bullmqEngine({ redis: url, work: false, maxQueued: 10_000_000 }),
    // No process runs them: with a shorter lease the sweeper would check them during the rounds.
    lease: '1 hour',
  })
  app.operations.define('work', async () => {})
  app.post('/v1/works', async (_request, reply) => reply.startOperation('work'))
  return app
}
