import { isObject, objectWith } from '../options.js'

/** The result of a statement. */
export interface PostgresResult {
  readonly rows: readonly unknown[]
  /** Number of rows that it returned, inserted, updated or deleted. */
  readonly rowCount: number | null
}

/** A pool of connections to PostgreSQL; that of [pg](https://github.com/brianc/node-postgres) is one. */
export interface PostgresPool {
  /** Runs a statement on any connection. */
  query(text: string, values?: unknown[]): Promise<PostgresResult>
}

/** Checks what a store runs its statements on. */
export const poolOf = objectWith<PostgresPool>('a pool with query(), such as that of pg', ['query'])

/** Returns the error of a check: what to do, if the table is the reason (class 42: it is missing, lacks a column or a right). */
export function tableError(table: string, cause: unknown): unknown {
  if (!isObject(cause) || !String(cause.code).startsWith('42')) return cause
  const message = `the table ${table} cannot be used: ${cause.message}. ${remedy}`
  return new Error(message, { cause })
}

const remedy =
  'Run migrate() of the store, or the SQL in its property migration, as the owner of the table; a right is granted by GRANT'

const mostAttempts = 10

/** Errors after which nothing has changed, and PostgreSQL asks for the same again: a serialization failure, a deadlock. */
const retryable: ReadonlySet<unknown> = new Set(['40001', '40P01'])

/** Runs a statement, and runs it again if PostgreSQL has rolled it back in favour of another one. */
export async function withRetries<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await run()
    } catch (error) {
      if (attempts === mostAttempts || !isObject(error) || !retryable.has(error.code)) throw error
    }
  }
}
