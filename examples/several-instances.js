// Start it twice, on two ports: both count against one quota, repeat one answer, and know one maintenance.
// REDIS_URL=redis://127.0.0.1:6379 PORT=3001 node examples/several-instances.js
import Fastify from 'fastify'
import conventions, { serverOptions } from 'fastify-conventions'
import { bullmqEngine } from 'fastify-conventions/engines/bullmq'
import {
  redisIdempotency,
  redisMaintenanceStore,
  redisOperationStore,
} from 'fastify-conventions/stores/redis'
import { Redis } from 'ioredis'

const url = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379'
// While Redis is not available, a command fails at once, and is not sent later.
const redis = new Redis(url, {
  lazyConnect: true,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 1_000,
})
redis.on('error', () => {}) // The plugins log an outage once.
await redis.connect()

const app = Fastify({ ...serverOptions(), logger: true })
await app.register(conventions, {
  rateLimit: { max: 100, redis },
  idempotency: { store: redisIdempotency(redis) },
  maintenance: { store: redisMaintenanceStore(redis) },
  operations: {
    store: redisOperationStore(redis),
    engine: bullmqEngine({ redis: url }),
    identify: () => null,
  },
})
app.addHook('onClose', () => redis.disconnect())

app.operations.define('mails.send', async () => ({ result: { sentBy: process.pid } }))

app.post('/v1/mails', { config: { operations: { starts: 'mails.send' } } }, async (_request, reply) =>
  reply.startOperation('mails.send'),
)

app.get('/v1/instances', async () => ({ instances: [{ pid: process.pid }] }))

process.once('SIGTERM', () => app.close())
await app.listen({ port: Number(process.env.PORT ?? 3000) })
