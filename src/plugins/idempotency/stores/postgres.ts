import { type Check, type Checks, invalid, isObject, objectOf, text } from '../../../options.js'
import type { PostgresQuery } from '../../../stores/postgres-connection.js'
import { withRetries } from '../../../stores/postgres-retry.js'
import type {
  IdempotencyClaim,
  IdempotencyRecord,
  IdempotencyStore,
  IdempotencyTransaction,
} from './store.js'

/** What runs the statements of the store: the pool of [pg](https://github.com/brianc/node-postgres), or [PGlite](https://pglite.dev). */
export interface PostgresIdempotencyPool {
  query(text: string, values?: unknown[]): Promise<Pick<Awaited<ReturnType<PostgresQuery['query']>>, 'rows'>>
}

/** Options of {@link postgresIdempotency}. */
export interface PostgresIdempotencyOptions {
  /**
   * The table, with or without its schema (`app.idempotency`): letters, digits and underscores, at most 50 of them.
   * Instances with the same table share their keys; use the same spelling for all of them.
   * @default 'fastify_conventions_idempotency'
   */
  readonly table?: string
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
  /**
   * Returns the changes of this store over a connection of the app, as part of its transaction.
   * @param connection a client that has begun a transaction, with `query(text, values)`, such as that of `pool.connect()`, or
   * the transaction of PGlite
   * @throws TypeError if it has no `query()`
   */
  within(connection: object): IdempotencyTransaction
}

