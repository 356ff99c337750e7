import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { columnParsers } from './column-types.js'
import { lockFolder } from './data-folder.js'
import { type Database, type Queries, type Row, type Statement, translated } from './database.js'

/** What a PGlite and a transaction in it have in common. */
type Runner = Pick<PGlite, 'query'>

/**
 * PostgreSQL inside this process: in memory, or kept in a folder, which one process at a time can use.
 *
 * It has a single connection, so transactions run one after the other.
 */
export async function openEmbeddedDatabase(folder?: string): Promise<Database> {
  const unlock = folder === undefined ? undefined : await lockFolder(folder)
  try {
    const pglite = await PGlite.create({
      ...(folder === undefined ? undefined : { dataDir: join(folder, 'database') }),
      parsers: columnParsers,
    })
    await pglite.query("set time zone 'UTC'")
    return {
      query: queriesOf(pglite).query,
      transaction: (work) => pglite.transaction((runner) => work(queriesOf(runner))),
      async close() {
        await pglite.close()
        await unlock?.()
      },
    }
  } catch (error) {
    await unlock?.()
    throw error
  }
}

function queriesOf(runner: Runner): Queries {
  return {
    async query({ text, values = [] }: Statement): Promise<Row[]> {
      try {
        const parameters = values.map((value) => (value === null ? null : String(value)))
        return (await runner.query<Row>(text, parameters)).rows
      } catch (error) {
        throw translated(error)
      }
    },
  }
}
