// Own process: starts processes, and waits for them
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Database } from '../../examples/demo-server/database.js'
import { openServerDatabase } from '../../examples/demo-server/database-server.js'
import { postgresOf, skipWithoutPostgres } from '../support/postgres.js'
import { isThorough } from '../support/thorough.js'
import { until } from '../support/until.js'
import { type Answer, callerOf, type Sent, tagOf } from './client.js'
import { query } from './databases.js'
import { startDemo } from './run-demo.js'
import { newUser, sampleOf } from './samples.js'

interface Write extends Sent {
  readonly method: string
  readonly path: string
}

const races = isThorough ? 100 : 12

const skip = await skipWithoutPostgres()

t.test('two processes on one PostgreSQL', { skip }, async (t) => {
  const server = await postgresOf(t)
  const database = await openServerDatabase(server.url)
  t.teardown(() => database.destroy())
  // The faster the machine, the more requests in a minute.
  const environment = { DATABASE_URL: server.url, RATE_LIMIT_MAX: '1000000' }
  const demos = await Promise.all([startDemo(t, environment), startDemo(t, environment)])
  const [one, other] = [callerOf(demos[0].origin), callerOf(demos[1].origin)]

  /** Lets both go at once; every other time both are past their preconditions before one of them can write. */
  async function race(round: number, first: Write, second: Write): Promise<readonly [Answer, Answer]> {
    const start = () =>
      Promise.all([one.call(first.method, first.path, first), other.call(second.method, second.path, second)])
    return round % 2 === 0 ? start() : whileNobodyWrites(database, start)
  }

  await t.test(`${races} times two writers with one If-Match: one 200, one 412`, async (t) => {
    const path = `/v1/users/${(await newUser(one)).id}`
    for (let round = 0; round < races; round++) {
      const headers = { 'if-match': tagOf(await one.get(path)) }
      // Another one each time: a write that changes nothing leaves the tag as it is, and both would win.
      const writeOf = (writer: string): Write => {
        const body = { ...sampleOf.users(`${writer}.${round}@example.com`), name: `${writer} ${round}` }
        return { method: round % 4 < 2 ? 'PATCH' : 'PUT', path, headers, body }
      }
      const won = winnerOf(t, await race(round, writeOf('one'), writeOf('other')), [200])
      const now = await other.get(`${path}?fields=*`)
      t.strictSame(now.json, won.json, 'what is there is what the winner wrote')
      t.not(tagOf(now), headers['if-match'])
    }
  })

  await t.test(`${races} times two creations of one item: one 201, one 412`, async (t) => {
    const path = `/v1/users/${(await newUser(one)).id}`
    for (let round = 0; round < races; round++) {
      await one.delete(path)
      const writeOf = (name: string): Write => {
        const body = { ...sampleOf.users(`${name}.makes@example.com`), name }
        return { method: 'PUT', path, headers: { 'if-none-match': '*' }, body }
      }
      const won = winnerOf(t, await race(round, writeOf('one'), writeOf('other')), [201])
      t.strictSame((await one.get(`${path}?fields=*`)).json, won.json, 'there is what the winner made')
    }
  })

  await t.test(`${races} times a DELETE and a PATCH: one succeeds, the other does not`, async (t) => {
    for (let round = 0; round < races; round++) {
      const path = `/v1/users/${(await newUser(one)).id}`
      const headers = { 'if-match': tagOf(await one.get(path)) }
      const patch: Write = { method: 'PATCH', path, headers, body: { name: 'changed' } }
      const answers = await race(round, { method: 'DELETE', path, headers }, patch)
      // A PATCH that comes when all is over finds nothing to have preconditions on.
      const won = winnerOf(t, answers, [200, 204], [412, 404])
      const now = await other.get(path)
      if (won.status === 204) t.equal(now.status, 404, 'deleted, and not brought back')
      else t.match(now, { status: 200, json: { name: 'changed' } }, 'changed, and not deleted')
    }
  })

  await t.test('20 times two retries of a payment: one 202, one 409, and one payment', async (t) => {
    const { id } = await newUser(one)
    for (let round = 0; round < 20; round++) {
      const order = await one.post('/v1/orders', { ...sampleOf.orders(id), status: 'failed' })
      const payment = await one.post('/v1/payments', sampleOf.payments(order.json.id))
      const path = `/v1/${round % 2 === 0 ? `payments/${payment.json.id}` : `orders/${order.json.id}`}/retry`
      const retry = { method: 'POST', path, body: { force_retry: round % 4 < 2 } }
      winnerOf(t, await race(0, retry, retry), [202], [409])
    }
    // Every order has the payment that failed; all retries but none more have added one.
    const text = `select count(*)::integer as count from payments
      where order_id in (select id from orders where user_id = $1) group by order_id`
    const counts = async () => (await query(database, text, [id])).map(({ count }) => count)
    const ended = await until(counts, (all) => all.every((count) => Number(count) > 1))
    t.strictSame(ended, Array(20).fill(2))
  })
})

/** Starts something that writes twice, and lets no table be written until both wait for it. */
async function whileNobodyWrites<T>(database: Database, start: () => Promise<T>): Promise<T> {
  const { outcome } = await database.transaction().execute(async (queries) => {
    await query(queries, 'lock table users in share mode')
    let settled = false
    const outcome = start().finally(() => {
      settled = true
    })
    const text = 'select count(*) as waiting from pg_locks where not granted'
    for (let waiting = 0; waiting < 2 && !settled; ) {
      await setTimeout(1)
      waiting = Number((await query(queries, text))[0]?.waiting)
    }
    // Wrapped: the transaction has to end before it can be awaited.
    return { outcome }
  })
  return outcome
}

/** The answer of the two that won; exactly one has to be of each kind. */
function winnerOf(
  t: Test,
  [first, second]: readonly [Answer, Answer],
  wins: number[],
  losses = [412],
): Answer {
  const [won, lost] = wins.includes(first.status) ? [first, second] : [second, first]
  t.ok(wins.includes(won.status) && losses.includes(lost.status), `${first.status} and ${second.status}`)
  return won
}
