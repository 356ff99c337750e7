// Own process: it is slow
/** The demo with its operations in Redis and in PostgreSQL: processes that serve, and one that works. */
import t, { type Test } from 'tap'
import { firstId } from '../../examples/demo-server/migrations.js'
import { endChild } from '../support/child.js'
import { obstacleToPostgres, startPostgres } from '../support/postgres.js'
import { obstacleToRedis, startRedis } from '../support/redis.js'
import { until } from '../support/until.js'
import { callerOf } from './client.js'
import { failureOf, spawnDemo, startDemo, startWorker } from './run-demo.js'

const obstacle = (await obstacleToRedis()) ?? (await obstacleToPostgres())
const skip = obstacle !== null && !process.env.CI ? obstacle : false
// Of the seeded payments the fourth failed, by a timeout.
const retry = `/v1/payments/${firstId + 3n}/retry`
// So did the eleventh.
const anotherRetry = `/v1/payments/${firstId + 10n}/retry`
const interruptedRetry = `/v1/payments/${firstId + 17n}/retry`

// An operation may be polled sixty times in a minute.
const patience = [15_000, 300] as const

t.test('operations in Redis, data in PostgreSQL', { skip }, async (t) => {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis({ persistent: true })])
  t.teardown(() => Promise.all([postgres.stop(), redis.stop()]))
  await sharesOperations(t, { DATABASE_URL: postgres.url, REDIS_URL: redis.url })
})

t.test('operations and data in PostgreSQL', { skip }, async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  await sharesOperations(t, { DATABASE_URL: postgres.url, OPERATIONS: 'postgres' })
})

t.test('a worker without a shared store does not start', async (t) => {
  t.match(
    await failureOf(spawnDemo({ LOG_LEVEL: 'silent' }, 'worker')),
    /a worker needs DATABASE_URL, and REDIS_URL or OPERATIONS/,
  )
})

async function sharesOperations(t: Test, environment: Record<string, string>): Promise<void> {
  // The first one makes the tables and seeds them.
  const first = await startDemo(t, { ...environment, WORK: 'off' })
  const second = await startDemo(t, { ...environment, WORK: 'off' })
  const [one, other] = [callerOf(first.origin), callerOf(second.origin)]

  const start = await one.call('POST', retry)
  t.equal(start.status, 202)
  const location = start.headers.get('location') ?? ''
  t.match(await other.get(location), { status: 200, json: { status: 'In progress' } }, 'nobody works yet')

  const worker = await startWorker(t, environment)
  const end = await until(
    () => other.get(location),
    ({ status }) => status === 303,
    ...patience,
  )
  const resource = end.headers.get('location') ?? ''
  t.match(await one.get(resource), { status: 200, json: { status: 'succeeded' } })
  t.match((await one.get(`${location}/status`)).json, { status: 'Succeeded', resourceLocation: resource })

  const cancelled = await one.call('POST', anotherRetry)
  const path = cancelled.headers.get('location') ?? ''
  await until(
    () => other.get(path),
    ({ json }) => Number(json.progress) > 0,
    ...patience,
  )
  t.equal((await other.delete(path)).status, 204, 'who cancels need not be who started it, nor who runs it')
  const failed = await until(
    () => one.get(path),
    ({ json }) => json.status !== 'In progress',
    ...patience,
  )
  t.match(failed.json, { status: 'Failed', error: { code: 'operation-cancelled' } })

  for (const { process: child, complaints } of [first, second, worker]) {
    t.equal(await endChild(child, 'SIGTERM'), 0, 'it ends when it is told to')
    t.strictSame(complaints, [])
  }
  await handsBack(t, environment)
}

/** A worker that is told to end during a run. */
async function handsBack(t: Test, environment: Record<string, string>): Promise<void> {
  const { origin } = await startDemo(t, { ...environment, WORK: 'off' })
  const client = callerOf(origin)
  // The run takes longer than a process that closes lets it go on.
  const slow = await startWorker(t, { ...environment, PACE: '10', LOG_LEVEL: 'info' })
  const start = await client.post(interruptedRetry, { force_retry: true })
  t.equal(start.status, 202)
  const location = start.headers.get('location') ?? ''
  await until(
    () => client.get(location),
    ({ json }) => Number(json.progress) > 0,
    ...patience,
  )
  t.equal(await endChild(slow.process, 'SIGTERM'), 0)
  t.strictSame(slow.complaints, [])
  const log = slow.printed.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
  t.strictSame(
    log.filter(({ level }) => level > 30),
    [],
    'no pool is closed before the run has ended',
  )
  t.ok(
    log.some(({ event, operation }) => event === 'release' && operation === 'payments.retry'),
    'the run is handed back',
  )
  t.match(await client.get(location), { status: 200, json: { status: 'In progress' } })
  t.match(
    await client.post(interruptedRetry, { force_retry: true }),
    { status: 409, json: { code: 'retry-running' } },
    'with its claim',
  )

  await startWorker(t, { ...environment, PACE: '0.02' })
  const end = await until(
    () => client.get(location),
    ({ json }) => json.status !== 'In progress',
    ...patience,
  )
  t.match(end, { status: 303, json: { status: 'Succeeded' } }, 'another process ends it')
}
