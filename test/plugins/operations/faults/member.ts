/** One process of a fleet: serves requests, or runs operations. Its set-up is JSON in its first argument. */
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
import { redisOperationStore } from 'fastify-conventions/stores/redis'
import { Redis } from 'ioredis'
import type { MemberSetUp } from './fleet.js'
import { postgresBackend } from './postgres-backend.js'

const {
  redis,
  postgres,
  role,
  lease,
  effects,
  clockShift = 0,
} = JSON.parse(process.argv[2] ?? '') as MemberSetUp

if (clockShift !== 0) {
  const now = Date.now
  Date.now = () => now() + clockShift
}

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

async function backendOf(): Promise<{
  store: OperationStore
  engine: OperationEngine
  /** Counts what a run does, without looking whether another run did it before. */
  takeEffect: (id: string) => Promise<unknown>
}> {
  const work = role === 'worker'
  if (redis === undefined) return postgresBackend(postgres ?? '', work)
  const client = new Redis(redis, { enableOfflineQueue: false, maxRetriesPerRequest: 0, lazyConnect: true })
  // The plugin reports what it cannot reach.
  client.on('error', () => {})
  await client.connect()
  return {
    store: redisOperationStore(client),
    engine: bullmqEngine({ redis, work, concurrency: 10 }),
    takeEffect: (id) => client.incr(`effect:${id}`),
  }
}
