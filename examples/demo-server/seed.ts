import { collections } from './collections/index.js'
import type { Database, Queries } from './database.js'
import { takeTurn } from './migrate.js'
import { defaultSeedSize, type SeedSize, seedRows } from './seed-data.js'
import { insertRow } from './sql.js'

/**
 * Fills an empty database with data that is the same every time; one that holds anything stays as it is.
 *
 * @returns Was it empty?
 */
export async function seed(database: Database, size: Partial<SeedSize> = {}): Promise<boolean> {
  return database.transaction(
    async (queries) => {
      await takeTurn(queries)
      if (!(await isEmpty(queries))) return false
      const rows = seedRows({ ...defaultSeedSize, ...size })
      for (const collection of collections) {
        for (const row of rows[collection.name] ?? []) await queries.query(insertRow(collection, row))
        // The rows brought their ids along; the next one comes after them.
        await queries.query({
          text: `select setval(pg_get_serial_sequence('${collection.name}', 'id'), max(id)) from ${collection.name}`,
        })
      }
      return true
    },
    { mayTakeLong: true },
  )
}

async function isEmpty(queries: Queries): Promise<boolean> {
  const anyRow = collections.map(({ name }) => `exists (select from ${name})`).join(' or ')
  const [row] = await queries.query({ text: `select ${anyRow} as filled` })
  return row?.filled === false
}
