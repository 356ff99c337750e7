import { sql } from 'kysely'
import { items } from './collections/index.js'
import type { Database } from './database.js'
import { defaultSeedSize, type SeedSize, seedRows } from './seed-data.js'

export async function seed(db: Database, size: Partial<SeedSize> = {}): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    // Any number, as long as every process takes the same: one at a time seeds.
    await sql`select pg_advisory_xact_lock(7310094221)`.execute(trx)
    // All else belongs to users.
    if ((await trx.selectFrom('users').select('id').limit(1).executeTakeFirst()) !== undefined) return false
    const { users, friends, orders, subscriptions, payments } = seedRows({ ...defaultSeedSize, ...size })
    const orderRows = orders.map((order) => ({ ...order, items: JSON.stringify(order.items) }))
    await trx.insertInto('users').values(users).execute()
    await trx.insertInto('friends').values(friends).execute()
    await trx.insertInto('orders').values(orderRows).execute()
    await trx.insertInto('subscriptions').values(subscriptions).execute()
    await trx.insertInto('payments').values(payments).execute()
    for (const table of Object.keys(items)) {
      // The rows brought their ids along; the next one comes after them.
      await sql`select setval(pg_get_serial_sequence(${table}, 'id'), max(id)) from ${sql.table(table)}`.execute(
        trx,
      )
    }
    return true
  })
}
