import {
  type Check,
  checksOf,
  flag,
  invalid,
  isObject,
  type OptionsOf,
  objectOf,
  option,
} from '../../../options.js'
import { listenTo, type PostgresPool, withRetries } from '../../../stores/postgres-client.js'
import { isFinal, recordSchema } from '../record.js'
import { type OperationStore, ownerKey, partsOf, readAll, recordOf, type StoredRecord } from './store.js'

const declared = {
  /**
   * Whether a connection of the pool listens to messages (`LISTEN`). `false` behind a pooler in transaction mode, which does
   * not deliver them: a run then finds out at its next heartbeat that it is cancelled.
   * @default true
   */
  listen: option(flag, true),
}

/** Options of {@link postgresOperationStore}. */
export interface PostgresOperationStoreOptions extends OptionsOf<typeof declared> {}

/** An {@link OperationStore} in PostgreSQL. */
export interface PostgresOperationStore extends OperationStore {
  /** The SQL of {@link migrate}, for a migration tool with rights that the service does not have. */
  readonly migration: string
  /**
   * Creates the table and its indexes, unless they exist. Several processes may call it at the same time.
   * @throws Error if the table has other columns than the store needs; the error of the server
   */
  migrate(): Promise<void>
}

/**
 * An {@link OperationStore} in PostgreSQL (13 or later), for several instances of a service. Each record is one row, and
 * each change is one statement, which compares the version. `migrate()` creates the table, or your own tool with
 * `migration`; `check()` rejects if the table is missing, or lacks something. The `search_path` of the pool says in which schema.
 *
 * Input and result have columns of their own: a heartbeat writes neither, and changes no index. The result is deleted when
 * the operation becomes a 410.
 *
 * A restart of the server loses no committed change. With `synchronous_commit = off`, a crash of the server may lose the last
 * changes, and with an `UNLOGGED` table all; a failover to an asynchronous standby may lose changes that it had not received.
 *
 * Messages are sent with `NOTIFY`. One connection of the pool listens, and does nothing else, until you call the
 * function that `listen` resolves with: call it before `pool.end()`, which waits for that connection. Processes that are not
 * connected miss the message. The other statements need no session: the pool may connect to a pooler in transaction mode, with
 * the option `listen: false`. Only the pool reports the failure of an idle connection (`pool.on('error', …)`).
 *
 * Not for very many short operations: a start, a run and an end are three writes; use `redisOperationStore`. Not for a
 * single instance whose operations may end with it: use `memoryOperationStore`, which needs no server.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function postgresOperationStore(
  pool: PostgresPool,
  options?: PostgresOperationStoreOptions,
): PostgresOperationStore {
  const [checks, defaults] = checksOf(declared)
  const { listen } = { ...defaults, ...objectOf(checks)('postgresOperationStore', options ?? {}) }
  const postgres = poolFor(listen)('postgresOperationStore: the pool', pool)

  const run = (statement: string, values: unknown[] = []) =>
    withRetries(() => postgres.query(statement, values))

  const check = async () => {
    try {
      await postgres.query(checkStatement)
    } catch (cause) {
      const message = `the table ${table} cannot be used: ${cause instanceof Error ? cause.message : cause}. ${remedy}`
      throw new Error(message, { cause })
    }
  }

  return {
    isShared: true,
    migration,
    check,
    async migrate() {
      // A role with rights on the table may not have the right to create it.
      const isThere = await check().then(
        () => true,
        () => false,
      )
      if (!isThere) await postgres.query(migration)
      await check()
    },
    async time() {
      const { rows } = await run('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now')
      return Number((rows[0] as { readonly now: unknown }).now)
    },
    async create(record, input) {
      const { id, version, schema, dueAt, owner, createdAt, onePer } = record
      const { document } = partsOf(record)
      const list = owner === null ? null : ownerKey(owner)
      const values = [id, version, schema, dueAt, document, input, onePer, list, createdAt]
      return (await run(statements.create, values)).rowCount === 1
    },
    async replace(previous, next) {
      const { id, version, dueAt, goneAt, status } = next
      const { document, outcome } = partsOf(next)
      const values = [id, previous.version, version, document]
      const { rowCount } = isFinal(next)
        ? await run(statements.end, [...values, dueAt, outcome, outcome === null ? null : goneAt, status])
        : await run(statements.replace, [...values, dueAt === previous.dueAt ? null : dueAt])
      return rowCount === 1
    },
    async get(id) {
      // A text in PostgreSQL cannot contain a NUL.
      if (id.includes('\0')) return null
      const [stored] = (await run(statements.get, [id])).rows
      return stored === undefined ? null : recordOf(stored as StoredRecord)
    },
    async input(id) {
      const [row] = (await run(statements.input, [id])).rows as readonly { readonly input: string | null }[]
      return row?.input ?? null
    },
    remove: async ({ id, version }) => (await run(statements.remove, [id, version])).rowCount === 1,
    async takeDue(time, until, limit) {
      const { rows } = await run(statements.takeDue, [time, until, limit])
      return readAll([...(rows as readonly TakenRecord[])].sort(byDueAt))
    },
    async expire(time, limit) {
      const emptied = await run(statements.empty, [time, limit])
      const expired = await run(statements.expire, [time, limit])
      return Math.max(emptied.rowCount ?? 0, expired.rowCount ?? 0)
    },
    async list(owner, { status, before, limit }) {
      const { createdAt, id } = before ?? { createdAt: Number.MAX_SAFE_INTEGER, id: '' }
      const values = [ownerKey(owner), limit, createdAt, id]
      const { rows } =
        status === undefined
          ? await run(statements.list, values)
          : await run(statements.listInStatus, [...values, status])
      return readAll(rows as readonly StoredRecord[])
    },
    async announce(id) {
      await postgres.query('SELECT pg_notify($1, $2)', [channel, id])
    },
    async listen(listener) {
      if (!listen) return async () => {}
      const stop = await listenTo(postgres, channel, listener)
      return async () => stop()
    },
  }
}

interface TakenRecord extends StoredRecord {
  readonly id: string
  /** When it was due; a number, or a text or BigInt, depending on the client. */
  readonly due_at: unknown
}

