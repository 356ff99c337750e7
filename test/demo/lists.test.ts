import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { type Answer, callerOf, itemsOf, nextOf, serve, walk } from './client.js'
import { onDatabase } from './each-database.js'
import { query } from './query.js'
import { newUser } from './samples.js'

const userCount = 1000
const sharing = 50

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  await seed(database, { users: userCount, usersSharingTime: sharing })
  const [shared] = await query(database, {
    text: 'select created_at as time from users group by created_at having count(*) = $1',
    values: [sharing],
  })
  const sharedTime = String(shared?.time)
  const justAfter = sharedTime.replace('.000Z', '.001Z')
  const idsOf = (pages: readonly Answer[]) =>
    pages.flatMap((page) => itemsOf(page, 'users').map(({ id }) => id))
  const everyId = Array.from({ length: userCount }, (_, index) => idOf(index))
  const newestFirst = everyId.toReversed()

  await t.test('the next links return each of 1,000 rows exactly once, newest first', async (t) => {
    // The last one of five full pages has no next link.
    for (const [limit, count] of [
      [37, 28],
      [200, 5],
    ] as const) {
      const pages = await walk(client, `/v1/users?limit=${limit}`)
      t.strictSame(idsOf(pages), newestFirst)
      t.equal(pages.length, count)
    }
  })

  await t.test('by time: rows with the same time are returned exactly once', async (t) => {
    const { json } = await client.get(`/v1/users?limit=200&before_time=${justAfter}`)
    const tied = (json.users as { created_at: string }[]).filter(
      ({ created_at }) => created_at === sharedTime,
    )
    t.equal(tied.length, sharing, 'as many as were seeded')
    for (const limit of [7, 50, 51, 200]) {
      const pages = await walk(client, `/v1/users?limit=${limit}&before_time=2100-01-01T00:00:00Z`)
      t.strictSame(idsOf(pages), newestFirst, `limit ${limit}`)
    }
  })

  await t.test('before_time alone excludes rows at that time', async (t) => {
    const [first] = itemsOf(await client.get(`/v1/users?limit=1&before_time=${sharedTime}`), 'users')
    t.ok((first?.created_at as string) < sharedTime)
  })

  await t.test('before_time at the ends of the calendar', async (t) => {
    for (const time of [
      '9999-12-31T23:59:59.999999999Z',
      '9999-12-31T23:59:59-23:59',
      '0001-01-01T00:00:00Z',
    ]) {
      const { status } = await client.get(`/v1/users?before_time=${time}`)
      t.ok(status === 200 || status === 400, `${time}: ${status}`)
    }
  })

  await t.test('before_id need not be the id of an existing row', async (t) => {
    const firstNine = everyId.slice(0, 9).reverse()
    t.strictSame(idsOf([await client.get(`/v1/users?before_id=${idOf(9)}`)]), firstNine)
    const newest = await client.get('/v1/users?before_id=9223372036854775807&limit=1')
    t.strictSame(idsOf([newest]), newestFirst.slice(0, 1))
    t.same((await client.get(`/v1/users?before_id=${firstId}`)).json, { users: [] })
  })

  await t.test('after_id returns rows in ascending order', async (t) => {
    const pages = await walk(client, '/v1/users?after_id=0&limit=90')
    t.strictSame(idsOf(pages), everyId)
    t.strictSame(idsOf([await client.get(`/v1/users?after_id=${everyId.at(-1)}`)]), [])
  })

  await t.test('a path with an empty id names no item, and no list', async (t) => {
    // The document has no such paths.
    const caller = callerOf(client.origin)
    for (const path of ['/v1/users/', '/v1/orders//invoice', '/v1/operations/', '/v1/operations//status']) {
      t.match(await caller.get(path), { status: 404, json: { code: 'not-found' } }, path)
    }
    t.match(await caller.delete('/v1/users/'), { status: 404 })
    t.match(await caller.get('/v1/operations?statuss=Failed'), { status: 400, json: { code: 'validation' } })
  })

  await t.test('an invalid cursor is a 400 that names the parameter', async (t) => {
    const faults = [
      ['limit', '-1'],
      ['before_id', '9223372036854775808'],
      ['before_time', '2025-02-30T00:00:00Z'],
      ['include_total', 'perhaps'],
    ]
    for (const [name, value] of faults) {
      const refusal = { status: 400, json: { code: 'validation', errors: [{ in: 'query', name }] } }
      t.match(await client.get(`/v1/users?${name}=${value}`), refusal, `${name}=${value}`)
    }
  })

  await t.test('total is sent if include_total=true, and counts the filtered rows', async (t) => {
    t.notOk('total' in (await client.get('/v1/users')).json)
    t.notOk('total' in (await client.get('/v1/users?include_total=false')).json)
    t.equal((await client.get('/v1/users?include_total=true&limit=3')).json.total, userCount)
    const failed = await client.get('/v1/payments?include_total=true&status=failed')
    t.equal(failed.json.total, itemsOf(failed, 'payments').length)
  })

  await t.test('filters apply to the list, and the link has them', async (t) => {
    const pages = await walk(client, '/v1/users?email_verified=false&limit=100&include_total=true')
    const rows = pages.flatMap((page) => itemsOf(page, 'users'))
    t.ok(rows.every(({ email_verified }) => email_verified === false))
    t.equal(rows.length, pages[0]?.json.total)
    t.equal(new Set(rows.map(({ id }) => id)).size, rows.length)
    t.ok(pages.slice(0, -1).every((page) => nextOf(page)?.includes('email_verified=false')))
    t.ok(
      pages.every((page) => page.json.total === rows.length),
      'include_total stays too',
    )
  })

  await t.test('every filter of every collection', async (t) => {
    const order = (await client.get('/v1/orders?limit=1')).json.orders as Record<string, unknown>[]
    const userId = order[0]?.user_id
    const targets = ['orders', 'subscriptions', 'friends'].map((name) => `/v1/${name}?user_id=${userId}`)
    for (const target of targets) {
      const { json } = await client.get(target)
      t.ok(
        Object.values(json)
          .flat()
          .every((item) => (item as { user_id: unknown }).user_id === userId),
        target,
      )
    }
    t.equal(
      itemsOf(await client.get('/v1/users?email=ADA.ALLEN.1@example.com'), 'users').length,
      1,
      'any case',
    )
    const friend_user_id = idOf(3)
    t.match((await client.get(`/v1/friends?friend_user_id=${friend_user_id}`)).json, {
      friends: [{ friend_user_id }],
    })
    t.match((await client.get(`/v1/payments?order_id=${firstId}`)).json, {
      payments: [{ order_id: firstId }],
    })
    t.match((await client.get('/v1/orders?status=failed&currency=EUR')).json, {
      orders: [{ status: 'failed', currency: 'EUR' }],
    })
    t.match((await client.get('/v1/subscriptions?plan=plus&status=active')).json, {
      subscriptions: [{ plan: 'plus', status: 'active' }],
    })
    t.same((await client.get('/v1/orders?user_id=9223372036854775807')).json, { orders: [] })
  })

  for (const [name, start] of [
    ['by id', '/v1/users?limit=30'],
    ['by time', '/v1/users?limit=30&before_time=2100-01-01T00:00:00Z'],
  ] as const) {
    await t.test(
      `${name}: after inserts and deletes between pages, no other row is repeated or missing`,
      async (t) => {
        const before = idsOf(await walk(client, '/v1/users')) as bigint[]
        const seen: bigint[] = []
        const deletedAhead: bigint[] = []
        let target: string | null = start
        while (target !== null) {
          const page: Answer = await client.get(target)
          seen.push(...(idsOf([page]) as bigint[]))
          target = nextOf(page)
          await newUser(client)
          // The row the link leads on from, and one that is still to come.
          const last = seen.at(-1) ?? 0n
          const ahead = before.find((id) => id < last - 3n) ?? 0n
          await deleteUser(last)
          await deleteUser(ahead)
          deletedAhead.push(ahead)
        }
        const expected = before.filter((id) => seen.includes(id) || !deletedAhead.includes(id))
        t.strictSame(seen, expected)
      },
    )
  }

  await t.test('after an insert among rows with the same time, no row is repeated', async (t) => {
    const first = await client.get(`/v1/users?limit=20&before_time=${justAfter}`)
    const row = {
      name: 'Late',
      age: 1,
      email: 'late@example.com',
      created_at: sharedTime,
      updated_at: sharedTime,
    }
    const late = await database.insertInto('users').values(row).returning('id').executeTakeFirst()
    const rest = await walk(client, nextOf(first) ?? '')
    const ids = idsOf([first, ...rest])
    t.equal(new Set(ids).size, ids.length, 'no row twice')
    t.notOk(ids.includes(late?.id), 'the new row has the largest id of its time: it lies behind')
  })

  async function deleteUser(id: bigint): Promise<void> {
    for (const [table, column] of [
      ['friends', 'user_id'],
      ['friends', 'friend_user_id'],
      ['subscriptions', 'user_id'],
    ]) {
      await query(database, { text: `delete from ${table} where ${column} = $1`, values: [id] })
    }
    await query(database, {
      text: 'delete from payments using orders where order_id = orders.id and user_id = $1',
      values: [id],
    })
    await query(database, { text: 'delete from orders where user_id = $1', values: [id] })
    await query(database, { text: 'delete from users where id = $1', values: [id] })
  }
})

function idOf(index: number): bigint {
  return firstId + BigInt(index)
}
