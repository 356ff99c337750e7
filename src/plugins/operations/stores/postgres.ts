import { type PostgresPool, poolOf, tableError, withRetries } from '../../../stores/postgres-client.js'
import { isFinal, recordSchema } from '../record.js'
import { type OperationStore, ownerKey, readAll, recordOf, textOf } from './store.js'

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
 * each change is one statement, which needs no session. `migrate()` creates the table, or your own tool with `migration`, in
 * the schema that the `search_path` of the pool names. A restart of the server loses no committed change; a crash may lose the
 * last ones with `synchronous_commit = off`, and all with an `UNLOGGED` table.
 *
 * Not for very many short operations: a start, a run and an end are three writes; use `redisOperationStore`. Not for a
 * single instance whose operations may end with it: use `memoryOperationStore`, which needs no server.
 *
 * @throws FST_CONV_OPTION_INVALID
 */
export function postgresOperationStore(pool: PostgresPool): PostgresOperationStore {
  poolOf('postgresOperationStore: the pool', pool)
  const run = (statement: string, values: unknown[] = []) => withRetries(() => pool.query(statement, values))

  const check = async () => {
    try {
      await pool.query(checkStatement)
    } catch (cause) {
      throw tableError(table, cause)
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
      if (!isThere) await pool.query(migration)
      await check()
    },
    async time() {
      const { rows } = await run('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now')
      return Number((rows[0] as { readonly now: unknown }).now)
    },
    async create(record, input) {
      const { id, version, schema, dueAt, owner, createdAt, onePer } = record
      const list = owner === null ? null : ownerKey(owner)
      const values = [id, version, schema, dueAt, textOf(record), input, onePer, list, createdAt]
      return (await run(statements.create, values)).rowCount === 1
    },
    async replace(previous, next) {
      const { id, version, dueAt, status } = next
      const values = [id, previous.version, version, textOf(next)]
      const { rowCount } = isFinal(next)
        ? await run(statements.end, [...values, dueAt, status])
        : await run(statements.replace, [...values, dueAt === previous.dueAt ? null : dueAt])
      return rowCount === 1
    },
    async get(id) {
      // A text in PostgreSQL cannot contain a NUL.
      if (id.includes('\0')) return null
      const [stored] = (await run(statements.get, [id])).rows as readonly StoredRecord[]
      return stored === undefined ? null : recordOf(stored.document)
    },
    async input(id) {
      const [row] = (await run(statements.input, [id])).rows as readonly { readonly input: string | null }[]
      return row?.input ?? null
    },
    remove: async ({ id, version }) => (await run(statements.remove, [id, version])).rowCount === 1,
    async takeDue(time, until, limit) {
      const { rows } = await run(statements.takeDue, [time, until, limit])
      return documentsOf([...(rows as readonly TakenRecord[])].sort(byDueAt))
    },
    expire: async (time, limit) => (await run(statements.expire, [time, limit])).rowCount ?? 0,
    async list(owner, { before, limit }) {
      const { createdAt, id } = before ?? { createdAt: Number.MAX_SAFE_INTEGER, id: '' }
      const { rows } = await run(statements.list, [ownerKey(owner), limit, createdAt, id])
      return documentsOf(rows as readonly StoredRecord[])
    },
  }
}

interface StoredRecord {
  readonly document: string
}

interface TakenRecord extends StoredRecord {
  readonly id: string
  /** When it was due; a number, or a text or BigInt, depending on the client. */
  readonly due_at: unknown
}

const table = 'fastify_conventions_operations'

// The input is last, so that the log of a heartbeat leaves it out.
const columns = {
  // Compared by bytes: the order is the same everywhere, and does not depend on a collation of the database.
  id: 'text COLLATE "C" PRIMARY KEY',
  version: 'bigint NOT NULL',
  record_schema: 'integer NOT NULL',
  status: 'text COLLATE "C" NOT NULL',
  due_at: 'bigint',
  owner: 'text COLLATE "C"',
  created_at: 'bigint NOT NULL',
  one_per: 'text COLLATE "C"',
  // As text: jsonb refuses \u0000, and keeps neither all digits nor the order of members.
  document: 'text NOT NULL',
  input: 'text',
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
CREATE INDEX IF NOT EXISTS ${table}_owner ON ${table} (owner, created_at, id) WHERE owner IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS ${table}_one ON ${table} (one_per)
WHERE one_per IS NOT NULL AND status = 'In progress';
`

const checkStatement = `SELECT ${Object.keys(columns).join(', ')} FROM ${table} WHERE false`

const statements = {
  create: `INSERT INTO ${table}
(id, version, record_schema, status, due_at, document, input, one_per, owner, created_at)
VALUES ($1, $2, $3, 'In progress', $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
  get: `SELECT document FROM ${table} WHERE id = $1`,
  input: `SELECT input FROM ${table} WHERE id = $1`,
  replace: `UPDATE ${table} SET version = $3, document = $4, due_at = COALESCE($5, due_at)
WHERE id = $1 AND version = $2`,
  end: `UPDATE ${table} SET version = $3, document = $4, due_at = $5, status = $6, input = NULL
WHERE id = $1 AND version = $2`,
  remove: `DELETE FROM ${table} WHERE id = $1 AND version = $2`,
  takeDue: `WITH due AS (SELECT id, due_at FROM ${table} WHERE status = 'In progress' AND due_at <= $1 AND record_schema = ${recordSchema}
ORDER BY due_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
UPDATE ${table} AS record SET due_at = $2 FROM due WHERE record.id = due.id
RETURNING record.id, record.document, due.due_at`,
  // The list of ids is made once, so that the limit holds; rows that another process is at are left to it.
  expire: `DELETE FROM ${table} WHERE id = ANY (ARRAY(
SELECT id FROM ${table} WHERE status <> 'In progress' AND due_at <= $1 ORDER BY due_at, id LIMIT $2 FOR UPDATE SKIP LOCKED))`,
  list: `SELECT document FROM ${table}
WHERE owner = $1 AND record_schema = ${recordSchema} AND (created_at, id) < ($3, $4)
ORDER BY created_at DESC, id DESC LIMIT $2`,
}

function documentsOf(rows: readonly StoredRecord[]) {
  return readAll(rows.map(({ document }) => document))
}

function byDueAt(one: TakenRecord, other: TakenRecord): number {
  return Number(one.due_at) - Number(other.due_at) || (one.id < other.id ? -1 : 1)
}
