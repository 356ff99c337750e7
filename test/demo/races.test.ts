// Own process: starts processes, and waits for them
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Database } from '../../examples/demo-server/database.js'
import { openServerDatabase } from '../../examples/demo-server/database-server.js'
import { obstacleToPostgres, startPostgres } from '../support/postgres.js'
import { isThorough } from '../support/thorough.js'
import { until } from '../support/until.js'
import { type Answer, type Caller, callerOf, type Json, tagOf } from './client.js'
import { query } from './query.js'
import { startDemo } from './run-demo.js'
import { newUser, sampleOf } from './samples.js'

/** What one of two racers does. */
interface Write {
  readonly method: 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly headers: Record<string, string>
  readonly body?: Json
}

/** Who was first, and who was not. */
interface Outcome {
  readonly won: Answer
  readonly lost: Answer
}

const races = isThorough ? 100 : 20

const obstacle = await obstacleToPostgres()
const skip = obstacle !== null && !process.env.CI ? obstacle : false

t.test('two processes on one PostgreSQL', { skip }, async (t) => {
  const server = await startPostgres()
  const database = await openServerDatabase(server.url)
  t.teardown(async () => {
    await database.destroy()
    await server.stop()
  })
  // The faster the machine, the more requests in a minute.
  const environment = { DATABASE_URL: server.url, RATE_LIMIT_MAX: '1000000' }
  const one = callerOf((await startDemo(t, environment)).origin)
  const other = callerOf((await startDemo(t, environment)).origin)

  /** Lets both go at once; every other time both are past their preconditions before one of them can write. */
  async function race(round: number, first: Write, second: Write): Promise<readonly [Answer, Answer]> {
    const start = () => Promise.all([send(one, first), send(other, second)])
    return round % 2 === 0 ? start() : whileNobodyWrites(database, start)
  }

  await t.test(
    `${races} times two writers with one If-Match: one 200, one 412, and no lost update`,
    async (t) => {
      const path = `/v1/users/${(await newUser(one)).id}`
      const wins = new Set<string>()
      for (let round = 0; round < races; round++) {
        const headers = { 'if-match': tagOf(await one.get(path)) }
        // Another one each time: a write that changes nothing leaves the tag as it is, and both would win.
        const writeOf = (writer: string, method: 'PATCH' | 'PUT'): Write => {
          const name = `${writer} ${round}`
          const whole = { ...sampleOf.users(`${writer}.${round}@example.com`), name }
          return { method, path, headers, body: method === 'PUT' ? whole : { name } }
        }
        const method = round % 4 < 2 ? 'PATCH' : 'PUT'
        const { won } = outcomeOf(
          t,
          await race(round, writeOf('one', method), writeOf('other', method)),
          [200],
        )
        const now = await other.get(`${path}?fields=*`)
        t.strictSame(now.json, won.json, 'what is there is what the winner wrote')
        t.not(tagOf(now), headers['if-match'])
        wins.add(String(won.json.name).split(' ')[0] ?? '')
      }
      t.comment(`won: ${[...wins].join(', ')}`)
    },
  )

  await t.test(`${races} times two creations of one item: one 201, one 412`, async (t) => {
    const { id } = await newUser(one)
    const path = `/v1/users/${id}`
    const headers = { 'if-none-match': '*' }
    for (let round = 0; round < races; round++) {
      await one.delete(path)
      const writeOf = (name: string): Write => ({
        method: 'PUT',
        path,
        headers,
        body: { ...sampleOf.users(`${name}.makes@example.com`), name },
      })
      const { won } = outcomeOf(t, await race(round, writeOf('one'), writeOf('other')), [201])
      t.strictSame(
        (await one.get(`${path}?fields=*`)).json,
        won.json,
        'what is there is what the winner made',
      )
    }
  })

  await t.test(`${races} times a DELETE and a PATCH: one succeeds, the other does not`, async (t) => {
    for (let round = 0; round < races; round++) {
      const path = `/v1/users/${(await newUser(one)).id}`
      const headers = { 'if-match': tagOf(await one.get(path)) }
      const answers = await race(
        round,
        { method: 'DELETE', path, headers },
        { method: 'PATCH', path, headers, body: { name: 'changed' } },
      )
      // A PATCH that comes when all is over finds nothing to have preconditions on.
      const { won } = outcomeOf(t, answers, [200, 204], [412, 404])
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
      const start = (client: Caller) => client.post(path, { force_retry: round % 4 < 2 })
      outcomeOf(t, await Promise.all([start(one), start(other)]), [202], [409])
    }
    // Every order has the payment that failed; all retries but none more have added one.
    const counts = async () => {
      const text =
        'select order_id, count(*) as count from payments where order_id in (select id from orders where user_id = $1) group by order_id'
      return (await query(database, { text, values: [id as bigint] })).map(({ count }) => Number(count))
    }
    const ended = await until(counts, (all) => all.every((count) => count > 1))
    t.strictSame(
      ended,
      Array.from({ length: 20 }, () => 2),
    )
  })

  await t.test('two clients that increment, and read again after a 412, lose no increment', async (t) => {
    const path = `/v1/users/${(await newUser(one, { age: 0 })).id}`
    const addUp = async (client: Caller, times: number): Promise<number> => {
      let refused = 0
      for (let done = 0; done < times; ) {
        const read = await client.get(path)
        const { status } = await send(client, {
          method: 'PATCH',
          path,
          headers: { 'if-match': tagOf(read) },
          body: { age: Number(read.json.age) + 1 },
        })
        if (status === 200) done++
        else refused++
      }
      return refused
    }
    const refused = await Promise.all([addUp(one, 50), addUp(other, 50)])
    t.equal((await one.get(path)).json.age, 100)
    t.comment(`read again: ${refused.join(' and ')} times`)
  })
})

/** Starts something that writes twice, and lets no table be written until both wait for it. */
async function whileNobodyWrites<T>(database: Database, start: () => Promise<T>): Promise<T> {
  return database
    .transaction()
    .execute(async (queries) => {
      await query(queries, { text: 'lock table users in share mode' })
      let settled = false
      const outcome = start().finally(() => {
        settled = true
      })
      for (let waiting = 0; waiting < 2 && !settled; ) {
        await setTimeout(1)
        const [row] = await query(queries, {
          text: 'select count(*) as waiting from pg_locks where not granted',
        })
        waiting = Number(row?.waiting)
      }
      // Wrapped: the transaction has to end before it can be awaited.
      return { outcome }
    })
    .then(({ outcome }) => outcome)
}

/** Which of two answers is which; exactly one has to be of each kind. */
function outcomeOf(
  t: Test,
  answers: readonly [Answer, Answer],
  wins: readonly number[],
  losses: readonly number[] = [412],
): Outcome {
  const [first, second] = answers
  const [won, lost] = wins.includes(first.status) ? [first, second] : [second, first]
  t.ok(wins.includes(won.status) && losses.includes(lost.status), `${first.status} and ${second.status}`)
  return { won, lost }
}

function send(client: Caller, { method, path, headers, body }: Write): Promise<Answer> {
  return client.call(method, path, { headers, body })
}
