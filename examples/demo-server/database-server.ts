import pg from 'pg'
import { columnParsers } from './column-types.js'
import { type Database, type Queries, type Row, type Statement, translated } from './database.js'

/** What a pool and a client of it have in common. */
type Runner = Pick<pg.Pool, 'query'> | Pick<pg.PoolClient, 'query'>

/**
 * A PostgreSQL server, by its URL.
 *
 * @param onIdleError Told when a connection that nobody uses breaks, as when the server restarts. The pool opens a
 * new one by itself.
 */
export async function openServerDatabase(
  url: string,
  onIdleError: (error: Error) => void = () => undefined,
): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    // Also how long a request waits for one of the connections.
    connectionTimeoutMillis: 10_000,
    options: '-c TimeZone=UTC -c DateStyle=ISO',
    types: { getTypeParser: (type: number) => columnParsers[type] ?? String },
  })
  pool.on('error', onIdleError)
  try {
    await pool.query('select 1')
  } catch (error) {
    await pool.end()
    throw error
  }
  return {
    query: queriesOf(pool).query,
    transaction: (work) => inTransaction(pool, work),
    close: () => pool.end(),
  }
}

async function inTransaction<T>(pool: pg.Pool, work: (queries: Queries) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken = false
  try {
    await client.query('begin')
    const result = await work(queriesOf(client))
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => {
      broken = true
    })
    throw error
  } finally {
    client.release(broken)
  }
}

function queriesOf(runner: Runner): Queries {
  return {
    async query({ text, values = [] }: Statement): Promise<Row[]> {
      try {
        return (await runner.query<Row>(text, [...values])).rows
      } catch (error) {
        throw translated(error)
      }
    },
  }
}
