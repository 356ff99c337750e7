import t, { type Test } from 'tap'
import type { Database } from '../../examples/demo-server/database.js'
import { skipWithoutPostgres } from '../support/postgres.js'
import { isThorough } from '../support/thorough.js'
import { emptyEmbeddedDatabase, emptyServerDatabase } from './databases.js'

/** The tests of a file, run on a database that is empty at first and theirs alone. */
export type DatabaseSuite = (t: Test, database: Database) => Promise<void>

const skip = await skipWithoutPostgres()

/**
 * Runs the tests on a PostgreSQL server, or on the embedded database where there is no PostgreSQL: each takes all of their
 * statements. `npm run test:all` runs them on both.
 */
export async function onDatabase(suite: DatabaseSuite): Promise<void> {
  if (isThorough) return onEachDatabase(suite)
  return skip === false ? onServer(suite) : onEmbedded(suite)
}

/**
 * Runs the same tests on the embedded database and on a PostgreSQL server. Without PostgreSQL on the machine the
 * second half is skipped, but where `CI` is set it fails.
 */
export async function onEachDatabase(suite: DatabaseSuite): Promise<void> {
  await onEmbedded(suite)
  await onServer(suite)
}

async function onEmbedded(suite: DatabaseSuite): Promise<void> {
  await t.test('embedded database', async (t) => {
    await suite(t, await emptyEmbeddedDatabase())
  })
}

async function onServer(suite: DatabaseSuite): Promise<void> {
  await t.test('PostgreSQL server', { skip }, async (t) => {
    const database = await emptyServerDatabase()
    t.teardown(() => database.destroy())
    await suite(t, database)
  })
}
