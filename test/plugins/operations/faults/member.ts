/** One process of a fleet: serves requests, or runs operations. What it is to be comes as JSON in its first argument. */
import { setTimeout as pause } from 'node:timers/promises'
import Fastify from 'fastify'
import {
  type OperationEngine,
  type OperationStore,
  operations,
  problems,
  serverOptions,
} from 'fastify-conventions'
import { bullmqEngine } from 'fastify-conventions/engines/bullmq'
import { postgresOperationStore } from 'fastify-conventions/stores/postgres'
import { redisOperationStore } from 'fastify-conventions/stores/redis'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { MemberSetUp } from './fleet.js'

const setUp = JSON.parse(process.argv[2] ?? '') as MemberSetUp
const app = Fastify({ ...serverOptions(), logger: { level: 'warn' }, disableRequestLogging: true })
const { store, engine } = await backendOf(setUp)

await app.register(problems)
await app.register(operations, { store, engine, lease: setUp.lease, storeTimeout: 2_000, polls: false })
app.operations.define<{ milliseconds: number }>(
  'work',
  { cancellable: true, maxRuns: 20 },
  async ({ input, signal, progress, operationId, run }) => {
    console.log(`run ${operationId} ${run}`)
    for (let step = 1; step <= 5; step += 1) {
      await pause(input.milliseconds / 5, undefined, { signal })
      progress(step / 5)
    }
    return { result: { run } }
  },
)
app.post('/v1/works', async (request, reply) => reply.startOperation('work', request.body))

process.once('SIGTERM', () => void app.close().then(() => process.exit(0)))
if (setUp.role === 'web') console.log(`at ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
else {
  await app.ready()
  console.log('at work')
}

async function backendOf({
  redis,
  postgres,
  role,
  isInOrder = false,
}: MemberSetUp): Promise<{ store: OperationStore; engine: OperationEngine }> {
  const work = role === 'worker'
  if (redis !== undefined) {
    const client = new Redis(redis, { enableOfflineQueue: false, maxRetriesPerRequest: 0, lazyConnect: true })
    // What it cannot reach, the plugin tells.
    client.on('error', () => {})
    await client.connect()
    const engine = bullmqEngine({ redis: isInOrder ? client : redis, work, concurrency: 4 })
    return { store: redisOperationStore(client), engine }
  }
  const pool = new pg.Pool({ connectionString: postgres })
  pool.on('error', () => {})
  const store = postgresOperationStore(pool)
  await store.migrate()
  return { store, engine: bullmqEngine({ postgres: postgres ?? '', migrate: true, work, concurrency: 4 }) }
}
