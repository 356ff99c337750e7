/** Operations that BullMQ hands out: over Redis servers of these tests alone. */
import { setTimeout as pause } from 'node:timers/promises'
import Fastify from 'fastify'
import { Cluster, Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { bullmqEngine } from '../../../../../src/engines/bullmq.js'
import { isQueueFull } from '../../../../../src/plugins/operations/engines/engine.js'
import { operations } from '../../../../../src/plugins/operations/index.js'
import { redisOperationStore } from '../../../../../src/stores/redis.js'
import { obstacleToRedis, type PrivateRedis, type RedisSetup, startRedis } from '../../../../support/redis.js'
import { gate, keepsEngineContract, newId, newIds, started } from './engine-contract.js'
import { cannotBeReached, fakeWorker, isTaken, secondsOf, until } from './fake-worker.js'
import { startWorkerProcess } from './start-worker-process.js'

const obstacle = await obstacleToRedis()
const skip = obstacle !== null && !process.env.CI ? obstacle : false

t.test('in Redis', { skip }, async (t) => {
  const redis = await server(t)
  let queues = 0
  await keepsEngineContract(t, () => {
    queues += 1
    return { redis: redis.url, queue: `queue-${queues}` }
  })
})

t.test('what waits outlives a restart of Redis, and the log has a line at most', { skip }, async (t) => {
  const redis = await server(t, { persistent: true })
  const end = gate()
  const worker = fakeWorker(async () => {
    await end.passed
    return { kind: 'ended' }
  }, 2_000)
  const engine = await started(t, { redis: redis.url, concurrency: 2 }, worker)
  const ids = newIds(50)
  for (const id of ids) await engine.enqueue(id)
  await until(() => worker.ran.length === 2, 'two run')
  await redis.kill()
  // So long that connections are refused, and that the leases of the jobs that run are over.
  await pause(2_500)
  await redis.restart()
  end.open()
  await until(() => ids.every((id) => worker.ran.includes(id)), 'all run')
  const last = newId()
  await until(() => isTaken(engine.enqueue(last)), 'more can be put in')
  await until(() => worker.ran.includes(last), 'that runs too')
  await until(() => worker.told.length === 2, 'the fault is over')
  t.strictSame(worker.told, [cannotBeReached, 'recovered'])
})

t.test('while Redis does not answer a start fails in time, and then at once', { skip }, async (t) => {
  const redis = await server(t)
  const worker = fakeWorker()
  const engine = await started(t, { redis: redis.url, work: false }, worker)
  redis.pause()
  t.teardown(() => redis.resume())
  const [late = '', refused = '', last = ''] = newIds(3)
  t.equal(await secondsOf(t.rejects(engine.enqueue(late), { name: 'LateError' })), 5)
  t.equal(await secondsOf(t.rejects(engine.enqueue(refused), { name: 'LateError' })), 0)
  redis.resume()
  await until(() => isTaken(engine.enqueue(last)), 'Redis answers again')
  t.strictSame(worker.told, [cannotBeReached, 'recovered'])
})

t.test(
  'while Redis does not say whether a full queue has room a start fails in time',
  { skip },
  async (t) => {
    const redis = await server(t)
    const worker = fakeWorker()
    const engine = await started(t, { redis: redis.url, work: false, maxQueued: 1 }, worker)
    await engine.enqueue(newId())
    redis.pause()
    t.teardown(() => redis.resume())
    t.equal(await secondsOf(t.rejects(engine.enqueue(newId()), { name: 'LateError' })), 5)
    t.equal(await secondsOf(t.rejects(engine.enqueue(newId()), { name: 'LateError' })), 0)
    redis.resume()
    await until(() => isFull(engine.enqueue(newId())), 'Redis answers again')
    t.strictSame(worker.told, [cannotBeReached, 'recovered'], 'that it is full is no fault')
  },
)

t.test('while Redis is gone a start fails in time, and then at once', { skip }, async (t) => {
  const redis = await server(t)
  const worker = fakeWorker()
  const engine = await started(t, { redis: redis.url, work: false }, worker)
  await redis.kill()
  t.equal(await secondsOf(t.rejects(engine.enqueue(newId()), { name: 'LateError' })), 5)
  t.equal(await secondsOf(t.rejects(engine.enqueue(newId()), { name: 'LateError' })), 0)
  await redis.restart()
  await until(() => isTaken(engine.enqueue(newId())), 'Redis is back')
  t.strictSame(worker.told, [cannotBeReached, 'recovered'])
})

for (const [how, away] of [
  ['does not answer', async (redis: PrivateRedis) => redis.pause()],
  ['is gone', (redis: PrivateRedis) => redis.kill()],
] as const) {
  t.test(`while Redis ${how} an engine closes in time`, { skip }, async (t) => {
    const redis = await server(t)
    const worker = await startWorkerProcess(t, { redis: redis.url })
    const web = await started(t, { redis: redis.url, work: false }, fakeWorker())
    const id = newId()
    await web.enqueue(id)
    t.equal(await worker.next(), id)
    await away(redis)
    t.teardown(() => redis.resume())
    const seconds = await Promise.all([web.close(), worker.close()].map(secondsOf))
    t.ok(Math.max(...seconds) <= 6, `${seconds}`)
    t.equal(await worker.exit, 0, 'nothing keeps the process alive')
  })
}

t.test(
  'a client that was given stays open, and one that only starts needs nothing special',
  { skip },
  async (t) => {
    const redis = await server(t)
    const client = new Redis(redis.url, { maxRetriesPerRequest: null })
    t.teardown(() => client.disconnect())
    const worker = fakeWorker()
    const engine = await started(t, { redis: client }, worker)
    await engine.enqueue(newId())
    await until(() => worker.ran.length === 1, 'it runs')
    await engine.close()
    t.equal(await client.ping(), 'PONG')
    await until(async () => (await connections(client)) === 1, 'what the engine opened is closed')

    const plain = new Redis(redis.url)
    t.teardown(() => plain.disconnect())
    const web = await started(t, { redis: plain, work: false }, fakeWorker())
    await web.enqueue(newId())
    t.equal(await connections(client), 2, 'it needs no connection of its own')
    t.throws(() => bullmqEngine({ redis: plain }), {
      message: /bullmqEngine\.redis: expected a client with maxRetriesPerRequest: null, received 20/,
    })
    const hasty = new Redis(redis.url, { maxRetriesPerRequest: 0, lazyConnect: true })
    t.throws(() => bullmqEngine({ redis: hasty }), { message: /null, received 0/ })
    t.doesNotThrow(() => bullmqEngine({ redis: new Cluster([], { lazyConnect: true }) }))
  },
)

t.test('it says what it puts operations in through where that was given', async (t) => {
  const client = new Redis({ lazyConnect: true, maxRetriesPerRequest: null })
  t.equal(bullmqEngine({ redis: client }).connection, client)
  for (const redis of ['redis://127.0.0.1', { host: '127.0.0.1' }]) {
    t.equal(bullmqEngine({ redis }).connection, undefined)
  }
  t.equal(bullmqEngine({ postgres: 'postgres://127.0.0.1/a' }).connection, undefined)
})

t.test(
  'over one connection a job is sent before its record is answered, and after it',
  { skip },
  async (t) => {
    const redis = await server(t)
    for (const isShared of [true, false]) {
      const client = new Redis(redis.url)
      t.teardown(() => client.disconnect())
      const app = Fastify()
      t.teardown(() => app.close())
      await app.register(operations, {
        store: redisOperationStore(client),
        engine: bullmqEngine({ redis: isShared ? client : redis.url, work: false }),
      })
      app.operations.define('work', async () => {})
      await app.ready()
      // The first of its kind waits for the queue, and for the script of BullMQ to be known.
      await app.operations.start('work')
      const said: string[] = []
      const send = client.sendCommand.bind(client)
      client.sendCommand = (command, stream) => {
        said.push(command.name)
        command.promise.then(() => said.push(`${command.name} is answered`))
        return send(command, stream)
      }
      await app.operations.start('work')
      t.strictSame(
        said,
        isShared
          ? ['eval', 'evalsha', 'eval is answered', 'evalsha is answered']
          : ['eval', 'eval is answered'],
      )
    }
  },
)

t.test('over one connection no job comes before its record', { skip }, async (t) => {
  const redis = await server(t)
  const [client, admin] = [new Redis(redis.url), new Redis(redis.url)]
  t.teardown(() => {
    client.disconnect()
    admin.disconnect()
  })
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, {
    store: redisOperationStore(client),
    engine: bullmqEngine({ redis: client, work: false }),
  })
  app.operations.define('work', async () => {})
  await app.ready()
  const monitor = await admin.monitor()
  const said: string[] = []
  monitor.on('monitor', (_time: string, command: string[]) => said.push(command.join(' ')))
  // A server that was started again knows no script.
  await admin.script('FLUSH')
  const ids: string[] = []
  for (let burst = 0; burst < 5; burst += 1) {
    const started = await Promise.all(Array.from({ length: 20 }, () => app.operations.start('work')))
    ids.push(...started.map(({ id }) => id))
  }
  const placeOf = (command: RegExp, id: string) =>
    said.findIndex((line) => command.test(line) && line.includes(`:${id} `))
  const jobOf = (id: string) => placeOf(/^h\w+ bull:operations:/i, id)
  const recordOf = (id: string) => placeOf(/^set \{/i, id)
  await until(() => ids.every((id) => jobOf(id) >= 0), 'all jobs are put in')
  monitor.disconnect()
  for (const id of ids) if (!(recordOf(id) >= 0 && recordOf(id) < jobOf(id))) t.fail(id)
  t.equal(await client.llen('bull:operations:wait'), ids.length)
})

t.test('an engine that only puts in has one connection', { skip }, async (t) => {
  const redis = await server(t)
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  const engine = await started(t, { redis: redis.url, work: false }, fakeWorker())
  t.equal(await connections(client), 2)
  await engine.close()
  await until(async () => (await connections(client)) === 1, 'it is closed')
})

t.test('a start says what is wrong with the server', { skip }, async (t) => {
  const redis = await server(t)
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  await t.rejects(
    bullmqEngine({ redis: redis.url }).start(fakeWorker()),
    /set maxmemory-policy to noeviction; it is allkeys-lru/,
  )
  await until(async () => (await connections(client)) === 1, 'nothing stays open')

  await redis.kill()
  const worker = fakeWorker()
  const error = await bullmqEngine({ redis: redis.url })
    .start(worker)
    .catch((error: unknown) => error)
  t.match(error, {
    message: /queue of operations cannot be reached.* 5000 ms/,
    cause: { code: 'ECONNREFUSED' },
  })
  t.strictSame(worker.told, [cannotBeReached])
})

t.test('nothing is written to the console', { skip }, async (t) => {
  const redis = await server(t)
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  client.on('error', () => {})
  await client.config('SET', 'maxmemory-policy', 'volatile-lru')
  const written = t.capture(console, 'error')
  const warned = t.capture(console, 'warn')
  const worker = fakeWorker()
  const options = { url: redis.url, maxRetriesPerRequest: 3 }
  const engine = await started(t, { redis: options }, worker)
  await engine.enqueue(newId())
  await until(() => worker.ran.length === 1, 'it runs')
  await redis.restart('SIGKILL')
  await until(() => isTaken(engine.enqueue(newId())), 'Redis is back')
  await redis.kill()
  await engine.close()
  t.strictSame(
    [...written(), ...warned()].map(({ args }) => args.join(' ')),
    [],
  )
})

function isFull(enqueued: Promise<void>): Promise<boolean> {
  return enqueued.then(
    () => false,
    (error: unknown) => isQueueFull(error),
  )
}

async function server(t: Test, setup?: RedisSetup): Promise<PrivateRedis> {
  const redis = await startRedis(setup)
  t.teardown(() => redis.stop())
  return redis
}

async function connections(client: Redis): Promise<number> {
  return String(await client.client('LIST'))
    .trim()
    .split('\n').length
}
