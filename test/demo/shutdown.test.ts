import { EventEmitter, once } from 'node:events'
import type { PostgresPoolClient } from 'kysely'
import t from 'tap'
import { type Database, databaseOf } from '../../examples/demo-server/database.js'
import { openConnection } from '../support/raw.js'
import { until } from '../support/until.js'
import { serve } from './client.js'

t.test('while the server closes, requests that have arrived are served, and it counts as down', async (t) => {
  const events = new EventEmitter()
  const asked = once(events, 'asked')
  // It answers reads of orders only when it is told to.
  const slow = databaseThat(async (text) => {
    if (!text.startsWith('select') || !text.includes('from "orders"')) return
    events.emit('asked')
    await once(events, 'release')
  })
  const client = await serve(t, slow)
  const { server } = client.app
  const accepted = once(server, 'connection')
  const probe = await openConnection(Number(new URL(client.origin).port))
  await accepted
  t.match(await client.anonymous.get('/health'), { status: 200, text: '{"status":"ok"}' })
  const answer = client.get('/v1/orders')
  await asked
  const closed = client.app.close()
  const isListening = async () => server.listening
  await until(isListening, (is) => !is)
  probe.send('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n')
  t.match(await probe.ended(), /^HTTP\/1\.1 503 .*\r\nconnection: close\r\n.*"code":"server-closing"/is)
  events.emit('release')
  const { status, headers, json } = await answer
  t.match({ status, json }, { status: 200, json: { orders: [] } })
  t.equal(headers.get('connection'), 'close', 'the connection of the client does not hold up the end')
  await closed
  await t.rejects(client.get('/v1/orders'), 'nobody listens any more')
})

/** A database without rows, which calls a function with each statement. */
function databaseThat(look: (text: string) => Promise<void>): Database {
  const client = {
    async query(text: string) {
      await look(text)
      return { command: 'SELECT', rowCount: 0, rows: [] }
    },
    release() {},
  } as unknown as PostgresPoolClient
  return databaseOf({ connect: async () => client, end: async () => {} })
}
