// Own process: waits for Redis and workers
/** The engine on BullMQ, over Redis servers of these tests alone. Restarts and killed processes are in ../faults. */
import { setTimeout as pause } from 'node:timers/promises'
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import t from 'tap'
import { bullmqEngine } from '../../../../src/plugins/operations/engines/bullmq.js'
import { startProgram } from '../../../support/program.js'
import { redisClient, redisOf, skipWithoutRedis } from '../../../support/redis.js'
import { keepsEngineContract, started } from './engine-contract.js'
import { fakeWorker, gate, isDone, newJob, secondsOf, succeeded, until } from './fake-worker.js'

const skip = await skipWithoutRedis()
const unreachable = 'the queue of operations cannot be reached'

t.test('the contract', { skip }, async (t) => {
  const { url } = await redisOf(t)
  let queues = 0
  await keepsEngineContract(t, () => {
    queues += 1
    const queue = `queue-${queues}`
    return (options) => bullmqEngine({ redis: url, queue, ...options })
  })
})

t.test('an operation whose job has ended runs again; one that waits does not', { skip }, async (t) => {
  const { url } = await redisOf(t)
  const worker = fakeWorker((_, count) => {
    if (count === 1) return succeeded
    return count === 2 ? { kind: 'ended', hasFailed: true } : { kind: 'later', delay: 60_000 }
  })
  const engine = await started(t, bullmqEngine({ redis: url }), worker)
  const job = newJob()
  const queue = new Queue('operations', { connection: { url } })
  t.teardown(() => queue.close())
  for (const [count, state] of ['completed', 'failed', 'delayed'].entries()) {
    await engine.enqueue(job)
    await until(async () => worker.ran.length > count, `run ${count + 1}`)
    await until(async () => (await queue.getJobState(job.id)) === state, state)
    t.equal((await queue.getJob(job.id))?.name, job.name)
  }
  await engine.enqueue(job)
  await pause(300)
  t.equal(worker.ran.length, 3)
})

t.test('a delay is that of the clock of the store, not of the process that starts', { skip }, async (t) => {
  const { url } = await redisOf(t)
  const now = () => performance.timeOrigin + performance.now()
  const ahead = t.intercept(Date, 'now', { value: () => now() + 3_600_000 })
  const web = { ...fakeWorker(), now: () => Math.floor(now()) }
  const engine = await started(t, bullmqEngine({ redis: url, work: false }), web)
  await engine.enqueue(newJob({ delay: 1_000 }))
  ahead.restore()
  const worker = fakeWorker()
  await started(t, bullmqEngine({ redis: url }), worker)
  await until(() => worker.ran.length === 1, 'it runs')
  t.pass()
})

t.test('the worker learns that it has lost the lock of a run', { skip }, async (t) => {
  const { url } = await redisOf(t)
  const client = redisClient(t, url)
  const end = gate()
  const worker = fakeWorker(() => end.passed, 1_000)
  const engine = await started(t, bullmqEngine({ redis: url, concurrency: 1 }), worker)
  const job = newJob()
  await engine.enqueue(job)
  await until(() => worker.ran.length === 1, 'it runs')
  await client.set(`bull:operations:${job.id}:lock`, 'of another worker')
  await until(() => worker.lostIds.includes(job.id), 'the worker knows')
  end.open()
})

for (const [how, away, back] of [
  ['does not answer', 'pause', 'resume'],
  ['is gone', 'kill', 'restart'],
] as const) {
  const name = `while Redis ${how}, a start fails in time, and then at once; engines close`
  t.test(name, { skip }, async (t) => {
    const redis = await redisOf(t)
    const worker = fakeWorker()
    const engine = await started(t, bullmqEngine({ redis: redis.url, work: false }), worker)
    await redis[away]()
    for (const seconds of [5, 0])
      t.equal(await secondsOf(t.rejects(engine.enqueue(newJob()), { name: 'LateError' })), seconds)
    await redis[back]()
    const job = newJob()
    await until(() => isDone(engine.enqueue(job)), 'Redis is back')
    t.strictSame(worker.log, [unreachable, 'recovered'])

    const ran: string[] = []
    const source = new URL('worker-process.ts', import.meta.url)
    const setUp = { redis: redis.url, lease: 30_000, concurrency: 1 }
    const { process } = await startProgram(t, source, setUp, (id) => ran.push(id))
    await until(() => ran.length > 0, 'one runs')
    await redis[away]()
    t.teardown(() => redis.resume())
    process.kill('SIGTERM')
    const closed = until(() => ran.includes('closed'), 'it closes')
    const seconds = await Promise.all([engine.close(), closed].map(secondsOf))
    t.ok(Math.max(...seconds) <= 6, `${seconds}`)
    await until(() => process.exitCode === 0, 'nothing keeps the process alive')
  })
}

t.test('a worker does not spin while Redis is full, and goes on afterwards', { skip }, async (t) => {
  const { url } = await redisOf(t)
  const client = redisClient(t, url)
  const worker = fakeWorker()
  const engine = await started(t, bullmqEngine({ redis: url }), worker)
  const waiting = newJob({ delay: 500 })
  await engine.enqueue(waiting)
  await client.config('SET', 'maxmemory', '1')
  const commands = async () => Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1])
  const before = await commands()
  await pause(3_000)
  const count = (await commands()) - before
  t.ok(count < 300, `${count} commands in three seconds`)
  await t.rejects(engine.enqueue(newJob()), /OOM/)
  await client.config('SET', 'maxmemory', '0')
  await until(() => worker.ran.includes(waiting.id), 'it runs')
})

t.test('a client of the app stays open; one that only starts needs nothing special', { skip }, async (t) => {
  const { url } = await redisOf(t)
  const client = redisClient(t, url, { maxRetriesPerRequest: null })
  const worker = fakeWorker()
  const engine = await started(t, bullmqEngine({ redis: client }), worker)
  await engine.enqueue(newJob())
  await until(() => worker.ran.length === 1, 'it runs')
  await engine.close()
  t.equal(await client.ping(), 'PONG')
  await until(async () => (await connections(client)) === 1, 'the connections of the engine are closed')

  const plain = redisClient(t, url)
  const web = await started(t, bullmqEngine({ redis: plain, work: false }), fakeWorker())
  await web.enqueue(newJob())
  t.equal(await connections(client), 2, 'it needs no connection of its own')
})

t.test('the start fails with the cause if the server cannot be used', { skip }, async (t) => {
  const redis = await redisOf(t)
  await redis.kill()
  const worker = fakeWorker()
  await t.rejects(bullmqEngine({ redis: redis.url }).start(worker), {
    message: /queue of operations cannot be reached.* 5000 ms/,
    cause: { code: 'ECONNREFUSED' },
  })
  t.strictSame(worker.log, [unreachable])
})

const connections = async (client: Redis) => String(await client.client('LIST')).match(/\n/g)?.length
