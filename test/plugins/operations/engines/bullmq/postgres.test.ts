/** Operations that BullMQ hands out: over a PostgreSQL server of these tests alone. */
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'pg'
import t, { type Test } from 'tap'
import { type BullmqEngineOptions, bullmqEngine } from '../../../../../src/engines/bullmq.js'
import { obstacleToPostgres, type PrivatePostgres, startPostgres } from '../../../../support/postgres.js'
import { keepsEngineContract, newId, started } from './engine-contract.js'
import { cannotBeReached, fakeWorker, isTaken, secondsOf, until } from './fake-worker.js'

const obstacle = await obstacleToPostgres()
const skip = obstacle !== null && !process.env.CI ? obstacle : false

t.test('in PostgreSQL', { skip }, async (t) => {
  const { url } = await server(t)
  await migrated(url)
  let queues = 0
  await keepsEngineContract(t, () => {
    queues += 1
    return { postgres: url, queue: `queue-${queues}` }
  })
})

t.test('a start says what to do about the schema', { skip }, async (t) => {
  const { url } = await server(t)
  const pool = poolOf(t, { connectionString: url })
  const written = t.capture(console, 'error')
  const worker = fakeWorker()

  await t.rejects(
    bullmqEngine({ postgres: url }).start(worker),
    /no BullMQ in the PostgreSQL schema 'bullmq': start once with `migrate: true`, or run runMigrations/,
  )
  await until(async () => (await connections(pool)) === 0, 'nothing stays open')

  await migrated(url)
  const engine = bullmqEngine({ postgres: url })
  await engine.start(worker)
  await engine.close()

  await pool.query('update bullmq.migration set version = version - 1')
  await t.rejects(
    bullmqEngine({ postgres: url }).start(worker),
    /'bullmq' is of version \d+, and this release works with version \d+: start once with `migrate: true`/,
  )
  await pool.query('update bullmq.migration set min_client_version = 99')
  await t.rejects(bullmqEngine({ postgres: url }).start(worker), /Upgrade BullMQ/)
  await until(async () => (await connections(pool)) === 0, 'nothing stays open')
  t.strictSame([worker.told, written()], [[], []])
})

t.test('the schema has the name that it is given', { skip }, async (t) => {
  const { url } = await server(t)
  const postgres = { connectionString: url, schema: 'jobs' }
  await t.rejects(
    bullmqEngine({ postgres }).start(fakeWorker()),
    /schema 'jobs': .*runMigrations\(client, 'jobs'\)/,
  )
  const worker = fakeWorker()
  const engine = await started(t, { postgres, migrate: true }, worker)
  await engine.enqueue(newId())
  await until(() => worker.ran.length === 1, 'it runs')
})

t.test('a pool that was given stays open, and has to look into the schema', { skip }, async (t) => {
  const { url } = await server(t)
  const lost = poolOf(t, { connectionString: url })
  await t.rejects(
    bullmqEngine({ postgres: lost, migrate: true }).start(fakeWorker()),
    /the pool does not look into the PostgreSQL schema 'bullmq': .*-c search_path=bullmq/,
  )
  const pool = poolOf(t, { connectionString: url, options: '-c search_path=bullmq', max: 2 })
  const worker = fakeWorker()
  const engine = await started(t, { postgres: pool }, worker)
  await engine.enqueue(newId())
  await until(() => worker.ran.length === 1, 'it runs')
  await engine.close()
  t.equal((await pool.query('select 1 as one')).rows[0].one, 1)
  await until(async () => (await connections(lost, pool)) === 0, 'what the engine opened is closed')
})

t.test('a worker outlives its connections', { skip }, async (t) => {
  const { url } = await server(t)
  const pool = poolOf(t, { connectionString: url })
  const worker = fakeWorker()
  const engine = await started(t, { postgres: url, migrate: true }, worker)
  await pool.query('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()')
  const id = newId()
  await until(() => isTaken(engine.enqueue(id)), 'it can be put in')
  await until(() => worker.ran.includes(id), 'it runs')
  await until(() => worker.told.length === 0 || worker.told.at(-1) === 'recovered', 'the fault is over')
  // Each of the two ends of the queue finds out by itself.
  t.ok(worker.told.length <= 4, worker.told.join(', '))
})

