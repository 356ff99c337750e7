// Own process: waits for PostgreSQL
/** The demo on a PostgreSQL server that breaks connections, is down, or does not answer. */

import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openServerDatabase } from '../../examples/demo-server/database-server.js'
import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { postgresOf, skipWithoutPostgres } from '../support/postgres.js'
import { startRelay } from '../support/tcp-relay.js'
import { until } from '../support/until.js'
import { type Client, serve } from './client.js'
import { query } from './databases.js'
import { sampleOf } from './samples.js'

const skip = await skipWithoutPostgres()

t.test('a lost connection ends its own transaction only', { skip }, async (t) => {
  const { url } = await postgresOf(t)
  const [database, other] = [await openServerDatabase(url), await openServerDatabase(url)]
  t.teardown(() => Promise.all([database.destroy(), other.destroy()]))
  const lost = { code: 'database-unavailable', statusCode: 503, headers: { 'retry-after': '5' } }
  const pid = 'select pg_backend_pid()::text as pid'
  const end = (id: unknown) => query(other, 'select pg_terminate_backend($1::integer)', [String(id)])

  for (let round = 0; round < 3; round += 1) {
    for (const isDuring of [false, true]) {
      const failing = database.transaction().execute(async (queries) => {
        const [row] = await query(queries, pid)
        const slow = isDuring ? query(queries, 'select pg_sleep(60)') : null
        await Promise.all([slow, end(row?.pid)])
        // Long enough for the end of the connection to arrive.
        await setTimeout(50)
        return query(queries, pid)
      })
      await t.rejects(failing, lost, isDuring ? 'during a statement' : 'between two statements')
    }
  }
  t.strictSame(await query(database, 'select 1 as one'), [{ one: 1 }], 'the pool goes on')
})

t.test('without its database the demo soon sends 503 with Retry-After', { skip }, async (t) => {
  const server = await postgresOf(t)
  const socket = `${decodeURIComponent(new URL(server.url).host)}/.s.PGSQL.5432`
  const relay = await startRelay(socket)
  const database = await openServerDatabase(`postgres://postgres@127.0.0.1:${relay.port}/postgres`)
  const client = await serve(t, database)
  await seed(database)
  t.teardown(async () => {
    await relay.stop()
    await database.destroy()
  })
  relay.cut()
  await t.test('if the database does not reply', (t) => answersWithoutDatabase(t, client))
  relay.heal()
  // It serves on when the database answers again.
  await until(
    () => client.get('/v1/users?limit=1'),
    ({ status }) => status === 200,
  )

  await relay.stop()
  await t.test('if the database is down', (t) => answersWithoutDatabase(t, client))
})

async function answersWithoutDatabase(t: Test, client: Client): Promise<void> {
  const user = `/v1/users/${firstId}`
  const body = sampleOf.users('without.database@example.com')
  const requests: readonly [method: string, target: string, body?: unknown][] = [
    ['GET', '/health'],
    ['GET', '/v1/orders?include_total=true'],
    ['GET', user],
    ['POST', '/v1/users', body],
    ['PATCH', user, { age: 1 }],
    ['DELETE', user],
    ['POST', `/v1/orders/${firstId}/retry`, { force_retry: true }],
    ['GET', `/v1/orders/${firstId}/invoice`],
  ]
  const begun = performance.now()
  // Twice: more at once than there are connections.
  const all = [...requests, ...requests]
  const answers = await Promise.all(
    all.map(([method, target, body]) => client.call(method, target, { body })),
  )
  for (const [index, answer] of answers.entries()) {
    t.match(answer, { status: 503, json: { code: 'database-unavailable' } }, String(all[index]))
    t.match(answer.headers.get('retry-after'), /^[1-9]\d*$/)
  }
  t.ok(performance.now() - begun < 20_000, 'in seconds, not in minutes')
  t.match(await client.get('/v1/terms'), { status: 200 }, 'what needs no database is answered')
}