const channel = 'fastify_conventions_cancel'

const table = 'fastify_conventions_operations'

// The long ones are last, so that the log of a heartbeat leaves them out.
const columns = {
  // Compared by bytes: the order is the same everywhere, and does not depend on a collation of the database.
  id: 'text COLLATE "C" PRIMARY KEY',
  version: 'bigint NOT NULL',
  record_schema: 'integer NOT NULL',
  status: 'text COLLATE "C" NOT NULL',
  due_at: 'bigint',
  owner: 'text COLLATE "C"',
  created_at: 'bigint NOT NULL',
  gone_at: 'bigint',
  one_per: 'text COLLATE "C"',
  // As text: jsonb refuses \u0000, and keeps neither all digits nor the order of members.
  document: 'text NOT NULL',
  input: 'text',
  outcome: 'text',
}

// Pages that are filled by two thirds have room for the next version of a row: no index changes then.
const migration = `SELECT pg_advisory_xact_lock(hashtext('fastify-conventions'), hashtext('${table}'));
CREATE TABLE IF NOT EXISTS ${table} (
${Object.entries(columns)
  .map(([column, type]) => `  ${column} ${type}`)
  .join(',\n')}
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS ${table}_due ON ${table} (due_at, id) WHERE status = 'In progress';
CREATE INDEX IF NOT EXISTS ${table}_final ON ${table} (due_at, id) WHERE status <> 'In progress';
CREATE INDEX IF NOT EXISTS ${table}_gone ON ${table} (gone_at) WHERE gone_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS ${table}_owner ON ${table} (owner, created_at, id) WHERE owner IS NOT NULL;
CREATE INDEX IF NOT EXISTS ${table}_status ON ${table} (owner, status, created_at, id) WHERE owner IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS ${table}_one ON ${table} (one_per)
WHERE one_per IS NOT NULL AND status = 'In progress';
`

const checkStatement = `SELECT ${Object.keys(columns).join(', ')} FROM ${table} WHERE false`

// The list of ids is made once, so that the limit holds; rows that another process is at are left to it.
const first = (condition: string, order: string) =>
  `id = ANY (ARRAY(SELECT id FROM ${table} WHERE ${condition} ORDER BY ${order} LIMIT $2 FOR UPDATE SKIP LOCKED))`

const listOf = (condition: string) => `SELECT document, outcome FROM ${table}
WHERE owner = $1 AND record_schema = ${recordSchema} ${condition} AND (created_at, id) < ($3, $4)
ORDER BY created_at DESC, id DESC LIMIT $2`

const statements = {
  create: `INSERT INTO ${table}
(id, version, record_schema, status, due_at, document, input, one_per, owner, created_at)
VALUES ($1, $2, $3, 'In progress', $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
  get: `SELECT document, outcome FROM ${table} WHERE id = $1`,
  input: `SELECT input FROM ${table} WHERE id = $1`,
  replace: `UPDATE ${table} SET version = $3, document = $4, due_at = COALESCE($5, due_at)
WHERE id = $1 AND version = $2`,
  end: `UPDATE ${table} SET version = $3, document = $4, due_at = $5, outcome = $6, gone_at = $7, status = $8, input = NULL
WHERE id = $1 AND version = $2`,
  remove: `DELETE FROM ${table} WHERE id = $1 AND version = $2`,
  takeDue: `WITH due AS (SELECT id, due_at FROM ${table} WHERE status = 'In progress' AND due_at <= $1 AND record_schema = ${recordSchema}
ORDER BY due_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
UPDATE ${table} AS record SET due_at = $2 FROM due WHERE record.id = due.id
RETURNING record.id, record.document, record.outcome, due.due_at`,
  empty: `UPDATE ${table} SET outcome = NULL, gone_at = NULL WHERE ${first('gone_at <= $1', 'gone_at')}`,
  expire: `DELETE FROM ${table} WHERE ${first("status <> 'In progress' AND due_at <= $1", 'due_at, id')}`,
  list: listOf(''),
  listInStatus: listOf('AND status = $5'),
}

const remedy = 'Run migrate() of the store, or the SQL in its property migration, as the owner of the table'

const poolFor =
  (listens: boolean): Check<PostgresPool> =>
  (label, received) => {
    const isPool =
      isObject(received) && ['query', 'connect'].every((name) => typeof received[name] === 'function')
    if (!isPool) return invalid(label, 'a pool with query() and connect(), such as that of pg', received)
    const pool = received as unknown as PostgresPool
    // Listening would occupy it, and all statements would wait.
    const isTooSmall = listens && pool.options?.max === 1
    return isTooSmall ? invalid(label, 'a pool of two connections or more', 'max: 1') : pool
  }

function byDueAt(one: TakenRecord, other: TakenRecord): number {
  return Number(one.due_at) - Number(other.due_at) || (one.id < other.id ? -1 : 1)
}
