import { isObject } from '../../../options.js'
import { type PostgresResult, poolOf, tableError, withRetries } from '../../../stores/postgres-client.js'
import type { IdempotencyRecord, IdempotencyStore } from './store.js'

/** What runs the statements of the store: the pool of [pg](https://github.com/brianc/node-postgres), or [PGlite](https://pglite.dev). */
export interface PostgresIdempotencyPool {
  query(text: string, values?: unknown[]): Promise<Pick<PostgresResult, 'rows'>>
}

/** An {@link IdempotencyStore} in PostgreSQL. */
export interface PostgresIdempotencyStore extends IdempotencyStore {
  /** The statements of {@link migrate}, for a migration tool with rights that the service does not have. */
  readonly migration: readonly string[]
  /**
   * Creates the table and its index, unless they exist. Several processes may call it at the same time.
   * @throws the error of the server
   */
  migrate(): Promise<void>
}

/**
 * An {@link IdempotencyStore} in PostgreSQL (13 or later), or in PGlite. With it, `request.idempotency.keep()` writes the
 * answer in the transaction of the handler: the effect and its answer are committed together, or not at all, whatever
 * process or connection fails. `migrate()` creates the table, or your own tool with `migration`. Each key is one row; each step
 * is one statement, which never waits for the transaction of a handler. With `synchronous_commit = off`, a crash of the server
 * may lose the last answers with their effects.
 *
 * Not if the answers need no transaction and there is a Redis: `redisIdempotency` costs less.
 *
 * @throws FST_CONV_OPTION_INVALID
 */
export function postgresIdempotency(pool: PostgresIdempotencyPool): PostgresIdempotencyStore {
  poolOf('postgresIdempotency: the pool', pool)
  const run = async (statement: string, values: unknown[]): Promise<readonly unknown[]> =>
    (await withRetries(() => pool.query(statement, values))).rows

  return {
    isShared: true,
    isTransactional: true,
    migration,
    async check() {
      try {
        // All rights are needed: the row is inserted or updated, and its time is over at once.
        await run(statements.complete, ['check', 'check', '', '', 0])
        await run(statements.expire, [])
      } catch (cause) {
        throw tableError(table, cause)
      }
    },
    async migrate() {
      for (const statement of migration) {
        // Of two processes, one may find that the other has just created it.
        await pool.query(statement).catch(() => pool.query(statement))
      }
    },
    async claim({ key, token, fingerprint }, lease) {
      const [row] = await run(statements.claim, [key, token, fingerprint, lease])
      // Without a row, another request has claimed the key just now, or its transaction has not ended.
      if (!isObject(row)) return { fingerprint, answer: null }
      return row.is_claimed === true ? null : (row as unknown as IdempotencyRecord)
    },
    renew: async ({ key, token }, lease) => (await run(statements.renew, [key, token, lease])).length > 0,
    async complete({ key, token, fingerprint }, answer, keepFor, connection) {
      const values = [key, token, fingerprint, answer, keepFor]
      if (connection === undefined) return (await run(statements.complete, values)).length > 0
      const client = connection as PostgresIdempotencyPool
      return (await client.query(statements.complete, values)).rows.length > 0
    },
    async release({ key, token }) {
      await run(statements.release, [key, token])
    },
    async expire() {
      await run(statements.expire, [])
    },
  }
}

const table = 'fastify_conventions_idempotency'
const now = 'clock_timestamp()'
const in$ = (parameter: string) => `${now} + ${parameter}::float8 * interval '1 millisecond'`
// A row that a transaction of the app has changed is left to it, and its statement does not wait.
const unlocked = (condition: string) =>
  `key = ANY (ARRAY(SELECT key FROM ${table} WHERE ${condition} FOR UPDATE SKIP LOCKED))`

const migration: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS ${table} (
  key text COLLATE "C" PRIMARY KEY,
  token text NOT NULL,
  fingerprint text NOT NULL,
  expires_at timestamptz NOT NULL,
  answer text
)`,
  `CREATE INDEX IF NOT EXISTS ${table}_expiry ON ${table} (expires_at)`,
]

const statements = {
  /** Claims a key that is free, or whose time is over; else returns the row. */
  claim: `WITH found AS MATERIALIZED (
  SELECT fingerprint, answer, expires_at > ${now} AS is_current FROM ${table} WHERE key = $1
), taken AS (
  UPDATE ${table} SET token = $2, fingerprint = $3, answer = NULL, expires_at = ${in$('$4')}
  WHERE ${unlocked(`key = $1 AND expires_at <= ${now} AND EXISTS (SELECT FROM found WHERE NOT is_current)`)}
  RETURNING key
), claimed AS (
  INSERT INTO ${table} (key, token, fingerprint, expires_at)
  SELECT $1, $2, $3, ${in$('$4')} WHERE NOT EXISTS (SELECT FROM found)
  ON CONFLICT (key) DO NOTHING RETURNING key
)
SELECT true AS is_claimed, NULL AS fingerprint, NULL AS answer FROM taken
UNION ALL SELECT true, NULL, NULL FROM claimed
UNION ALL SELECT false, fingerprint, answer FROM found WHERE is_current`,
  renew: `UPDATE ${table} SET expires_at = ${in$('$3')}
WHERE ${unlocked('key = $1 AND token = $2 AND answer IS NULL')} RETURNING key`,
  complete: `INSERT INTO ${table} AS stored (key, token, fingerprint, answer, expires_at)
VALUES ($1, $2, $3, $4, ${in$('$5')})
ON CONFLICT (key) DO UPDATE SET token = $2, fingerprint = $3, answer = $4, expires_at = ${in$('$5')}
WHERE stored.token = $2 OR stored.expires_at <= ${now} RETURNING key`,
  release: `DELETE FROM ${table} WHERE ${unlocked('key = $1 AND token = $2 AND answer IS NULL')} RETURNING key`,
  expire: `DELETE FROM ${table} WHERE key = ANY (ARRAY(
  SELECT key FROM ${table} WHERE expires_at <= ${now} ORDER BY expires_at LIMIT 10000 FOR UPDATE SKIP LOCKED
))`,
}
