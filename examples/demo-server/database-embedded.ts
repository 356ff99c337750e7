import { PGlite } from '@electric-sql/pglite'
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import { columnParsers, type Database, databaseOf } from './database.js'

/** Opens PostgreSQL inside this process, in memory. It has a single connection: transactions run one after the other. */
export async function openEmbeddedDatabase(): Promise<Database> {
  return databaseOf(await openEmbeddedPool())
}

export async function openEmbeddedPool(): Promise<PostgresPool> {
  const pglite = await PGlite.create({ parsers: columnParsers })
  await pglite.query("set time zone 'UTC'")
  return pglitePool(pglite)
}

/** Returns the pool of the one connection that PGlite has: a caller waits until the one before has released it. */
function pglitePool(pglite: PGlite): PostgresPool {
  let released = Promise.resolve()
  async function query(text: string, values: readonly unknown[] = []): Promise<PostgresQueryResult<unknown>> {
    // PGlite accepts text for each type.
    const parameters = values.map((value) => (value === null ? null : String(value)))
    const { rows, affectedRows = 0 } = await pglite.query(text, parameters)
    const command = text.split(' ', 1)[0]?.toUpperCase() as PostgresQueryResult<unknown>['command']
    return { command, rowCount: affectedRows, rows }
  }
  return {
    async connect() {
      const before = released
      let release = () => {}
      released = new Promise((resolve) => {
        release = resolve
      })
      await before
      return { query, release } as PostgresPoolClient
    },
    end: () => pglite.close(),
  }
}
