import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { itemsOf, nextOf, serve, walk } from './client.js'
import { onDatabase } from './each-database.js'
import { spyOn } from './query-spy.js'

const defaultOfUsers = ['id', 'name', 'age', 'gender', 'email_verified', 'created_at', 'updated_at']
const allOfUsers = ['id', 'name', 'age', 'gender', 'email', 'email_verified', 'created_at', 'updated_at']
const allOfOrders = [
  'id',
  'user_id',
  'status',
  'total_amount',
  'currency',
  'items',
  'created_at',
  'updated_at',
]

/**
 * What is asked for, what the answer has, and what is read for it beside the version of an item and, for a list, the id
 * that it leads on by and the times of the last changes.
 */
const selections: readonly (readonly [
  query: string,
  answered: readonly string[],
  read: readonly string[],
])[] = [
  ['', ['id', 'id_str', ...defaultOfUsers.slice(1)], defaultOfUsers],
  ['fields=*', ['id', 'id_str', ...allOfUsers.slice(1)], allOfUsers],
  ['fields=name,age', ['name', 'age'], ['name', 'age']],
  ['fields=id', ['id', 'id_str'], ['id']],
  ['fields=id_str', ['id', 'id_str'], ['id']],
]

const refused = ['password', 'name,password', '', '__proto__', 'name.first']

await onDatabase(async (t, actual) => {
  const { database, columnsRead } = spyOn(actual)
  const client = await serve(t, database)
  await seed(actual)
  const user = `/v1/users/${firstId}`
  columnsRead()

  for (const [query, answered, read] of selections) {
    await t.test(`'${query}' returns ${answered.join(', ')}, and reads no other column`, async (t) => {
      const one = await client.get(`${user}?${query}`)
      t.equal(one.status, 200)
      t.strictSame(Object.keys(one.json), answered, 'read')
      // `Last-Modified` needs the time of the last change.
      t.strictSame(
        columnsRead(),
        [['updated_at'], [...new Set([...read, 'updated_at'])]],
        'read: the columns',
      )

      const list = await client.get(`/v1/users?limit=3&${query}`)
      t.equal(list.status, 200)
      const rows = itemsOf(list, 'users')
      t.equal(rows.length, 3)
      for (const row of rows) t.strictSame(Object.keys(row), answered, 'list')
      t.strictSame(columnsRead(), [[...new Set(['id', ...read, 'updated_at'])]], 'list: the columns')
      t.ok(nextOf(list), 'the list leads on')

      const head = await client.call('HEAD', `${user}?${query}`)
      t.equal(head.headers.get('content-length'), String(Buffer.byteLength(one.text)), 'head')
      columnsRead()
    })
  }

  await t.test('a list by time reads the time column too, and does not return it', async (t) => {
    const page = await client.get('/v1/users?limit=2&fields=name&before_time=2100-01-01T00:00:00Z')
    t.strictSame(Object.keys(itemsOf(page, 'users')[0] ?? {}), ['name'])
    t.match(nextOf(page), /before_time=.*before_id=/)
    t.strictSame(columnsRead(), [['id', 'name', 'created_at', 'updated_at']])
  })

  await t.test('a nested field: one column is read, and only the selected part is returned', async (t) => {
    const { json } = await client.get(`/v1/orders/${firstId}?fields=items.sku,items.quantity`)
    t.strictSame(json, { items: [{ sku: 'tea-earl-grey', quantity: 1 }] })
    t.strictSame(columnsRead(), [['updated_at'], ['items', 'updated_at']])
    const all = (await client.get(`/v1/orders/${firstId}?fields=items.sku,items`)).json.items as object[]
    t.strictSame(Object.keys(all[0] ?? {}), ['sku', 'quantity', 'unit_amount'], 'the whole wins')
    columnsRead()
  })

  await t.test('a collection without a default reads and returns all columns', async (t) => {
    await client.get(`/v1/orders/${firstId}`)
    t.strictSame(columnsRead(), [['updated_at'], allOfOrders])
  })

  await t.test('a selected reference has its twin', async (t) => {
    const { json } = await client.get(`/v1/orders/${firstId}?fields=user_id`)
    t.strictSame(json, { user_id: firstId, user_id_str: String(firstId) })
    columnsRead()
  })

  for (const names of refused) {
    await t.test(`'${names.slice(0, 40)}' is a 400, and nothing is read`, async (t) => {
      for (const path of [user, '/v1/users']) {
        const answer = await client.get(`${path}?fields=${encodeURIComponent(names)}`)
        t.match(answer, {
          status: 400,
          json: { code: 'fields-invalid', errors: [{ in: 'query', name: 'fields' }] },
        })
        t.match(answer.json.detail, `The fields are ${allOfUsers.join(', ')}`, 'it names what there is')
      }
      t.strictSame(columnsRead(), [])
    })
  }

  await t.test('total and links stay, and the links have the selection', async (t) => {
    const pages = await walk(client, '/v1/users?limit=15&fields=email&include_total=true')
    const rows = pages.flatMap((page) => itemsOf(page, 'users'))
    t.equal(pages.length, 3)
    t.ok(pages.every(({ json }) => json.total === 40))
    t.ok(rows.every((row) => Object.keys(row).join() === 'email'))
    t.equal(new Set(rows.map(({ email }) => email)).size, 40, 'each row exactly once')
    columnsRead()
  })

  await t.test('the parameter fields is a 400 for writes, and problems are not projected', async (t) => {
    const { json } = await client.patch(user, { age: 18 })
    t.strictSame(Object.keys(json), ['id', 'id_str', ...allOfUsers.slice(1)], 'a write answers all')
    for (const method of ['PATCH', 'PUT', 'DELETE'] as const) {
      const refusal = { status: 400, json: { errors: [{ in: 'query', name: 'fields' }] } }
      t.match(await client.call(method, `${user}?fields=name`, bodyOf(method)), refusal, method)
    }
    const missing = await client.get(`/v1/users/1?fields=name`)
    t.match(missing, { status: 404, json: { code: 'not-found', title: 'Not found', status: 404 } })
  })
})

function bodyOf(method: string): { body?: object } {
  return method === 'DELETE' ? {} : { body: { name: 'Ada', age: 1, email: 'ada@example.com' } }
}
