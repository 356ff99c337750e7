import { ProblemError } from 'fastify-conventions'
import { type PostgresPoolClient, sql } from 'kysely'
import pg from 'pg'
import { complain } from './complain.js'
import { columnParsers, type Database, databaseOf } from './database.js'

/** How long a request waits for a connection, and for the result of a statement, in milliseconds. */
export const databaseTimeouts = { connectionTimeoutMillis: 2_000, query_timeout: 3_000 } as const

// Where the server is down or does not reply in time, statements reject with a 503 with `Retry-After`.
export async function openServerDatabase(
  url: string,
  query_timeout: number = databaseTimeouts.query_timeout,
): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    ...databaseTimeouts,
    query_timeout,
    options: '-c TimeZone=UTC -c DateStyle=ISO',
    types: { getTypeParser: (type: number) => columnParsers[type] ?? String },
  })
  // A connection that is not in use breaks when the server restarts. The pool opens a new one by itself.
  pool.on('error', complain)
  try {
    await pool.query('select 1')
  } catch (error) {
    await pool.end()
    throw error
  }
  const database = databaseOf({ connect: () => connect(pool), end: () => pool.end() })
  // Kysely ends a pool that it has used.
  await sql`select 1`.execute(database)
  return database
}

async function connect(pool: pg.Pool): Promise<PostgresPoolClient> {
  const client = await pool.connect().catch((error: unknown) => {
    throw unavailable(error)
  })
  // Without a listener a connection that breaks would end the process. The statement that runs on it rejects as well.
  const ignore = () => undefined
  client.on('error', ignore)
  let failure: ProblemError | undefined
  return {
    async query(text: string, values: readonly unknown[]) {
      // The statement that got no reply may still run, so nothing follows it on this connection.
      if (failure !== undefined) throw failure
      try {
        return await client.query(text, [...values])
      } catch (error) {
        if (isReply(error)) throw error
        failure = unavailable(error)
        throw failure
      }
    },
    release() {
      client.off('error', ignore)
      client.release(failure)
    },
  } as unknown as PostgresPoolClient
}

/** Whether an error is the server's own reply, and not about the connection to it: refused, broken, or too slow. */
function isReply(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !goingAway.test(error.code ?? '')
}

function unavailable(cause: unknown): ProblemError {
  return new ProblemError('database-unavailable', { status: 503, headers: { 'retry-after': '5' }, cause })
}

// PostgreSQL, appendix A: connection exceptions, too many connections, the server shuts down or starts.
const goingAway = /^(08...|53300|57P0[1-3])$/
