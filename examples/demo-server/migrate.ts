import { type Migration, Migrator, sql } from 'kysely'
import type { Database, Queries } from './database.js'
import { migrations } from './migrations.js'

/** Brings the schema up to date, and changes nothing where it is. Processes that start together take turns. */
export async function migrate(
  db: Database,
  steps: Readonly<Record<string, Migration>> = migrations,
): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => steps } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

/** Waits until no other process seeds the database; the turn ends with the transaction. */
export async function takeTurn(queries: Queries): Promise<void> {
  // Any number, as long as every process takes the same.
  await sql`select pg_advisory_xact_lock(7310094221)`.execute(queries)
}
