import type { OperationEngine, OperationStore } from 'fastify-conventions'
import { pgBossEngine } from 'fastify-conventions/engines/pg-boss'
import { postgresOperationStore } from 'fastify-conventions/stores/postgres'
import pg from 'pg'

/** Opens records and queue in PostgreSQL, and a table of effects. */
export async function postgresBackend(
  url: string,
  work: boolean,
): Promise<{
  store: OperationStore
  engine: OperationEngine
  takeEffect: (id: string) => Promise<unknown>
}> {
  const pool = new pg.Pool({ connectionString: url })
  pool.on('error', () => {})
  const store = postgresOperationStore(pool)
  await store.migrate()
  await pool.query('CREATE TABLE IF NOT EXISTS effects (id text)').catch(() => {})
  return {
    store,
    engine: pgBossEngine({ postgres: url, migrate: true, work, concurrency: 10 }),
    takeEffect: (id) => pool.query('INSERT INTO effects VALUES ($1)', [id]),
  }
}
