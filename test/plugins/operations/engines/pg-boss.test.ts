/** The engine on pg-boss, over a PostgreSQL server of these tests alone. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'pg'
import PgBoss from 'pg-boss'
import t, { type Test } from 'tap'
import { type PgBossEngineOptions, pgBossEngine } from '../../../../src/plugins/operations/engines/pg-boss.js'
import { obstacleToPostgres, type PrivatePostgres, startPostgres } from '../../../support/postgres.js'
import { keepsEngineContract, started } from './engine-contract.js'
import { fakeWorker, gate, isDone, newJob, secondsOf, succeeded, until } from './fake-worker.js'

const obstacle = await obstacleToPostgres()
const skip = obstacle !== null && !process.env.CI ? obstacle : false
const bouncer = spawnSync('pgbouncer', ['--version']).error === undefined
const unreachable = 'the queue of operations cannot be reached'

const quick = { migrate: true }

t.test('the contract', { skip }, async (t) => {
  const { url } = await server(t)
  const pool = poolOf(t, url)
  let queues = 0
  await keepsEngineContract(
    t,
    () => {
      queues += 1
      const queue = `queue-${queues}`
      return (options) => pgBossEngine({ postgres: url, queue, ...quick, ...options })
    },
    true,
    (id) => pool.query("update pgboss.job set state = 'created', started_on = null where id = $1", [id]),
  )
})

t.test(
  'it works behind PgBouncer in transaction mode',
  { skip: skip || (!bouncer && !process.env.CI ? 'there is no pgbouncer in PATH' : false) },
  async (t) => {
    const postgres = await server(t)
    const pool = poolOf(t, await startBouncer(t, postgres.url))
    const worker = fakeWorker((_, count) => (count === 1 ? { kind: 'retry' } : succeeded))
    const engine = await started(t, pgBossEngine({ postgres: pool, ...quick }), worker)
    const jobs = Array.from({ length: 20 }, () => newJob())
    await Promise.all(jobs.map((job) => engine.enqueue(job)))
    await until(() => worker.ran.length === 40, 'each runs twice')
    await engine.close()
    t.equal((await pool.query('select 1 as one')).rows[0].one, 1, 'the pool of the app stays open')
    t.strictSame(worker.log, [])
  },
)

t.test('the table shows the names and the states of operations', { skip }, async (t) => {
  const { url } = await server(t)
  const end = gate()
  const running = newJob({ name: 'run' })
  const worker = fakeWorker(async (id) => {
    if (id === running.id) await end.passed
    return succeeded
  })
  const engine = await started(t, pgBossEngine({ postgres: url, ...quick, concurrency: 1 }), worker)
  for (const job of [newJob({ name: 'done' }), running, newJob({ name: 'wait' })]) await engine.enqueue(job)
  await until(() => worker.ran.length === 2, 'one runs')
  const { rows } = await poolOf(t, url).query(
    "select data->>'name' as name, state::text from pgboss.job where name = 'operations' order by created_on",
  )
  t.strictSame(rows, [
    { name: 'done', state: 'completed' },
    { name: 'run', state: 'active' },
    { name: 'wait', state: 'created' },
  ])
  end.open()
})

t.test('an operation in progress whose job has ended, or died, runs again', { skip }, async (t) => {
  const { url } = await server(t)
  const pool = poolOf(t, url)
  const worker = fakeWorker()
  const engine = await started(t, pgBossEngine({ postgres: url, ...quick }), worker)
  const job = newJob()
  const isCompleted = async () => {
    const { rows } = await pool.query("select 1 from pgboss.job where id = $1 and state = 'completed'", [
      job.id,
    ])
    return rows.length === 1
  }
  await engine.enqueue(job)
  await until(isCompleted, 'it has run')
  await engine.enqueue(job)
  await until(async () => worker.ran.length === 2 && (await isCompleted()), 'it has run again')
  await pool.query("update pgboss.job set state = 'active' where id = $1", [job.id])
  await engine.enqueue(job)
  await until(async () => worker.ran.length === 3 && (await isCompleted()), 'after the process died')
})

t.test('the start says what to do about the schema', { skip }, async (t) => {
  const { url } = await server(t)
  const pool = poolOf(t, url)
  const engine = (options = {}) => pgBossEngine({ postgres: url, ...options })
  await t.rejects(
    engine().start(fakeWorker()),
    /pg-boss is not installed in the PostgreSQL schema 'pgboss': start once with `migrate: true`/,
  )
  await pool.query(PgBoss.getConstructionPlans('pgboss'))
  await t.rejects(
    engine().start(fakeWorker()),
    /there is no queue 'operations' of pg-boss in the schema 'pgboss'/,
  )
  const first = engine({ migrate: true })
  await first.start(fakeWorker())
  await first.close()
  const second = engine()
  await second.start(fakeWorker())
  await second.close()
  await pool.query('update pgboss.version set version = version - 1')
  await t.rejects(engine().start(fakeWorker()), /requires migrations in the PostgreSQL schema 'pgboss'/)
  await until(async () => (await connections(pool)) === 1, 'nothing stays open')
})

t.test('processes that start at once create the queue once', { skip }, async (t) => {
  const { url: postgres } = await server(t)
  await started(t, pgBossEngine({ postgres, migrate: true }), fakeWorker())
  for (let queue = 1; queue <= 5; queue += 1) {
    // With a pool of its own for each, as processes have.
    const engines = Array.from({ length: 6 }, () =>
      pgBossEngine({ postgres, migrate: true, queue: `queue-${queue}` }),
    )
    await Promise.all(engines.map((engine) => started(t, engine, fakeWorker())))
  }
})

t.test('an idle process sends about one statement in a second', { skip }, async (t) => {
  const { url } = await server(t)
  const pool = poolOf(t, url)
  let statements = 0
  const postgres = {
    query: (text: string, values?: unknown[]) => {
      statements += 1
      return pool.query(text, values)
    },
  }
  await started(t, pgBossEngine({ postgres, migrate: true }), fakeWorker())
  statements = 0
  await pause(2_000)
  t.ok(statements >= 1 && statements <= 6, `${statements} statements in two seconds`)
})

t.test('a worker outlives its connections, and the log has two lines', { skip }, async (t) => {
  const { url } = await server(t)
  const pool = poolOf(t, url)
  const worker = fakeWorker()
  const engine = await started(t, pgBossEngine({ postgres: url, ...quick }), worker)
  await pool.query('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()')
  const job = newJob()
  await until(() => isDone(engine.enqueue(job)), 'it can be added')
  await until(() => worker.ran.includes(job.id), 'it runs')
  await until(() => worker.log.length === 0 || worker.log.at(-1) === 'recovered', 'the failure is over')
  t.ok(worker.log.length <= 2, worker.log.join(', '))
})

t.test('while PostgreSQL is gone, a start fails and an engine closes in time', { skip }, async (t) => {
  const postgres = await server(t)
  const worker = fakeWorker()
  const engine = await started(t, pgBossEngine({ postgres: postgres.url, ...quick }), worker)
  await postgres.stop()
  t.ok((await secondsOf(t.rejects(engine.enqueue(newJob())))) <= 5)
  await pause(500)
  t.ok((await secondsOf(engine.close())) <= 6)
  await t.rejects(pgBossEngine({ postgres: postgres.url }).start(worker), { code: 'ENOENT' })
  t.equal(worker.log[0], unreachable)
})

t.test('invalid options are refused by their name', async (t) => {
  const rows: [unknown, RegExp][] = [
    [undefined, /pgBossEngine\.postgres: expected a postgres:/],
    [{ postgres: 'http://user:secret@a' }, /pgBossEngine\.postgres: expected.*received 'http:\/\/…@a'/],
    [{ postgres: {} }, /pgBossEngine\.postgres: expected/],
    [{ postgres: 'postgres://a', queue: 'a b' }, /pgBossEngine\.queue/],
    [{ postgres: 'postgres://a', concurrency: 0 }, /pgBossEngine\.concurrency/],
    [{ postgres: 'postgres://a', maxQueued: 0 }, /pgBossEngine\.maxQueued/],
    [{ postgres: 'postgres://a', migrate: 'yes' }, /pgBossEngine\.migrate/],
    [{ postgres: 'postgres://a', work: 'yes' }, /pgBossEngine\.work/],
  ]
  for (const [options, message] of rows) {
    t.throws(() => pgBossEngine(options as PgBossEngineOptions), { message }, JSON.stringify(options))
  }
})

async function server(t: Test): Promise<PrivatePostgres> {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  return postgres
}

function poolOf(t: Test, connectionString: string): Pool {
  const pool = new Pool({ connectionString })
  pool.on('error', () => {})
  t.teardown(() => pool.end())
  return pool
}

async function connections(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    "select count(*)::int as count from pg_stat_activity where backend_type = 'client backend'",
  )
  return Number(rows[0]?.count)
}

/** Starts a PgBouncer in front of a server; returns its URL. */
async function startBouncer(t: Test, url: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'))
  const port = 20_000 + (process.pid % 10_000)
  const socket = decodeURIComponent(/@([^/]+)\//.exec(url)?.[1] ?? '')
  const settings = join(folder, 'pgbouncer.ini')
  await writeFile(
    settings,
    `[databases]
postgres = host=${socket} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
`,
  )
  // PgBouncer refuses to run as root.
  const account = process.getuid?.() === 0 ? ['-u', 'postgres'] : []
  for (const [path, mode] of [
    [folder, 0o755],
    [settings, 0o644],
  ] as const) {
    await chmod(path, mode)
  }
  const child = spawn('pgbouncer', [...account, settings], { stdio: 'ignore' })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
    await rm(folder, { recursive: true, force: true })
  })
  await until(async () => {
    const connection = connect(port, '127.0.0.1')
    const isOpen = await once(connection, 'connect').then(
      () => true,
      () => false,
    )
    connection.destroy()
    return isOpen
  }, 'PgBouncer listens')
  return `postgres://postgres@127.0.0.1:${port}/postgres`
}
