import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { type Answer, callerOf, itemsOf, type Json, nextOf, serve, walk } from './client.js'
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
  const idsOf = (pages: readonly Answer[]) =>
    pages.flatMap((page) => itemsOf(page, 'users').map(({ id }) => id))
  const everyId = Array.from({ length: userCount }, (_, index) => idOf(index))
  const newestFirst = everyId.toReversed()

  await t.test('the next links return each of 1,000 rows exactly once', async (t) => {
    const byTime = '&before_time=2100-01-01T00:00:00Z'
    for (const [query, expected, count] of [
      ['limit=37', newestFirst, 28],
      [`limit=50${byTime}`, newestFirst, 20],
      ['limit=90&after_id=0', everyId, 12],
    ] as const) {
      const pages = await walk(client, `/v1/users?${query}`)
      t.strictSame(idsOf(pages), expected, query)
      t.equal(pages.length, count, `${query}: the last page has no next link`)
    }
  })

  await t.test('cursors need not be those of a row, and exclude it', async (t) => {
    const [first] = itemsOf(await client.get(`/v1/users?limit=1&before_time=${sharedTime}`), 'users')
    t.ok((first?.created_at as string) < sharedTime)
    for (const [query, expected] of [
      [`before_id=${idOf(9)}`, everyId.slice(0, 9).reverse()],
      [`before_id=${firstId}`, []],
      ['before_time=9999-12-31T23:59:59.999999999Z&limit=1', newestFirst.slice(0, 1)],
    ] as const)
      t.strictSame(idsOf([await client.get(`/v1/users?${query}`)]), expected, query)
  })

  await t.test('a path with an empty id names no item, and no list', async (t) => {
    // The document has no such paths.
    const caller = callerOf(client.origin)
    for (const path of ['/v1/users/', '/v1/orders//invoice', '/v1/operations/', '/v1/operations//status'])
      t.match(await caller.get(path), { status: 404, json: { code: 'not-found' } }, path)
    t.match(await caller.delete('/v1/users/'), { status: 404 })
  })

  await t.test('total is sent if include_total=true, and counts the filtered rows', async (t) => {
    const pages = await walk(client, '/v1/users?email_verified=false&limit=100&include_total=true')
    const rows = pages.flatMap((page) => itemsOf(page, 'users'))
    t.ok(rows.length > 100 && rows.length < userCount, String(rows.length))
    t.ok(rows.every(({ email_verified }) => email_verified === false))
    t.ok(pages.every(({ json }) => json.total === rows.length))
  })

  await t.test('every filter of every collection', async (t) => {
    const first = async (name: string) => itemsOf(await client.get(`/v1/${name}?limit=1&fields=*`), name)[0]
    for (const [name, filters] of Object.entries({
      users: ['email', 'email_verified'],
      friends: ['user_id', 'friend_user_id'],
      orders: ['user_id', 'status', 'currency'],
      subscriptions: ['user_id', 'status', 'plan'],
      payments: ['order_id', 'status'],
    })) {
      const item = (await first(name)) ?? {}
      const all = (await client.get(`/v1/${name}?include_total=true&limit=1`)).json.total as number
      for (const filter of filters) {
        const target = `/v1/${name}?${filter}=${item[filter]}&fields=*&include_total=true&limit=200`
        const { json } = await client.get(target)
        const found = json[name] as Json[]
        t.ok(found.length > 0 && (json.total as number) < all, target)
        t.ok(
          found.every((one) => one[filter] === item[filter]),
          target,
        )
      }
    }
    const anyCase = await client.get('/v1/users?email=ADA.ALLEN.1@example.com')
    t.equal(itemsOf(anyCase, 'users').length, 1, 'an address in any case')
    t.same((await client.get('/v1/orders?user_id=9223372036854775807')).json, { orders: [] })
    const both = itemsOf(await client.get('/v1/orders?status=failed&currency=EUR'), 'orders')
    t.ok(both.length > 0 && both.every(({ status, currency }) => status === 'failed' && currency === 'EUR'))
  })

  await t.test('after inserts and deletes between pages, no other row is repeated or missing', async (t) => {
    const before = idsOf(await walk(client, '/v1/users')) as bigint[]
    const seen: bigint[] = []
    const deletedAhead: bigint[] = []
    let target: string | null = '/v1/users?limit=30&before_time=2100-01-01T00:00:00Z'
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
    t.ok(seen.length > 900)
    t.strictSame(seen, expected)
  })

  async function deleteUser(id: bigint): Promise<void> {
    for (const condition of [
      'friends where $1 in (user_id, friend_user_id)',
      'subscriptions where user_id = $1',
      'payments using orders where order_id = orders.id and user_id = $1',
      'orders where user_id = $1',
      'users where id = $1',
    ])
      await query(database, { text: `delete from ${condition}`, values: [id] })
  }
})

function idOf(index: number): bigint {
  return firstId + BigInt(index)
}
