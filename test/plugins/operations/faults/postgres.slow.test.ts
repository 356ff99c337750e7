import pg from 'pg'
import t from 'tap'
import { obstacleToPostgres, startPostgres } from '../../../support/postgres.js'
import { survivesDeploys, survivesFaults } from './fault-rows.js'

const obstacle = await obstacleToPostgres()
const skip = obstacle !== null && !process.env.CI ? obstacle : false

t.test('records and work in PostgreSQL', { skip }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.stop())
  await survivesFaults(t, { postgres: server.url })
})

t.test('PostgreSQL: deploys during 200 operations: each takes effect once', { skip }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.stop())
  const pool = new pg.Pool({ connectionString: server.url })
  pool.on('error', () => {})
  t.teardown(() => pool.end())
  await survivesDeploys(t, { postgres: server.url }, 2, 200, async (id) => {
    const { rows } = await pool.query('SELECT count(*)::int AS count FROM effects WHERE id = $1', [id])
    return rows[0].count
  })
})
