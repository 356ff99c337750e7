import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { type Answer, callerOf, itemsOf, type Json, serve, walk } from './client.js'
import { onDatabase } from './databases.js'

const userCount = 1000

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  await seed(database, { users: userCount, usersSharingTime: 50 })
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
})

function idOf(index: number): bigint {
  return firstId + BigInt(index)
}
