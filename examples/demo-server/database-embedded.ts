import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import { lockFolder } from './data-folder.js'
import { columnParsers, type Database, databaseOf } from './database.js'

/**
 * Opens PostgreSQL inside this process: in memory, or kept in a folder, which one process at a time can use.
 *
 * It has a single connection, so transactions run one after the other.
 */
export async function openEmbeddedDatabase(folder?: string): Promise<Database> {
  return databaseOf(await openEmbeddedPool(folder))
}

/** Opens what {@link openEmbeddedDatabase} runs its statements on. */
export async function openEmbeddedPool(folder?: string): Promise<PostgresPool> {
  const unlock = folder === undefined ? undefined : await lockFolder(folder)
  try {
    const pglite = await PGlite.create({
      ...(folder === undefined ? undefined : { dataDir: join(folder, 'database') }),
      parsers: columnParsers,
    })
    await pglite.query("set time zone 'UTC'")
    const pool = pglitePool(pglite)
    return {
      ...pool,
      async end() {
        await pool.end()
        await unlock?.()
      },
    }
  } catch (error) {
    await unlock?.()
    throw error
  }
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