t.test('a schema that goes away under a worker is not asked for without end', { skip }, async (t) => {
  const { url } = await server(t)
  const pool = poolOf(t, { connectionString: url })
  const worker = fakeWorker()
  const engine = await started(t, { postgres: url, migrate: true, concurrency: 4 }, worker)
  await pool.query('alter schema bullmq rename to away')
  await until(() => worker.told.length > 0, 'the worker has found out')
  const before = await rollbacks(pool)
  await pause(3_000)
  const tries = (await rollbacks(pool)) - before
  t.ok(tries > 0 && tries < 30, `${tries} tries in three seconds`)
  await pool.query('alter schema away rename to bullmq')
  const id = newId()
  await until(() => isTaken(engine.enqueue(id)), 'it can be put in')
  await until(() => worker.ran.includes(id), 'it runs')
  await until(() => worker.told.length === 2, 'the fault is over')
  t.strictSame(worker.told, [cannotBeReached, 'recovered'])
})

t.test('while PostgreSQL is gone a start fails and an engine closes in time', { skip }, async (t) => {
  const postgres = await server(t)
  const worker = fakeWorker()
  const engine = await started(t, { postgres: postgres.url, migrate: true }, worker)
  await postgres.stop()
  t.ok((await secondsOf(t.rejects(engine.enqueue(newId())))) <= 5)
  t.ok((await secondsOf(engine.close())) <= 6)
  await t.rejects(bullmqEngine({ postgres: postgres.url }).start(worker), { code: 'ENOENT' })
  t.strictSame(worker.told, [cannotBeReached])
})

t.test('options that say nothing, or too much, are refused', async (t) => {
  const refusals: [unknown, RegExp][] = [
    [undefined, /bullmqEngine: expected one of redis and postgres, received 'neither'/],
    [{}, /bullmqEngine: expected one of redis and postgres, received 'neither'/],
    [{ redis: 'redis://a', postgres: 'postgres://b' }, /expected one of redis and postgres, received 'both'/],
    [{ redis: 'redis://a', migrate: true }, /bullmqEngine\.migrate: expected nothing with a queue in Redis/],
    [{ redis: 'http://user:secret@a' }, /bullmqEngine\.redis: expected a redis:.*received 'http:\/\/…@a'/],
    [{ redis: 6379 }, /bullmqEngine\.redis: expected/],
    [{ postgres: 'redis://a' }, /bullmqEngine\.postgres: expected a postgres:/],
    [{ redis: 'redis://a', queue: 'a:b' }, /bullmqEngine\.queue: expected a name without ':'/],
    [{ redis: 'redis://a', concurrency: 0 }, /bullmqEngine\.concurrency/],
    [{ redis: 'redis://a', maxQueued: 0 }, /bullmqEngine\.maxQueued/],
    [{ redis: 'redis://a', work: 'yes' }, /bullmqEngine\.work/],
    [{ redis: 'redis://a', workers: 2 }, /bullmqEngine\.workers/],
  ]
  for (const [options, message] of refusals) {
    t.throws(() => bullmqEngine(options as BullmqEngineOptions), { message }, JSON.stringify(options))
  }
})

async function server(t: Test): Promise<PrivatePostgres> {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  return postgres
}

/** Brings the schema up to date, as a deployment would. */
async function migrated(url: string): Promise<void> {
  const engine = bullmqEngine({ postgres: url, work: false, migrate: true })
  await engine.start(fakeWorker())
  await engine.close()
}

function poolOf(t: Test, options: ConstructorParameters<typeof Pool>[0]): Pool {
  const pool = new Pool(options)
  pool.on('error', () => {})
  t.teardown(() => pool.end())
  return pool
}

/** How many there are to the server, but for those of these pools. */
async function connections(...pools: [Pool, ...Pool[]]): Promise<number> {
  const { rows } = await pools[0].query<{ count: number }>(
    "select count(*)::int as count from pg_stat_activity where backend_type = 'client backend'",
  )
  return Number(rows[0]?.count) - pools.reduce((sum, { totalCount }) => sum + totalCount, 0)
}

async function rollbacks(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select xact_rollback::int as count from pg_stat_database where datname = current_database()',
  )
  return Number(rows[0]?.count)
}
