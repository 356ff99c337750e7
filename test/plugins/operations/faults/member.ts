/** One process of a fleet: serves requests, or runs operations. Its set-up is JSON in its first argument. */
import { setTimeout as pause } from 'node:timers/promises'
import Fastify from 'fastify'
import { operations, problems, serverOptions } from 'fastify-conventions'
import { bullmqEngine } from 'fastify-conventions/engines/bullmq'
import { pgBossEngine } from 'fastify-conventions/engines/pg-boss'
import { postgresOperationStore } from 'fastify-conventions/stores/postgres'
import { redisOperationStore } from 'fastify-conventions/stores/redis'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { MemberSetUp } from './fleet.js'

const setUp = JSON.parse(process.argv[2] ?? '') as MemberSetUp
const { redis, postgres, role, lease, effects } = setUp

const app = Fastify({ ...serverOptions(), logger: { level: 'warn' }, disableRequestLogging: true })
const { store, engine, takeEffect } = await backendOf()

await app.register(problems)
await app.register(operations, { store, engine, lease, polls: false, drain: 0 })
app.operations.define<{ milliseconds: number }>(
  'work',
  { cancellable: true, maxRuns: 20 },
  async ({ input, signal, progress, operationId, run }) => {
    console.log(`run ${operationId} ${run}`)
    for (let step = 1; step <= 5; step += 1) {
      await pause(input.milliseconds / 5, undefined, { signal })
      progress(step / 5)
    }
    if (effects === true) await takeEffect(operationId)
    return { result: { run } }
  },
)
app.post('/v1/works', async (request, reply) => reply.startOperation('work', request.body))

process.once('SIGTERM', () => void app.close().then(() => process.exit(0)))
if (role === 'web') console.log(`at ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
else {
  await app.ready()
  await app.operations.work()
  console.log('at work')
}

/** Records, queue, and what counts the effect of a run, without looking whether another run had it before. */
async function backendOf() {
  const options = { work: role === 'worker', concurrency: 10 }
  if (postgres !== undefined) {
    const pool = new pg.Pool({ connectionString: postgres })
    pool.on('error', () => {})
    const store = postgresOperationStore(pool)
    await store.migrate()
    await pool.query('CREATE TABLE IF NOT EXISTS effects (id text)').catch(() => {})
    const engine = pgBossEngine({ postgres, migrate: true, ...options })
    return { store, engine, takeEffect: (id: string) => pool.query('INSERT INTO effects VALUES ($1)', [id]) }
  }
  if (redis === undefined) throw new Error('no server')
  const client = new Redis(redis, { enableOfflineQueue: false, maxRetriesPerRequest: 0, lazyConnect: true })
  // The plugin reports what it cannot reach.
  client.on('error', () => {})
  await client.connect()
  const engine = bullmqEngine({ redis, ...options })
  return {
    store: redisOperationStore(client),
    engine,
    takeEffect: (id: string) => client.incr(`effect:${id}`),
  }
}
