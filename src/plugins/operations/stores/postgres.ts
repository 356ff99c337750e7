import { type Check, type Checks, functionOf, invalid, isObject, objectOf, text } from '../../../options.js'
import type { PostgresPool, PostgresResult } from '../../../stores/postgres-connection.js'
import { listenTo } from '../../../stores/postgres-subscription.js'
import { type Schedule, scheduleTimeout } from '../../../time/schedule.js'
import { isFinal, type OperationRecord, readRecord, recordSchema } from '../record.js'
import { operationTable } from './postgres-table.js'
import { readRecords } from './read-records.js'
import type { OperationStore } from './store.js'

/** Options of {@link postgresOperationStore}. */
export interface PostgresOperationStoreOptions {
  /**
   * The table, with or without its schema (`jobs.operations`): letters, digits and underscores, at most 50 of them.
   * Instances with the same table share their operations; write it in the same way for all of them.
   * @default 'fastify_conventions_operations'
   */
  readonly table?: string
  /** When to try again to listen for cancellations; for tests. Default: the clock of the process. */
  readonly schedule?: Schedule
}

/** An {@link OperationStore} in PostgreSQL. */
export interface PostgresOperationStore extends OperationStore {
  /** The SQL of {@link migrate}, for a tool that migrates the database with rights that the service has not. */
  readonly migration: string
  /**
   * Sets the table up; nothing happens where it is fit for use. Several processes may do so at once.
   * @throws Error where it cannot be brought into the form that this release needs, and that of the server
   */
  migrate(): Promise<void>
}

/**
 * An {@link OperationStore} in PostgreSQL (12 or later), for several instances of a service. Each record is one row, and
 * each change one statement, which compares the version and has happened when it is answered. `migrate()` sets the table
 * up, or your own tool with `migration`; `check()` rejects where it is not there, or is of another form.
 *
 * A restart keeps all that was answered. With `synchronous_commit = off` a crash of the server may lose the last moments,
 * of an `UNLOGGED` table everything; a failover to a standby that is not synchronous may lose what it had not got yet.
 *
 * A notification tells of a cancellation. It is heard on one connection of the pool that does nothing else, until what
 * `onCancel` resolved with is called: do so before `pool.end()`, which waits for that connection. It is lost on those who
 * are not connected just then, and through a pooler that hands connections on after each transaction. That an idle
 * connection broke is told by the pool (`pool.on('error', …)`), to the app alone.
 *
 * Not for very many short operations: a start, a run and an end are three writes, and each sign of life in between is one
 * more, of the whole record with its input; `redisOperationStore` is for those. Not for one instance whose operations may
 * end with it: `memoryOperationStore` does there without a server.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function postgresOperationStore(
  pool: PostgresPool,
  options: PostgresOperationStoreOptions = {},
): PostgresOperationStore {
  const postgres = poolOfTwo('postgresOperationStore: the pool', pool)
  const { table, schedule } = {
    ...optionDefaults,
    ...objectOf(optionChecks)('postgresOperationStore', options),
  }
  const statements = operationTable(table)

  const run = async (statement: string, values: unknown[]): Promise<PostgresResult> => {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await postgres.query(statement, values)
      } catch (error) {
        if (!isSerializationFailure(error) || attempts === mostAttempts) throw error
      }
    }
  }
  const hasChanged = async (statement: string, values: unknown[]) =>
    (await run(statement, values)).rowCount === 1

  const check = async () => {
    const fault = await statements.fault(postgres)
    if (fault === null) return
    throw new Error(
      `${fault}. Run migrate() of the store, or the SQL in its property migration, as the owner of the table; a right is granted by GRANT`,
    )
  }

  return {
    isShared: true,
    migration: statements.migration,
    check,
    async migrate() {
      // A role that may use the table need not be one that may create it.
      if ((await statements.fault(postgres)) === null) return
      await postgres.query(statements.migration)
      await check()
    },
    create: (record) => hasChanged(statements.create, row(record)),
    async get(id) {
      // No text of PostgreSQL has it.
      if (id.includes('\0')) return null
      const [kept] = (await run(statements.get, [id])).rows
      return kept === undefined ? null : readRecord(documentOf(kept))
    },
    replace: (record) => hasChanged(statements.replace, row(record)),
    remove: ({ id, version }) => hasChanged(statements.remove, [id, version]),
    async due(time, limit) {
      const { rows } = await run(statements.due, [time, limit, recordSchema])
      const { records, unreadable, fault } = readRecords(rows, documentOf)
      if (unreadable.length === 0) return records
      // Said once, and out of the way of the others from then on.
      await run(statements.setAside, [unreadable.map(idOf), unreadable.map(documentOf)])
      throw fault
    },
    expire: async (time, limit) => (await run(statements.expire, [time, limit])).rowCount ?? 0,
    async announceCancel(id) {
      await postgres.query('SELECT pg_notify($1, $2)', [channel, `${table} ${id}`])
    },
    async onCancel(listener) {
      const hear = (payload: string) => {
        if (payload.startsWith(`${table} `)) listener(payload.slice(table.length + 1))
      }
      const stop = await listenTo(postgres, channel, hear, schedule)
      return async () => stop()
    },
  }
}

const channel = 'fastify_conventions_cancel'

const mostAttempts = 10

const optionChecks: Checks<PostgresOperationStoreOptions> = {
  table: text(
    'the name of a table, with or without that of its schema',
    /^([A-Za-z_]\w{0,62}\.)?[A-Za-z_]\w{0,49}$/,
  ),
  schedule: functionOf('a function that calls another after so many milliseconds'),
}

const optionDefaults: Required<PostgresOperationStoreOptions> = Object.freeze({
  table: 'fastify_conventions_operations',
  schedule: scheduleTimeout,
})

const poolOfTwo: Check<PostgresPool> = (label, received) => {
  const isPool =
    isObject(received) && ['query', 'connect'].every((name) => typeof received[name] === 'function')
  if (!isPool) return invalid(label, 'a pool with query() and connect(), such as that of pg', received)
  const pool = received as unknown as PostgresPool
  // It would be taken up by listening, and everything else would wait for it.
  return pool.options?.max === 1 ? invalid(label, 'a pool of two connections or more', 'max: 1') : pool
}

function row(record: OperationRecord): unknown[] {
  const { id, version, schema, dueAt } = record
  return [id, version, schema, isFinal(record), dueAt, JSON.stringify(record)]
}

function idOf(kept: unknown): unknown {
  return isObject(kept) ? kept.id : undefined
}

function documentOf(kept: unknown): unknown {
  return isObject(kept) ? kept.document : undefined
}

// Where the database asks for more isolation than it does by default, a lost race is an error, and nothing has happened.
function isSerializationFailure(error: unknown): boolean {
  return isObject(error) && error.code === '40001'
}