/**
 * An {@link IdempotencyStore} in PostgreSQL (13 or later), or in PGlite. With it, `request.idempotency.keep()` writes the
 * answer in the transaction of the handler: the effect and its answer are committed together, or not at all, whatever
 * process or connection fails. `migrate()` creates the table, or your own tool with `migration`; `check()` rejects if the
 * table is missing, or cannot be written.
 *
 * Each key is one row; each step is one statement, which never waits for the transaction of a handler. Leases and retention
 * end by the clock of the server.
 *
 * With `synchronous_commit = off`, a crash of the server may lose the last answers with their effects, and with an
 * `UNLOGGED` table the answers without their effects.
 *
 * Not if the answers need no transaction and there is a Redis: `redisIdempotency` costs less.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function postgresIdempotency(
  pool: PostgresIdempotencyPool,
  options: PostgresIdempotencyOptions = {},
): PostgresIdempotencyStore {
  const postgres = withQuery('postgresIdempotency: the pool', pool)
  const { table } = {
    table: 'fastify_conventions_idempotency',
    ...objectOf(optionChecks)('postgresIdempotency', options),
  }
  const statements = statementsOn(table)

  const run: Query = async (statement, values) =>
    (await withRetries(() => postgres.query(statement, values))).rows

  return {
    isShared: true,
    migration: statements.migration,
    async check() {
      try {
        // All rights are needed: the row is inserted or updated, and its time is over at once.
        await run(statements.complete, ['check', 'check', '', '', 0])
        await run(statements.expire, [1])
      } catch (cause) {
        throw new Error(
          `the table ${table} cannot be used. Run migrate() of the store, or the SQL in its property migration, as the owner of the table; a right is granted by GRANT`,
          { cause },
        )
      }
    },
    async migrate() {
      for (const statement of statements.migration) {
        // Of two processes, one may find that the other has just created it.
        await postgres.query(statement).catch(() => postgres.query(statement))
      }
    },
    async claim({ key, token, fingerprint }, lease) {
      for (let attempts = 1; attempts <= mostAttempts; attempts += 1) {
        const isLast = attempts === mostAttempts
        const [row] = await run(statements.claim, [key, token, fingerprint, lease, isLast])
        if (!isObject(row)) continue
        if (row.is_claimed === true) return null
        const { token: foundToken, fingerprint: foundFingerprint, answer } = row
        return { key, token: foundToken, fingerprint: foundFingerprint, answer } as IdempotencyRecord
      }
      throw new Error('the key is claimed and released again and again')
    },
    renew: async ({ key, token }, lease) => (await run(statements.renew, [key, token, lease])).length > 0,
    ...changes(run, statements),
    async release({ key, token }) {
      await run(statements.release, [key, token])
    },
    expire: async (limit) => (await run(statements.expire, [limit])).length,
    within(connection) {
      const { query } = connection as Partial<PostgresIdempotencyPool>
      if (typeof query !== 'function') throw new TypeError('within: expected a connection with query()')
      return changes(
        async (statement, values) => (await query.call(connection, statement, values)).rows,
        statements,
      )
    },
  }
}

type Query = (statement: string, values: unknown[]) => Promise<readonly unknown[]>

type Statements = ReturnType<typeof statementsOn>

function changes(query: Query, statements: Statements): IdempotencyTransaction {
  return {
    async complete({ key, token, fingerprint }: IdempotencyClaim, answer, keepFor) {
      return (await query(statements.complete, [key, token, fingerprint, answer, keepFor])).length > 0
    },
  }
}

const mostAttempts = 5

/** @param name of the table, with or without that of its schema; it needs quotes only for uppercase letters */
function statementsOn(name: string) {
  const names = name.split('.')
  const table = names.map((part) => `"${part}"`).join('.')
  const now = 'clock_timestamp()'
  const in$ = (parameter: string) => `${now} + ${parameter}::float8 * interval '1 millisecond'`
  // A row that a transaction of the app has changed is left to it, and its statement does not wait.
  const unlocked = (condition: string) =>
    `key = ANY (ARRAY(SELECT key FROM ${table} WHERE ${condition} FOR UPDATE SKIP LOCKED))`

  return {
    migration: [
      `CREATE TABLE IF NOT EXISTS ${table} (
  key text COLLATE "C" PRIMARY KEY,
  token text NOT NULL,
  fingerprint text NOT NULL,
  expires_at timestamptz NOT NULL,
  answer text
)`,
      `CREATE INDEX IF NOT EXISTS "${names.at(-1)}_expiry" ON ${table} (expires_at)`,
    ],
    /** Claims a key that is free, or whose time is over; else returns the row. */
    claim: `WITH found AS MATERIALIZED (
  SELECT token, fingerprint, answer, expires_at > ${now} AS is_current FROM ${table} WHERE key = $1
), taken AS (
  UPDATE ${table} SET token = $2, fingerprint = $3, answer = NULL, expires_at = ${in$('$4')}
  WHERE ${unlocked(`key = $1 AND expires_at <= ${now} AND EXISTS (SELECT FROM found WHERE NOT is_current)`)}
  RETURNING key
), claimed AS (
  INSERT INTO ${table} (key, token, fingerprint, expires_at)
  SELECT $1, $2, $3, ${in$('$4')} WHERE NOT EXISTS (SELECT FROM found)
  ON CONFLICT (key) DO NOTHING RETURNING key
)
SELECT true AS is_claimed, NULL AS token, NULL AS fingerprint, NULL AS answer FROM taken
UNION ALL SELECT true, NULL, NULL, NULL FROM claimed
UNION ALL SELECT false, token, fingerprint, answer FROM found
WHERE is_current OR ($5::boolean AND answer IS NULL AND NOT EXISTS (SELECT FROM taken))`,
    renew: `UPDATE ${table} SET expires_at = ${in$('$3')}
WHERE ${unlocked('key = $1 AND token = $2 AND answer IS NULL')} RETURNING key`,
    complete: `INSERT INTO ${table} AS stored (key, token, fingerprint, answer, expires_at)
VALUES ($1, $2, $3, $4, ${in$('$5')})
ON CONFLICT (key) DO UPDATE SET token = $2, fingerprint = $3, answer = $4, expires_at = ${in$('$5')}
WHERE stored.token = $2 OR stored.expires_at <= ${now} RETURNING key`,
    release: `DELETE FROM ${table} WHERE ${unlocked('key = $1 AND token = $2 AND answer IS NULL')} RETURNING key`,
    expire: `DELETE FROM ${table} WHERE key = ANY (ARRAY(
  SELECT key FROM ${table} WHERE expires_at <= ${now} ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
)) RETURNING key`,
  }
}

const optionChecks: Checks<PostgresIdempotencyOptions> = {
  table: text(
    'the name of a table, with or without that of its schema',
    /^([A-Za-z_]\w{0,62}\.)?[A-Za-z_]\w{0,49}$/,
  ),
}

const withQuery: Check<PostgresIdempotencyPool> = (label, received) =>
  isObject(received) && typeof received.query === 'function'
    ? (received as unknown as PostgresIdempotencyPool)
    : invalid(label, 'a pool with query(), such as that of pg', received)
