import { EventEmitter, once } from 'node:events'
import t from 'tap'
import type { Database, Statement } from '../../examples/demo-server/database.js'
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
  const database: Database = {
    async query({ text }: Statement) {
      if (!text.includes('from orders')) return []
      const released = once(events, 'release')
      events.emit('asked')
      await released
      return []
    },
    transaction: (work) => work(database),
    close: async () => undefined,
  }
  return database
}
