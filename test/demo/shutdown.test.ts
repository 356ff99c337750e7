import { EventEmitter, once } from 'node:events'
import type { PostgresPoolClient } from 'kysely'
import t from 'tap'
import { type Database, databaseOf } from '../../examples/demo-server/database.js'
import { serve } from './client.js'

t.test('a request in progress gets its response while the server closes', async (t) => {
  const events = new EventEmitter()
  const asked = once(events, 'asked')
  const client = await serve(t, slowDatabase(events))
  const answer = client.get('/v1/orders')
  await asked
  const closed = client.app.close()
  events.emit('release')
  t.match(await answer, { status: 200, json: { orders: [] } })
  await closed
  await t.rejects(client.get('/v1/orders'), 'nobody listens any more')
})

/** A database that answers reads of orders only when it is told to. */
function slowDatabase(events: EventEmitter): Database {
  const client = {
    async query(text: string) {
      if (text.startsWith('select') && text.includes('from "orders"')) {
        const released = once(events, 'release')
        events.emit('asked')
        await released
      }
      return { command: 'SELECT', rowCount: 0, rows: [] }
    },
    release() {},
  }
  return databaseOf({ connect: async () => client as unknown as PostgresPoolClient, end: async () => {} })
}
