// Own process: it is slow
/** The demo with its operations in Redis and in PostgreSQL: processes that serve, and one that works. */
import t, { type Test } from 'tap'
import { firstId } from '../../examples/demo-server/migrations.js'
import { endChild } from '../support/child.js'
import { postgresOf, skipWithoutPostgres } from '../support/postgres.js'
import { redisOf, skipWithoutRedis } from '../support/redis.js'
import { until } from '../support/until.js'
import { type Answer, type Caller, callerOf } from './client.js'
import { failureOf, spawnDemo, startDemo, startWorker } from './run-demo.js'

const skip = (await skipWithoutRedis()) || (await skipWithoutPostgres())
// These of the seeded payments failed, by a timeout.
const [retry = '', interruptedRetry = ''] = [3n, 17n].map((index) => `/v1/payments/${firstId + index}/retry`)

/** Polls an operation: it may be polled sixty times in a minute. */
function poll(client: Caller, location: string, isEnough: (answer: Answer) => boolean): Promise<Answer> {
  return until(() => client.get(location), isEnough, 15_000, 300)
}

const hasBegun = ({ json }: Answer) => Number(json.progress) > 0
const isOver = ({ json }: Answer) => json.status !== 'In progress'

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
  const end = await poll(other, location, isOver)
  t.equal(end.status, 303)
  const resource = end.headers.get('location') ?? ''
  t.match(await one.get(resource), { status: 200, json: { status: 'succeeded' } })
  t.match((await one.get(`${location}/status`)).json, { status: 'Succeeded', resourceLocation: resource })

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
  await poll(client, location, hasBegun)
  t.equal(await endChild(slow.process, 'SIGTERM'), 0)
  t.strictSame(slow.complaints, [])
  const log = slow.printed.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
  const faults = log.filter(({ level }) => level > 30)
  t.strictSame(faults, [], 'no pool is closed before the run has ended')
  const released = log.filter(({ event }) => event === 'release')
  t.match(released, [{ operation: 'payments.retry' }], 'the run is handed back')
  t.match(await client.get(location), { status: 200, json: { status: 'In progress' } })
  const again = await client.post(interruptedRetry, { force_retry: true })
  t.match(again, { status: 409, json: { code: 'retry-running' } }, 'with its claim')

  await startWorker(t, { ...environment, PACE: '0.02' })
  const end = await poll(client, location, isOver)
  t.match(end, { status: 303, json: { status: 'Succeeded' } }, 'another process ends it')
}
