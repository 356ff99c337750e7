/** The engine on BullMQ, over Redis servers of these tests alone. */
import { setTimeout as pause } from 'node:timers/promises'
import { Queue, type Telemetry } from 'bullmq'
import { Cluster, Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { type BullmqEngineOptions, bullmqEngine } from '../../../../src/engines/bullmq.js'
import { checkRedis } from '../../../../src/plugins/operations/engines/bullmq/redis.js'
import { obstacleToRedis, type PrivateRedis, type RedisSetup, startRedis } from '../../../support/redis.js'
import { keepsEngineContract, started } from './engine-contract.js'
import { fakeWorker, gate, isDone, newJob, newJobs, secondsOf, succeeded, until } from './fake-worker.js'
import { startWorkerProcess } from './start-worker-process.js'

const obstacle = await obstacleToRedis()
const skip = obstacle !== null && !process.env.CI ? obstacle : false
const unreachable = 'the queue of operations cannot be reached'

t.test('the contract', { skip }, async (t) => {
  const { url } = await server(t)
  let queues = 0
  await keepsEngineContract(t, () => {
    queues += 1
    const queue = `queue-${queues}`
    return (options) => bullmqEngine({ redis: url, queue, ...options })
  })
})

t.test('dashboards see the names and the states of operations', { skip }, async (t) => {
  const { url } = await server(t)
  const end = gate()
  const worker = fakeWorker(async (id) => {
    if (id === failing.id) return { kind: 'ended', status: 'Failed' }
    if (id === running.id) await end.passed
    return succeeded
  })
  const [failing, running, absent] = [newJob({ name: 'fail' }), newJob({ name: 'run' }), newJob()]
  const engine = await started(t, bullmqEngine({ redis: url, concurrency: 1 }), worker)
  const rest = [
    newJob({ name: 'done' }),
    running,
    newJob({ name: 'wait' }),
    newJob({ name: 'late', delay: 60_000 }),
  ]
  for (const job of [failing, ...rest]) await engine.enqueue(job)
  await until(() => worker.ran.length === 3, 'one runs')
  const queue = queueOf(t, url)
  const states = Object.entries({
    fail: 'failed',
    done: 'completed',
    run: 'active',
    wait: 'prioritized',
    late: 'delayed',
  } as const)
  for (const [name, state] of states) {
    t.strictSame(
      (await queue.getJobs([state])).map((job) => job.name),
      [name],
      state,
    )
  }
  t.equal((await queue.getJob(failing.id))?.failedReason, 'the operation has failed')
  t.equal(await queue.getJob(absent.id), undefined)
  end.open()
})

t.test('an operation in progress whose job has ended, or waits too long, runs again', { skip }, async (t) => {
  const { url } = await server(t)
  const worker = fakeWorker((_, count) =>
    count === 1
      ? succeeded
      : count === 2
        ? { kind: 'ended', status: 'Failed' }
        : { kind: 'retry', delay: 60_000 },
  )
  const engine = await started(t, bullmqEngine({ redis: url }), worker)
  const job = newJob()
  const queue = queueOf(t, url)
  for (const [count, state] of ['completed', 'failed', 'delayed', 'delayed'].entries()) {
    await engine.enqueue(job)
    await until(async () => worker.ran.length > count, `run ${count + 1}`)
    await until(async () => (await queue.getJobState(job.id)) === state, state)
  }
})

t.test('the jobs of a killed process run in another one within its lease', { skip }, async (t) => {
  const { url } = await server(t)
  const lease = 4_000
  const victim = await startWorkerProcess(t, { redis: url, concurrency: 1 }, lease)
  const web = await started(t, bullmqEngine({ redis: url, work: false }), fakeWorker())
  const job = newJob()
  await web.enqueue(job)
  t.equal(await victim.next(), job.id)
  const worker = fakeWorker(undefined, lease)
  await started(t, bullmqEngine({ redis: url }), worker)
  const killedAt = Date.now()
  await victim.kill()
  await until(() => worker.ran.length === 1, 'another process runs it')
  t.strictSame(worker.ran, [job.id])
  t.ok(Number(worker.ranAt[0]) - killedAt <= lease)
})

t.test('the worker learns that it has lost the lock of a run', { skip }, async (t) => {
  const { url } = await server(t)
  const client = clientOf(t, url)
  const end = gate()
  const worker = fakeWorker(() => end.passed.then(() => succeeded), 1_000)
  const engine = await started(t, bullmqEngine({ redis: url, concurrency: 1 }), worker)
  const job = newJob()
  await engine.enqueue(job)
  await until(() => worker.ran.length === 1, 'it runs')
  await client.set(`bull:operations:${job.id}:lock`, 'of another worker')
  await until(() => worker.lostIds.includes(job.id), 'the worker knows')
  end.open()
})

t.test('jobs outlive a restart of Redis, and the log has two lines', { skip }, async (t) => {
  const redis = await server(t, { persistent: true })
  const end = gate()
  const worker = fakeWorker(() => end.passed.then(() => succeeded), 2_000)
  const engine = await started(t, bullmqEngine({ redis: redis.url, concurrency: 2 }), worker)
  const jobs = newJobs(50)
  for (const job of jobs) await engine.enqueue(job)
  await until(() => worker.ran.length === 2, 'two run')
  await redis.kill()
  // Connections are refused, and the locks of the runs expire.
  await pause(2_500)
  await redis.restart()
  end.open()
  await until(() => jobs.every(({ id }) => worker.ran.includes(id)), 'all run')
  const last = newJob()
  await until(() => isDone(engine.enqueue(last)), 'more can be added')
  await until(() => worker.ran.includes(last.id), 'that runs too')
  t.strictSame(worker.log, [unreachable, 'recovered'])
})

for (const [how, away, back] of [
  [
    'does not answer',
    async (redis: PrivateRedis) => redis.pause(),
    async (redis: PrivateRedis) => redis.resume(),
  ],
  ['is gone', (redis: PrivateRedis) => redis.kill(), (redis: PrivateRedis) => redis.restart()],
] as const) {
  t.test(`while Redis ${how}, a start fails in time, and then at once`, { skip }, async (t) => {
    const redis = await server(t)
    const worker = fakeWorker()
    const engine = await started(t, bullmqEngine({ redis: redis.url, work: false }), worker)
    await engine.enqueue(newJob())
    await away(redis)
    t.equal(await secondsOf(t.rejects(engine.enqueue(newJob()), { name: 'LateError' })), 5)
    t.equal(await secondsOf(t.rejects(engine.enqueue(newJob()), { name: 'LateError' })), 0)
    await back(redis)
    await until(() => isDone(engine.enqueue(newJob())), 'Redis is back')
    t.strictSame(worker.log, [unreachable, 'recovered'])
  })

  t.test(`while Redis ${how}, an engine closes in time`, { skip }, async (t) => {
    const redis = await server(t)
    const worker = await startWorkerProcess(t, { redis: redis.url })
    const web = await started(t, bullmqEngine({ redis: redis.url, work: false }), fakeWorker())
    const job = newJob()
    await web.enqueue(job)
    t.equal(await worker.next(), job.id)
    await away(redis)
    t.teardown(() => redis.resume())
    const seconds = await Promise.all([web.close(), worker.close()].map(secondsOf))
    t.ok(Math.max(...seconds) <= 6, `${seconds}`)
    t.equal(await worker.exit, 0, 'nothing keeps the process alive')
  })
}

t.test('a worker does not spin while Redis is full, and goes on afterwards', { skip }, async (t) => {
  const { url } = await server(t)
  const client = clientOf(t, url)
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

t.test('the telemetry sees added and processed jobs', { skip }, async (t) => {
  const { url } = await server(t)
  const spans: string[] = []
  const span = {
    setSpanOnContext: (context: object) => context,
    setAttribute() {},
    setAttributes() {},
    addEvent() {},
    recordException() {},
    end() {},
  }
  const telemetry = {
    tracer: {
      startSpan(name: string) {
        spans.push(name)
        return span
      },
    },
    contextManager: {
      with: (_context: object, run: () => unknown) => run(),
      active: () => ({}),
      getMetadata: () => '',
      fromMetadata: () => ({}),
    },
  } as unknown as Telemetry
  const worker = fakeWorker()
  const engine = await started(t, bullmqEngine({ redis: url, telemetry }), worker)
  await engine.enqueue(newJob())
  await until(() => worker.ran.length === 1, 'it runs')
  t.match(spans.join(', '), /add operations.*process operations/)
})

t.test('a client of the app stays open; one that only starts needs nothing special', { skip }, async (t) => {
  const { url } = await server(t)
  const client = clientOf(t, url, { maxRetriesPerRequest: null })
  const worker = fakeWorker()
  const engine = await started(t, bullmqEngine({ redis: client }), worker)
  await engine.enqueue(newJob())
  await until(() => worker.ran.length === 1, 'it runs')
  await engine.close()
  t.equal(await client.ping(), 'PONG')
  await until(async () => (await connections(client)) === 1, 'the connections of the engine are closed')

  const plain = clientOf(t, url)
  const web = await started(t, bullmqEngine({ redis: plain, work: false }), fakeWorker())
  await web.enqueue(newJob())
  t.equal(await connections(client), 2, 'it needs no connection of its own')
  t.throws(() => bullmqEngine({ redis: plain }), {
    message: /bullmqEngine\.redis: expected a client with maxRetriesPerRequest: null, received 20/,
  })
  t.doesNotThrow(() => bullmqEngine({ redis: new Cluster([], { lazyConnect: true }) }))
})

t.test('the start fails with the cause if the server cannot be used', { skip }, async (t) => {
  const redis = await server(t)
  const client = clientOf(t, redis.url)
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  await t.rejects(
    bullmqEngine({ redis: redis.url }).start(fakeWorker()),
    /set maxmemory-policy to noeviction; it is allkeys-lru/,
  )
  await until(async () => (await connections(client)) === 1, 'nothing stays open')
  await redis.kill()
  const worker = fakeWorker()
  await t.rejects(bullmqEngine({ redis: redis.url }).start(worker), {
    message: /queue of operations cannot be reached.* 5000 ms/,
    cause: { code: 'ECONNREFUSED' },
  })
  t.strictSame(worker.log, [unreachable])
})

t.test('a server that is too old, or evicts jobs, is refused; one that does not tell is not', async (t) => {
  const server = (version: string, policy: string) => ({
    info: async () => `# Server\r\nredis_version:${version}\r\nmaxmemory_policy:${policy}\r\n`,
  })
  await t.rejects(checkRedis(server('4.0.9', 'noeviction')), /needs Redis 5 or later; it is 4\.0\.9/)
  await t.rejects(checkRedis(server('7.0.15', 'allkeys-lfu')), /it is allkeys-lfu/)
  await checkRedis(server('5.0.14', 'volatile-ttl'))
  await checkRedis({ info: () => Promise.reject(new Error('NOPERM')) })
})

t.test('nothing is written to the console', { skip }, async (t) => {
  const redis = await server(t)
  const client = clientOf(t, redis.url)
  await client.config('SET', 'maxmemory-policy', 'volatile-lru')
  const written = [t.capture(console, 'error'), t.capture(console, 'warn')]
  const worker = fakeWorker()
  const options = { redis: { url: redis.url, maxRetriesPerRequest: 3 } }
  const engine = await started(t, bullmqEngine(options), worker)
  await engine.enqueue(newJob())
  await until(() => worker.ran.length === 1, 'it runs')
  await redis.restart('SIGKILL')
  await until(() => isDone(engine.enqueue(newJob())), 'Redis is back')
  await redis.kill()
  await engine.close()
  t.strictSame(
    written.flatMap((calls) => calls().map(({ args }) => args.join(' '))),
    [],
  )
})

t.test('invalid options are refused by their name', async (t) => {
  const rows: [unknown, RegExp][] = [
    [undefined, /bullmqEngine\.redis: expected a redis:/],
    [{}, /bullmqEngine\.redis: expected a redis:/],
    [{ redis: 'http://user:secret@a' }, /bullmqEngine\.redis: expected a redis:.*received 'http:\/\/…@a'/],
    [{ redis: 6379 }, /bullmqEngine\.redis: expected/],
    [{ redis: 'redis://a', queue: 'a:b' }, /bullmqEngine\.queue: expected a name without ':'/],
    [{ redis: 'redis://a', concurrency: 0 }, /bullmqEngine\.concurrency/],
    [{ redis: 'redis://a', maxQueued: 0 }, /bullmqEngine\.maxQueued/],
    [{ redis: 'redis://a', telemetry: true }, /bullmqEngine\.telemetry/],
    [{ redis: 'redis://a', work: 'yes' }, /bullmqEngine\.work/],
    [{ redis: 'redis://a', workers: 2 }, /bullmqEngine\.workers/],
  ]
  for (const [options, message] of rows) {
    t.throws(() => bullmqEngine(options as BullmqEngineOptions), { message }, JSON.stringify(options))
  }
})

async function server(t: Test, setup?: RedisSetup): Promise<PrivateRedis> {
  const redis = await startRedis(setup)
  t.teardown(() => redis.stop())
  return redis
}

function clientOf(t: Test, url: string, options = {}): Redis {
  const client = new Redis(url, options)
  client.on('error', () => {})
  t.teardown(() => client.disconnect())
  return client
}

function queueOf(t: Test, url: string): Queue {
  const queue = new Queue('operations', { connection: { url } })
  t.teardown(() => queue.close())
  return queue
}

async function connections(client: Redis): Promise<number> {
  return String(await client.client('LIST'))
    .trim()
    .split('\n').length
}
