import t, { type Test } from 'tap'
import type { Database } from '../../examples/demo-server/database.js'
import { openEmbeddedDatabase } from '../../examples/demo-server/database-embedded.js'
import { openServerDatabase } from '../../examples/demo-server/database-server.js'
import { obstacleToPostgres, startPostgres } from '../support/postgres.js'

/** The tests of a file, run on a database that is empty at first and theirs alone. */
export type DatabaseSuite = (t: Test, database: Database) => Promise<void>

/**
 * Runs the same tests on the embedded database and on a PostgreSQL server. Without PostgreSQL on the machine the
 * second half is skipped, but where `CI` is set it fails.
 */
export async function onEachDatabase(suite: DatabaseSuite): Promise<void> {
  await t.test('embedded database', async (t) => {
    const database = await openEmbeddedDatabase()
    t.teardown(() => database.close())
    await suite(t, database)
  })

  const obstacle = await obstacleToPostgres()
  const skip = obstacle !== null && !process.env.CI ? obstacle : false
  await t.test('PostgreSQL server', { skip }, async (t) => {
    const server = await startPostgres()
    const database = await openServerDatabase(server.url)
    t.teardown(async () => {
      await database.close()
      await server.stop()
    })
    await suite(t, database)
  })
}
