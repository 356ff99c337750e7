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
   * Instances with the same table share their operations; use the same spelling for all of them.
   * @default 'fastify_conventions_operations'
   */
  readonly table?: string
  /**
   * Schedules the next attempt to listen for cancellations. For tests.
   * @default setTimeout
   */
  readonly schedule?: Schedule
}

/** An {@link OperationStore} in PostgreSQL. */
export interface PostgresOperationStore extends OperationStore {
  /** The SQL of {@link migrate}, for a migration tool with rights that the service does not have. */
  readonly migration: string
  /**
   * Creates the table and its indexes if they are missing. Several processes may call it at the same time.
   * @throws Error if the table has another form than this release needs; the error of the server
   */
  migrate(): Promise<void>
}

/**
 * An {@link OperationStore} in PostgreSQL (12 or later), for several instances of a service. Each record is one row, and
 * each change is one statement, which compares the version. `migrate()` creates the table, or your own tool with
 * `migration`; `check()` rejects if the table is missing, or has another form.
 *
 * A restart of the server loses no committed change. With `synchronous_commit = off`, a crash of the server may lose the last
 * changes, and with an `UNLOGGED` table all; a failover to an asynchronous standby may lose changes that it had not received.
 *
 * Cancellations are sent with `NOTIFY`. One connection of the pool listens, and does nothing else, until you call the
 * function that `onCancel` resolves with: call it before `pool.end()`, which waits for that connection. Processes that are not
 * connected miss the notification, and so do those behind a pooler in transaction mode. Only the pool reports the failure of
 * an idle connection (`pool.on('error', …)`).
 *
 * Not for very many short operations: a start, a run and an end are three writes, and each heartbeat writes the whole record
 * with its input; use `redisOperationStore`. Not for a single instance whose operations may end with it: use
 * `memoryOperationStore`, which needs no server.
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
      // A role with rights on the table may not have the right to create it.
      if ((await statements.fault(postgres)) === null) return
      await postgres.query(statements.migration)
      await check()
    },
    create: (record) => hasChanged(statements.create, row(record)),
    async get(id) {
      // A text in PostgreSQL cannot contain a NUL.
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
      // Reported once; afterwards it no longer precedes the others.
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
  // Listening would occupy it, and all statements would wait.
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

// With a stricter isolation level than the default, a lost race is an error without a change.
function isSerializationFailure(error: unknown): boolean {
  return isObject(error) && error.code === '40001'
}
