/** What is special about items: how their versions move on, and what some members mean. */
import t from 'tap'
import { databaseOf } from '../../examples/demo-server/database.js'
import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { itemsOf, serve, tagOf } from './client.js'
import { emptyEmbeddedPool, onDatabase } from './databases.js'
import { query } from './query.js'
import { spyOn } from './query-spy.js'
import { newOrder, newUser, sampleOf } from './samples.js'

const usersByDefault = ['id', 'name', 'age', 'gender', 'email_verified', 'created_at', 'updated_at']

await onDatabase(async (t, actual) => {
  const { database, columnsRead } = spyOn(actual)
  const client = await serve(t, database)
  await seed(actual)
  const updateTimeOf = (id: unknown, time: string) =>
    query(actual, `update users set updated_at = ${time} where id = $1`, [id])

  await t.test('a new e-mail address is not verified', async (t) => {
    const user = await newUser(client)
    const path = `/v1/users/${user.id}`
    const text = 'update users set email_verified = true where id = $1'
    await query(actual, text, [user.id as bigint])
    t.match((await client.patch(path, { age: 50 })).json, { age: 50, email_verified: true })
    t.match((await client.patch(path, { email: user.email })).json, { email_verified: true })
    t.match((await client.patch(path, { email: 'moved@example.com' })).json, { email_verified: false })
  })

  await t.test('a time with more than milliseconds is not a change when it is sent again', async (t) => {
    const body = { ...sampleOf.subscriptions(firstId), renews_at: '2026-01-01T00:00:00.123956Z' }
    const { headers, json } = await client.post('/v1/subscriptions', body)
    t.strictSame((await client.put(headers.get('location') ?? '', body)).json, json)
  })

  await t.test('updated_at moves on with every change, also where the clock is set back', async (t) => {
    const user = await newUser(client)
    const path = `/v1/users/${user.id}`
    t.equal(user.updated_at, user.created_at)
    let before = user.updated_at as string
    for (let age = 0; age < 10; age++) {
      const { json } = await client.patch(path, { age })
      t.ok((json.updated_at as string) > before, `${json.updated_at} after ${before}`)
      before = json.updated_at as string
    }
    const headers = { 'if-unmodified-since': 'Thu, 01 Jan 2026 00:00:00 GMT' }
    t.match(await client.call('PATCH', path, { headers, body: { age: 1 } }), { status: 412 })
    await updateTimeOf(user.id, "'2099-01-01T00:00:00Z'")
    t.equal((await client.patch(path, { age: 50 })).json.updated_at, '2099-01-01T00:00:00.001Z')
  })

  await t.test('a patch: null removes what is optional, and an array is replaced as a whole', async (t) => {
    const user = `/v1/users/${(await newUser(client, { gender: 'female' })).id}`
    t.match((await client.patch(user, { gender: null })).json, { gender: null })
    t.match(await client.patch(user, { name: null }), {
      status: 400,
      json: { errors: [{ pointer: '/name' }] },
    })
    const order = `/v1/orders/${(await newOrder(client)).id}`
    const types = ['application/json', 'application/merge-patch+json; charset=utf-8']
    for (const [index, type] of types.entries()) {
      const items = [{ sku: 'B', quantity: index + 1, unit_amount: 5 }]
      const sent = { body: { items }, headers: { 'content-type': type } }
      t.strictSame((await client.call('PATCH', order, sent)).json.items, items, type)
    }
  })

  await t.test('concurrent patches of different members all take effect', async (t) => {
    for (let round = 0; round < 10; round++) {
      const path = `/v1/users/${(await newUser(client)).id}`
      const changes = [{ age: 99 }, { name: 'Changed' }, { gender: 'other' }]
      const answers = await Promise.all(changes.map((change) => client.patch(path, change)))
      t.match(answers, [{ status: 200 }, { status: 200 }, { status: 200 }])
      t.match((await client.get(path)).json, { age: 99, name: 'Changed', gender: 'other' })
      t.equal(new Set(answers.map(tagOf)).size, changes.length, 'each write has a version of its own')
    }
  })

  await t.test('fields: what is answered and what is read of a user and an order', async (t) => {
    for (const [path, answered, read] of [
      ['/v1/users/{id}', ['id', 'id_str', ...usersByDefault.slice(1)], usersByDefault],
      ['/v1/users/{id}?fields=email,name', ['email', 'name'], ['name', 'email', 'updated_at']],
      ['/v1/orders/{id}?fields=items.sku', ['items'], ['items', 'updated_at']],
    ] as const) {
      columnsRead()
      const { json } = await client.get(path.replace('{id}', String(firstId)))
      t.strictSame(Object.keys(json).sort(), [...answered].sort(), path)
      t.strictSame(columnsRead(), [['updated_at'], read], path)
    }
    columnsRead()
    const unknown = await client.get('/v1/users?fields=name,password')
    t.match(unknown, { status: 400, json: { code: 'fields-invalid', detail: /The fields are id, name/ } })
    t.strictSame(columnsRead(), [], 'nothing is read')
  })

  await t.test('fields: a list reads what is asked for, and what it leads on by', async (t) => {
    const byTime = '&before_time=2100-01-01T00:00:00Z'
    const byId = ['id', 'status', 'updated_at']
    for (const [cursor, read] of Object.entries({ '': byId, [byTime]: byId.toSpliced(2, 0, 'created_at') })) {
      columnsRead()
      const page = await client.get(`/v1/orders?limit=2&fields=status${cursor}`)
      t.strictSame(columnsRead(), [read])
      t.strictSame(itemsOf(page, 'orders').map(Object.keys), [['status'], ['status']])
    }
  })

  await t.test('ids, references and amounts are exact, also where a Number rounds them', async (t) => {
    const path = `/v1/orders/${firstId}`
    const total_amount = Number.MAX_SAFE_INTEGER
    const { text, json } = await client.patch(path, { total_amount })
    t.match(text, '"total_amount":9007199254740991,"currency"', 'without a twin')
    const id = json.user_id as bigint
    const rounded = { user_id: Number(id), user_id_str: String(id) }
    t.match(await client.patch(path, rounded), { status: 200, json: { user_id: id } })
    // Rounds to the same Number as the first id, and is that of nobody.
    const neighbour = firstId - 1n
    for (const [given, status, code] of [
      [{ user_id: neighbour }, 422, 'reference-not-found'],
      [{ user_id: id, user_id_str: String(id + 10n) }, 400, 'integer-twin-mismatch'],
    ] as const)
      t.match(await client.patch(path, given), { status, json: { code } })
    for (const [method, body] of [['GET'], ['DELETE'], ['PATCH', {}], ['PUT', sampleOf.users()]] as const)
      t.match(await client.call(method, `/v1/users/${neighbour}`, { body }), { status: 404 }, method)
    t.strictSame((await client.get(`/v1/orders?user_id=${neighbour}`)).json, { orders: [] }, 'nor a filter')
  })

  await t.test('a form deletes', async (t) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const form = { body: '_method=DELETE', headers }
    t.match(await client.call('POST', `/v1/users/${(await newUser(client)).id}`, form), { status: 204 })
  })

  for (const collection of ['orders', 'payments'] as const) {
    await t.test(`${collection}: the item and its answer are committed together`, async (t) => {
      const order = await newOrder(client)
      const body = collection === 'orders' ? sampleOf.orders(order.user_id) : sampleOf.payments(order.id)
      const create = () =>
        client.call('POST', `/v1/${collection}`, { body, headers: { 'idempotency-key': `"${collection}"` } })
      const total = async () => (await client.get(`/v1/${collection}?include_total=true`)).json.total
      const before = Number(await total())
      const table = 'alter table fastify_conventions_idempotency'
      await query(actual, `${table} add constraint unanswered check (answer is null) not valid`)
      t.equal((await create()).status, 500, 'its answer could not be kept')
      t.equal(await total(), before, 'so it was not made')
      await query(actual, `${table} drop constraint unanswered`)
      t.equal((await create()).status, 201)
      t.equal(await total(), before + 1)
    })
  }
})

t.test('the row in a response is never older than its tag', async (t) => {
  const pool = await emptyEmbeddedPool()
  let meanwhile: (() => Promise<unknown>) | null = null
  let connections = 0
  const database = databaseOf({
    ...pool,
    async connect() {
      // The first connection reads the version, the second one the row.
      if (meanwhile !== null && ++connections === 2) {
        const write = meanwhile
        meanwhile = null
        await write()
      }
      return pool.connect()
    },
  })
  const client = await serve(t, database)
  const path = `/v1/users/${(await newUser(client)).id}`
  meanwhile = () => client.patch(path, { age: 99 })
  const answer = await client.get(path)
  t.equal(answer.json.age, 99, 'somebody wrote between the version and the row')
  const next = await client.call('GET', path, { headers: { 'if-none-match': tagOf(answer) } })
  t.match(next, { status: 200, json: { age: 99 } }, 'nobody is left with a tag of what it was not')
})
