import { EventEmitter, once } from 'node:events'
import { ProblemError } from 'fastify-conventions'
import type { PostgresPoolClient } from 'kysely'
import t from 'tap'
import { type Database, databaseOf } from '../../examples/demo-server/database.js'
import { openConnection } from '../support/raw.js'
import { until } from '../support/until.js'
import { type Client, serve } from './client.js'

t.test('a request in progress gets its response while the server closes', async (t) => {
  const events = new EventEmitter()
  const asked = once(events, 'asked')
  const client = await serve(t, slowDatabase(events))
  const answer = client.get('/v1/orders')
  await asked
  const closed = client.app.close()
  await notListening(client)
  events.emit('release')
  const { status, headers, json } = await answer
  t.match({ status, json }, { status: 200, json: { orders: [] } })
  t.equal(headers.get('connection'), 'close', 'the connection of the client does not hold up the end')
  await closed
  await t.rejects(client.get('/v1/orders'), 'nobody listens any more')
})

t.test('a request on a connection that was accepted before the server closed is served', async (t) => {
  const client = await serve(t, slowDatabase(new EventEmitter()))
  const port = Number(new URL(client.origin).port)
  const accepted = once(client.app.server, 'connection')
  const connection = await openConnection(port)
  await accepted
  const probe = await openConnection(port)
  t.match(await client.anonymous.get('/health'), { status: 200, text: '{"status":"ok"}' })
  const closed = client.app.close()
  await notListening(client)
  connection.send('GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n')
  const served = await connection.ended()
  t.match(served, /^HTTP\/1\.1 200 /)
  t.match(served, /\r\nconnection: close\r\n/i)
  probe.send('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n')
  t.match(await probe.ended(), /^HTTP\/1\.1 503 .*"code":"server-closing"/s, 'but it counts as down')
  await closed
})

t.test('an instance without its database counts as down', async (t) => {
  const database = databaseThat(async (text) => {
    if (text === 'select 1') throw new ProblemError('database-unavailable', { status: 503 })
  })
  const { anonymous } = await serve(t, database)
  t.match(await anonymous.get('/health'), { status: 503, json: { code: 'database-unavailable' } })
})

async function notListening({ app }: Client): Promise<void> {
  await until(
    async () => app.server.listening,
    (isListening) => !isListening,
  )
}

/** A database that answers reads of orders only when it is told to. */
function slowDatabase(events: EventEmitter): Database {
  return databaseThat(async (text) => {
    if (!text.startsWith('select') || !text.includes('from "orders"')) return
    const released = once(events, 'release')
    events.emit('asked')
    await released
  })
}

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
