// Own process: it is slow
import t, { type Test } from 'tap'
import { poolOf, postgresOf, skipWithoutPostgres } from '../../../support/postgres.js'
import { obstacleToPgBouncer, startPgBouncer } from '../stores/pgbouncer.js'
import { survivesDeploys, survivesFaults, survivesRestarts } from './fleet.js'

const skip = await skipWithoutPostgres()
const skipBouncer = skip || (!process.env.CI && (await obstacleToPgBouncer()))

async function postgresFor(t: Test) {
  const server = await postgresOf(t)
  const pool = poolOf(t, server.url)
  const effectsOf = async (id: string): Promise<number> => {
    const { rows } = await pool.query('SELECT count(*)::int AS count FROM effects WHERE id = $1', [id])
    return rows[0].count
  }
  return { server, pool, place: { postgres: server.url }, effectsOf }
}

t.test('records and work in PostgreSQL', { skip }, async (t) => {
  const { place, effectsOf } = await postgresFor(t)
  await survivesFaults(t, place, effectsOf)
})

t.test('8 restarts during 200 operations: each takes effect once', { skip }, async (t) => {
  const { place, effectsOf } = await postgresFor(t)
  await survivesDeploys(t, place, 2, 200, effectsOf)
})

t.test('the same behind PgBouncer', { skip: skipBouncer }, async (t) => {
  const { server, effectsOf } = await postgresFor(t)
  const pooler = await startPgBouncer(server)
  t.teardown(() => pooler.stop())
  await survivesDeploys(t, { postgres: pooler.url }, 2, 200, effectsOf)
})

t.test('PostgreSQL ends, and its connections end, during 200 operations', { skip }, async (t) => {
  const { server, pool, place } = await postgresFor(t)
  const endAll = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()'
  await survivesRestarts(t, place, [() => server.restart(), async () => void (await pool.query(endAll))])
})
