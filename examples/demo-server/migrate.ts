import type { Database, Queries } from './database.js'
import { type Migration, migrations } from './migrations.js'

// Any number, as long as every process takes the same.
const lockNumber = 7_310_094_221n

/** Brings the schema up to date, and does nothing where it is. Processes that start together take turns. */
export async function migrate(database: Database, steps: readonly Migration[] = migrations): Promise<void> {
  await database.transaction(
    async (queries) => {
      await takeTurn(queries)
      await queries.query({
        text: `create table if not exists migrations (
        name text primary key,
        applied_at timestamptz(3) not null default now()
      )`,
      })
      const rows = await queries.query({ text: 'select name from migrations' })
      const applied = new Set(rows.map((row) => row.name))
      for (const { name, statements } of steps) {
        if (applied.has(name)) continue
        for (const text of statements) await queries.query({ text })
        await queries.query({ text: 'insert into migrations (name) values ($1)', values: [name] })
      }
    },
    { mayTakeLong: true },
  )
}

/** Waits until no other process is migrating or seeding; the turn ends with the transaction. */
export async function takeTurn(queries: Queries): Promise<void> {
  await queries.query({ text: 'select pg_advisory_xact_lock($1)', values: [lockNumber] })
}
