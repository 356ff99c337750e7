import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { itemsOf, type Json, serve, walk } from './client.js'
import { onDatabase } from './databases.js'

const userCount = 1000

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  await seed(database, { users: userCount, usersSharingTime: 50 })
  const everyId = Array.from({ length: userCount }, (_, index) => firstId + BigInt(index))

  await t.test('the next links return each of 1,000 rows exactly once', async (t) => {
    const newestFirst = everyId.toReversed()
    for (const [query, expected, count] of [
      ['limit=37', newestFirst, 28],
      ['limit=50&before_time=2100-01-01T00:00:00Z', newestFirst, 20],
      ['limit=90&after_id=0', everyId, 12],
    ] as const) {
      const pages = await walk(client, `/v1/users?${query}`)
      const ids = pages.flatMap((page) => itemsOf(page, 'users').map(({ id }) => id))
      t.strictSame(ids, expected, query)
      t.equal(pages.length, count, `${query}: the last page has no next link`)
    }
  })

  await t.test('total counts the filtered rows of all pages', async (t) => {
    const pages = await walk(client, '/v1/users?email_verified=false&limit=100&include_total=true')
    const rows = pages.flatMap((page) => itemsOf(page, 'users'))
    t.ok(rows.length > 100 && rows.length < userCount, String(rows.length))
    t.ok(pages.every(({ json }) => json.total === rows.length))
  })

  await t.test('every filter of every collection', async (t) => {
    for (const [name, filters] of Object.entries({
      users: ['email', 'email_verified'],
      friends: ['user_id', 'friend_user_id'],
      orders: ['user_id', 'status', 'currency', 'status&currency'],
      subscriptions: ['user_id', 'status', 'plan'],
      payments: ['order_id', 'status'],
    })) {
      const { json } = await client.get(`/v1/${name}?limit=1&fields=*&include_total=true`)
      const [item = {}] = json[name] as Json[]
      for (const filter of filters) {
        const members = filter.split('&')
        const query = members.map((member) => `${member}=${item[member]}`).join('&')
        const found = await client.get(`/v1/${name}?${query}&fields=*&include_total=true&limit=200`)
        const rows = itemsOf(found, name)
        t.ok(rows.length > 0 && Number(found.json.total) < Number(json.total), query)
        const isAsAsked = rows.every((row) => members.every((member) => row[member] === item[member]))
        t.ok(isAsAsked, query)
      }
    }
    const anyCase = await client.get('/v1/users?email=ADA.ALLEN.1@example.com')
    t.equal(itemsOf(anyCase, 'users').length, 1, 'an address in any case')
  })
})
