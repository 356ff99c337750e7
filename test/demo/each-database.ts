import t, { type Test } from 'tap'
import type { Database } from '../../examples/demo-server/database.js'
import { obstacleToPostgres } from '../support/postgres.js'
import { emptyEmbeddedDatabase, emptyServerDatabase } from './databases.js'

/** The tests of a file, run on a database that is empty at first and theirs alone. */
export type DatabaseSuite = (t: Test, database: Database) => Promise<void>

/**
 * Runs the same tests on the embedded database and on a PostgreSQL server. Without PostgreSQL on the machine the
 * second half is skipped, but where `CI` is set it fails.
 */
export async function onEachDatabase(suite: DatabaseSuite): Promise<void> {
  await t.test('embedded database', async (t) => {
    await suite(t, await emptyEmbeddedDatabase())
  })

  const obstacle = await obstacleToPostgres()
  const skip = obstacle !== null && !process.env.CI ? obstacle : false
  await t.test('PostgreSQL server', { skip }, async (t) => {
    const database = await emptyServerDatabase()
    t.teardown(() => database.destroy())
    await suite(t, database)
  })
}
