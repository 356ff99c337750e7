import { CompiledQuery, type KyselyPlugin, type PostgresPool, PostgresQueryCompiler } from 'kysely'
import t, { type Test } from 'tap'
import { type Database, databaseOf, type Queries } from '../../examples/demo-server/database.js'
import { openEmbeddedPool } from '../../examples/demo-server/database-embedded.js'
import { openServerDatabase } from '../../examples/demo-server/database-server.js'
import {
  obstacleToPostgres,
  type PrivatePostgres,
  skipWithoutPostgres,
  startPostgres,
} from '../support/postgres.js'
import { isThorough } from '../support/thorough.js'

/** The tests of a file, run on a database that is empty at first and theirs alone. */
type DatabaseSuite = (t: Test, database: Database) => Promise<void>

const skip = await skipWithoutPostgres()
let embedded: Promise<PostgresPool> | undefined
let server: Promise<PrivatePostgres> | undefined
let databases = 0

/**
 * Runs the tests on a PostgreSQL server, or on the embedded database where there is no PostgreSQL: each takes all of their
 * statements. `npm run test:all` runs them on both.
 */
export async function onDatabase(suite: DatabaseSuite): Promise<void> {
  await onEachDatabase(suite, { isBoth: isThorough })
}

/**
 * Runs the same tests on the embedded database and on a PostgreSQL server. Without PostgreSQL on the machine the second half is
 * skipped, but where `CI` is set it fails.
 */
export async function onEachDatabase(suite: DatabaseSuite, { isBoth = true } = {}): Promise<void> {
  if (isBoth || skip !== false)
    await t.test('embedded database', async (t) => suite(t, await emptyEmbeddedDatabase()))
  if (!isBoth && skip !== false) return
  await t.test('PostgreSQL server', { skip }, async (t) => {
    const database = await emptyServerDatabase()
    t.teardown(() => database.destroy())
    await suite(t, database)
  })
}

/**
 * An embedded database with nothing in it. It takes seconds to start, so the tests of a process have the same, one after
 * the other: each call empties it.
 */
export async function emptyEmbeddedDatabase(): Promise<Database> {
  embedded ??= openEmbeddedPool()
  const pool = await embedded
  const database = databaseOf({ ...pool, end: async () => {} })
  await query(database, 'drop schema public cascade')
  await query(database, 'create schema public')
  return database
}

/** A database with nothing in it, for a test to which its kind does not matter. It ends with the test. */
export async function emptyDatabase(t: Test): Promise<Database> {
  const isOnServer = (await obstacleToPostgres()) === null
  const database = await (isOnServer ? emptyServerDatabase() : emptyEmbeddedDatabase())
  t.teardown(() => database.destroy())
  return database
}

/** {@link emptyServerUrl}, opened. Whoever calls closes it. */
async function emptyServerDatabase(): Promise<Database> {
  return openServerDatabase(await emptyServerUrl())
}

/**
 * The URL of a database of its own with nothing in it, on a PostgreSQL server that ends with the process. (A teardown of
 * tap's root would end the root as soon as it waits.)
 */
export async function emptyServerUrl(): Promise<string> {
  server ??= startPostgres().then((started) => {
    started.unref()
    return started
  })
  const { url } = await server
  const name = `suite_${++databases}`
  const first = await openServerDatabase(url)
  await query(first, `create database ${name}`)
  await first.destroy()
  return url.replace(/\/postgres$/, `/${name}`)
}

/** Runs a statement with the values of its `$1`, `$2`, …, and returns its rows. */
export async function query(queries: Queries, text: string, values: readonly unknown[] = []) {
  const { rows } = await queries.executeQuery(CompiledQuery.raw(text, [...values]))
  return rows as Record<string, unknown>[]
}

/** The same database, with a look at its statements. */
export function spyOn(database: Database) {
  const texts: string[] = []
  const spy: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      texts.push(new PostgresQueryCompiler().compileQuery(node, queryId).sql)
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return {
    database: database.withPlugin(spy),
    /** The columns that the statements since the last call read, one list for each `select … from` the table, or any. */
    columnsRead: (table = '\\w+') =>
      texts.splice(0).flatMap((text) => {
        const [, columns] = new RegExp(`^select (.+?) from "${table}"`).exec(text) ?? []
        return columns === undefined ? [] : [columns.replaceAll('"', '').split(', ')]
      }),
  }
}
