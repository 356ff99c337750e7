// Own process: starts processes, and waits for them
/** What processes of the demo share by Redis and by PostgreSQL, and what becomes of it while Redis is away. */
import t, { type Test } from 'tap'
import { firstId } from '../../examples/demo-server/migrations.js'
import { redisMaintenanceStore } from '../../src/stores/redis.js'
import { endChild } from '../support/child.js'
import { postgresOf, skipWithoutPostgres } from '../support/postgres.js'
import { redisClient, redisOf, skipWithoutRedis } from '../support/redis.js'
import { until } from '../support/until.js'
import { type Answer, type Caller, callerOf } from './client.js'
import { failureOf, spawnDemo, startDemo, startWorker } from './run-demo.js'

const withoutRedis = await skipWithoutRedis()
const target = '/v1/users?limit=1'
const statusOf = (caller: Caller) => async () => (await caller.get(target)).status

/** What is left to a caller, as the answer tells; `NaN` where it was not counted. */
async function leftOf(caller: Caller): Promise<number> {
  return Number(/r=(\d+)/.exec((await caller.get(target)).headers.get('ratelimit') ?? '')?.[1])
}

t.test('two processes with one Redis', { skip: withoutRedis }, async (t) => {
  const redis = await redisOf(t, { persistent: true })
  const environment = { REDIS_URL: redis.url, RATE_LIMIT_MAX: '1000' }
  const demos = await Promise.all([startDemo(t, environment), startDemo(t, environment)])
  const [one, other] = [callerOf(demos[0].origin), callerOf(demos[1].origin)]

  await t.test('share the counts of a caller', async (t) => {
    // Until a process has seen the token, it counts the address.
    for (const caller of [one, other]) await caller.get(target)
    for (const [caller, left] of [
      [one, 999],
      [other, 998],
      [one, 997],
    ] as const)
      t.equal(await leftOf(caller), left)
  })

  await t.test('share the maintenance', async (t) => {
    const store = redisMaintenanceStore(redisClient(t, redis.url))
    await store.set({ until: new Date(Date.now() + 600_000).toISOString(), reason: 'The move' })
    for (const caller of [one, other]) {
      await until(statusOf(caller), (status) => status === 503)
      const { json, headers } = await caller.get(target)
      t.match(json, { code: 'maintenance', detail: 'The move' })
      t.ok(Number(headers.get('retry-after')) > 500)
    }
    await store.set(null)
    for (const caller of [one, other]) t.equal(await until(statusOf(caller), (status) => status === 200), 200)
  })

  await t.test('serve while Redis is down, log it once, and count again when it is back', async (t) => {
    const before = await leftOf(one)
    await redis.kill()
    await until(() => leftOf(one), Number.isNaN)
    const statuses = new Set<number>()
    // Long enough for several attempts to connect.
    for (const end = Date.now() + 1_500; Date.now() < end; ) statuses.add(await statusOf(one)())
    t.strictSame([...statuses], [200])
    await redis.restart()
    const after = await until(
      () => leftOf(one),
      (left) => left > 0,
    )
    t.ok(after < before, `what was counted before counts: ${after}, ${before} before`)
    const [{ complaints }] = demos
    await until(
      async () => complaints.length,
      (lines) => lines > 1,
    )
    t.match(complaints[0], /^demo server: Redis is away: .+/)
    t.strictSame(complaints.slice(1), ['demo server: Redis is back'])
  })

  await t.test('a Redis that does not reply delays no request, and no end', async (t) => {
    redis.pause()
    const statuses = await Promise.all(Array.from({ length: 50 }, statusOf(one)))
    t.strictSame([...new Set(statuses)], [200])
    t.equal(await endChild(demos[0].process, 'SIGTERM'), 0)
    await redis.kill()
    t.equal(await endChild(demos[1].process, 'SIGTERM'), 0, 'nor one that is down')
  })
})

t.test('an unusable Redis is an error of one line at the start', { skip: withoutRedis }, async (t) => {
  const redis = await redisOf(t, { persistent: true })
  const failure = (url: string) => failureOf(spawnDemo({ PORT: '0', REDIS_URL: url }))
  t.match(await failure(`${redis.url}/99`), /^demo server: REDIS_URL: .*DB index is out of range$/)
  redis.pause()
  t.match(await failure(redis.url), /^demo server: REDIS_URL: .*timed out$/)
  await redis.kill()
  t.match(await failure(redis.url), /^demo server: REDIS_URL: connect ECONNREFUSED [\d.:]+$/)
})

const skip = withoutRedis || (await skipWithoutPostgres())
// This one of the seeded payments failed.
const retry = `/v1/payments/${firstId + 17n}/retry`

t.test('operations in Redis, data in PostgreSQL', { skip }, async (t) => {
  const [postgres, redis] = await Promise.all([postgresOf(t), redisOf(t, { persistent: true })])
  await sharesOperations(t, { DATABASE_URL: postgres.url, REDIS_URL: redis.url })
})

t.test('operations and data in PostgreSQL', { skip }, async (t) => {
  const postgres = await postgresOf(t)
  await sharesOperations(t, { DATABASE_URL: postgres.url, OPERATIONS: 'postgres' })
})

t.test('a worker without a shared store does not start', async (t) => {
  const failure = await failureOf(spawnDemo({ LOG_LEVEL: 'silent' }, 'worker'))
  t.match(failure, /a worker needs DATABASE_URL, and REDIS_URL or OPERATIONS/)
})

/** Two instances that leave the work to others: to a worker that ends during a run, and to the next one. */
async function sharesOperations(t: Test, environment: Record<string, string>): Promise<void> {
  // The first one makes the tables and seeds them.
  const first = await startDemo(t, { ...environment, WORK: 'off' })
  const second = await startDemo(t, { ...environment, WORK: 'off' })
  const [one, other] = [callerOf(first.origin), callerOf(second.origin)]
  const start = await one.post(retry, { force_retry: true })
  t.equal(start.status, 202)
  const location = start.headers.get('location') ?? ''
  /** An operation may be polled sixty times in a minute. */
  const poll = (isEnough: (answer: Answer) => boolean) =>
    until(() => other.get(location), isEnough, 15_000, 300)
  t.match(await other.get(location), { status: 200, json: { status: 'In progress' } }, 'nobody works yet')

  // The run takes longer than a process that closes lets it go on.
  const slow = await startWorker(t, { ...environment, PACE: '10', LOG_LEVEL: 'info' })
  await poll(({ json }) => Number(json.progress) > 0)
  t.equal(await endChild(slow.process, 'SIGTERM'), 0)
  const log = slow.printed.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
  const faults = log.filter(({ level }) => level > 30)
  t.strictSame(faults, [], 'no pool is closed before the run has ended')
  const released = log.filter(({ event }) => event === 'release')
  t.match(released, [{ operation: 'payments.retry' }], 'the run is handed back')
  t.match(await other.get(location), { status: 200, json: { status: 'In progress' } })
  const again = await one.post(retry, { force_retry: true })
  t.match(again, { status: 409, json: { code: 'retry-running' } }, 'with its claim')

  const next = await startWorker(t, { ...environment, PACE: '0.02' })
  const end = await poll(({ json }) => json.status !== 'In progress')
  t.match(end, { status: 303, json: { status: 'Succeeded' } }, 'another process ends it')
  t.match(await one.get(end.headers.get('location') ?? ''), { status: 200, json: { status: 'succeeded' } })
  for (const { process: child, complaints } of [first, second, slow, next]) {
    t.equal(await endChild(child, 'SIGTERM'), 0, 'it ends when it is told to')
    t.strictSame(complaints, [])
  }
}
