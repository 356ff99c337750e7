// Own process: waits for PostgreSQL
/** The engine on pg-boss, over PostgreSQL servers of these tests alone. Lost connections and PgBouncer are in ../faults. */
import { setTimeout as pause } from 'node:timers/promises'
import * as pgBoss from 'pg-boss'
import t from 'tap'
import { pgBossEngine } from '../../../../src/plugins/operations/engines/pg-boss.js'
import { poolOf, postgresOf, skipWithoutPostgres } from '../../../support/postgres.js'
import { keepsEngineContract, started } from './engine-contract.js'
import { fakeWorker, newJob, secondsOf, until } from './fake-worker.js'

const skip = await skipWithoutPostgres()
// pg-boss 12 exports it by its name.
type Named = Partial<typeof pgBoss.default>
const { getConstructionPlans = pgBoss.default.getConstructionPlans } = pgBoss as Named

t.test('the contract', { skip }, async (t) => {
  const { url } = await postgresOf(t)
  const pool = poolOf(t, url)
  let queues = 0
  const newQueue = () => {
    queues += 1
    const queue = `queue-${queues}`
    return (options = {}) => pgBossEngine({ postgres: url, queue, migrate: true, ...options })
  }
  const again = "update pgboss.job set state = 'created', started_on = null where id = $1"
  await keepsEngineContract(t, newQueue, true, (id) => pool.query(again, [id]))
})

t.test('an operation in progress whose job has ended, or died, runs again', { skip }, async (t) => {
  const { url } = await postgresOf(t)
  const pool = poolOf(t, url)
  const worker = fakeWorker()
  const engine = await started(t, pgBossEngine({ postgres: url, migrate: true }), worker)
  const job = newJob()
  const completed = "select from pgboss.job where id = $1 and state = 'completed'"
  const isCompleted = async () => (await pool.query(completed, [job.id])).rowCount === 1
  await engine.enqueue(job)
  await until(isCompleted, 'it has run')
  await engine.enqueue(job)
  await until(async () => worker.ran.length === 2 && (await isCompleted()), 'it has run again')
  await pool.query("update pgboss.job set state = 'active' where id = $1", [job.id])
  await engine.enqueue(job)
  await until(async () => worker.ran.length === 3 && (await isCompleted()), 'after the process died')
})

t.test('a start goes on where another process creates the schema meanwhile', { skip }, async (t) => {
  const pool = poolOf(t, (await postgresOf(t)).url)
  const constraint = 'pg_namespace_nspname_index'
  let created = 0
  const query = async (text: string, values?: unknown[]) => {
    const result = await pool.query(text, values)
    if (!/create schema/i.test(text) || ++created > 1) return result
    throw Object.assign(new Error('duplicate key value violates a unique constraint'), { constraint })
  }
  await started(t, pgBossEngine({ postgres: { query }, migrate: true }), fakeWorker())
  t.equal(created, 1)
})

t.test('the start says what to do about the schema', { skip }, async (t) => {
  const { url } = await postgresOf(t)
  const pool = poolOf(t, url)
  const engine = (options = {}) => pgBossEngine({ postgres: url, ...options })
  const fails = (message: RegExp) => t.rejects(engine().start(fakeWorker()), message)
  await fails(/pg-boss is not installed in the PostgreSQL schema 'pgboss': start once with `migrate: true`/)
  await pool.query(getConstructionPlans('pgboss'))
  await fails(/there is no queue 'operations' of pg-boss in the schema 'pgboss'/)
  for (const each of [engine({ migrate: true }), engine()]) {
    await each.start(fakeWorker())
    await each.close()
  }
  await pool.query('update pgboss.version set version = version - 1')
  await fails(/requires migrations in the PostgreSQL schema 'pgboss'/)
  const clients = "select from pg_stat_activity where backend_type = 'client backend'"
  await until(async () => (await pool.query(clients)).rowCount === 1, 'nothing stays open')
})

t.test('processes that start at once create the queue once', { skip }, async (t) => {
  const { url: postgres } = await postgresOf(t)
  await started(t, pgBossEngine({ postgres, migrate: true }), fakeWorker())
  const engines = Array.from({ length: 6 }, () => pgBossEngine({ postgres, migrate: true, queue: 'shared' }))
  await t.resolves(Promise.all(engines.map((engine) => started(t, engine, fakeWorker()))))
})

t.test('an idle process sends about one statement in a second', { skip }, async (t) => {
  const { url } = await postgresOf(t)
  const pool = poolOf(t, url)
  let statements = 0
  const query = (text: string, values?: unknown[]) => {
    statements += 1
    return pool.query(text, values)
  }
  await started(t, pgBossEngine({ postgres: { query }, migrate: true }), fakeWorker())
  statements = 0
  await pause(2_000)
  t.ok(statements >= 1 && statements <= 6, `${statements} statements in two seconds`)
})

t.test('while PostgreSQL is gone, a start fails and an engine closes in time', { skip }, async (t) => {
  const postgres = await postgresOf(t)
  const worker = fakeWorker()
  const engine = await started(t, pgBossEngine({ postgres: postgres.url, migrate: true }), worker)
  await postgres.stop()
  t.ok((await secondsOf(t.rejects(engine.enqueue(newJob())))) <= 5)
  await pause(500)
  t.ok((await secondsOf(engine.close())) <= 6)
  await t.rejects(pgBossEngine({ postgres: postgres.url }).start(worker), { code: 'ENOENT' })
  t.equal(worker.log[0], 'the queue of operations cannot be reached')
})
