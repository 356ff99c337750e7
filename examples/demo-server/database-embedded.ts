import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { PostgresPool } from 'kysely'
import { columnParsers } from './column-types.js'
import { lockFolder } from './data-folder.js'
import { type Database, databaseOf } from './database.js'
import { pglitePool } from './pglite-pool.js'

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
