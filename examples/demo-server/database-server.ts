import { ProblemError } from 'fastify-conventions'
import pg from 'pg'
import { columnParsers } from './column-types.js'
import {
  ConstraintViolation,
  type Database,
  type Queries,
  type Row,
  type Statement,
  translated,
} from './database.js'

/** What a pool and a client of it have in common. */
type Runner = Pick<pg.Pool, 'query'> | Pick<pg.PoolClient, 'query'>

/** How long a request waits for a connection, and for the result of a statement, in milliseconds. */
export const databaseTimeouts = { connectionTimeoutMillis: 2_000, query_timeout: 3_000 } as const

// Longer than any migration takes.
const oneHour = 3_600_000

/**
 * A PostgreSQL server, by its URL. Where the server is down or does not answer in time, what is asked of it rejects with
 * the problem `database-unavailable`: 503, with `Retry-After`.
 *
 * @param onIdleError Called when a connection that is not in use breaks, as when the server restarts. The pool opens a
 * new one by itself.
 */
export async function openServerDatabase(
  url: string,
  onIdleError: (error: Error) => void = () => undefined,
): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    ...databaseTimeouts,
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
    transaction: (work, { mayTakeLong = false } = {}) =>
      inTransaction(pool, work, mayTakeLong ? oneHour : databaseTimeouts.query_timeout),
    close: () => pool.end(),
  }
}

async function inTransaction<T>(
  pool: pg.Pool,
  work: (queries: Queries) => Promise<T>,
  timeout: number,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw withoutServer(error)
  })
  // Without a listener a connection that breaks would end the process. The statement that runs on it rejects as well.
  const ignore = () => undefined
  client.on('error', ignore)
  const queries = queriesOf(client, timeout)
  let broken = false
  try {
    await queries.query({ text: 'begin' })
    const result = await work(queries)
    await queries.query({ text: 'commit' })
    return result
  } catch (error) {
    broken = isUnavailable(error)
    if (!broken) {
      await queries.query({ text: 'rollback' }).catch(() => {
        broken = true
      })
    }
    throw error
  } finally {
    client.off('error', ignore)
    client.release(broken)
  }
}

function queriesOf(runner: Runner, timeout: number = databaseTimeouts.query_timeout): Queries {
  return {
    async query({ text, values = [] }: Statement): Promise<Row[]> {
      try {
        const query = { text, values: [...values], query_timeout: timeout }
        return (await runner.query<Row>(query)).rows
      } catch (error) {
        throw withoutServer(translated(error))
      }
    },
  }
}

const unavailable = 'database-unavailable'

/** What the server did not say itself is about the connection to it: refused, broken, or too slow. */
function withoutServer(error: unknown): unknown {
  const isAnswer = error instanceof pg.DatabaseError && !goingAway.test(error.code ?? '')
  if (isAnswer || error instanceof ConstraintViolation) return error
  return new ProblemError(unavailable, { status: 503, headers: { 'retry-after': '5' }, cause: error })
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ProblemError && error.code === unavailable
}

// PostgreSQL, appendix A: connection exceptions, too many connections, the server shuts down or starts.
const goingAway = /^(08...|53300|57P0[1-3])$/
