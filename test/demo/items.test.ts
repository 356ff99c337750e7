/** What is special about items: how their versions move on, and what some members mean. */
import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { itemsOf, serve, tagOf } from './client.js'
import { onDatabase, query, spyOn } from './databases.js'
import { newOrder, newUser, sampleOf } from './samples.js'

const usersByDefault = ['id', 'name', 'age', 'gender', 'email_verified', 'created_at', 'updated_at']

await onDatabase(async (t, actual) => {
  const { database, columnsRead } = spyOn(actual)
  const client = await serve(t, database)
  await seed(actual)

  await t.test('a new e-mail address is not verified', async (t) => {
    const user = await newUser(client)
    const path = `/v1/users/${user.id}`
    await query(actual, 'update users set email_verified = true where id = $1', [user.id])
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
    await query(actual, "update users set updated_at = '2099-01-01T00:00:00Z' where id = $1", [user.id])
    t.equal((await client.patch(path, { age: 50 })).json.updated_at, '2099-01-01T00:00:00.001Z')
  })

  await t.test('concurrent patches of different members all take effect', async (t) => {
    for (let round = 0; round < 10; round++) {
      const path = `/v1/users/${(await newUser(client)).id}`
      const changes = [{ age: 99 }, { name: 'Changed' }, { gender: 'other' }]
      const answers = await Promise.all(changes.map((change) => client.patch(path, change)))
      t.match((await client.get(path)).json, { age: 99, name: 'Changed', gender: 'other' })
      t.equal(new Set(answers.map(tagOf)).size, changes.length, 'each write has a version of its own')
    }
  })

  await t.test('fields: a read and a list read from the database what is asked for', async (t) => {
    for (const [path, answered, read] of [
      ['/v1/users/{id}', ['id', 'id_str', ...usersByDefault.slice(1)], usersByDefault],
      ['/v1/users/{id}?fields=email,name', ['email', 'name'], ['name', 'email', 'updated_at']],
      ['/v1/orders/{id}?fields=items.sku', ['items'], ['items', 'updated_at']],
    ] as const) {
      columnsRead()
      const { json } = await client.get(path.replace('{id}', String(firstId)))
      t.strictSame(Object.keys(json).sort(), [...answered].sort(), path)
      t.strictSame(columnsRead(), [['updated_at'], read], `${path}: the row is not older than its tag`)
    }
    const byTime = '&before_time=2100-01-01T00:00:00Z'
    const byId = ['id', 'status', 'updated_at']
    for (const [cursor, read] of Object.entries({ '': byId, [byTime]: byId.toSpliced(2, 0, 'created_at') })) {
      columnsRead()
      const page = await client.get(`/v1/orders?limit=2&fields=status${cursor}`)
      t.strictSame(columnsRead(), [read], 'what the list leads on by, too')
      t.strictSame(itemsOf(page, 'orders').map(Object.keys), [['status'], ['status']])
    }
  })

  await t.test('ids, references and amounts are exact, also where a Number rounds them', async (t) => {
    const path = `/v1/orders/${firstId}`
    const { text, json } = await client.patch(path, { total_amount: Number.MAX_SAFE_INTEGER })
    t.match(text, '"total_amount":9007199254740991,"currency"', 'without a twin')
    const id = json.user_id as bigint
    const rounded = { user_id: Number(id), user_id_str: String(id) }
    t.match(await client.patch(path, rounded), { status: 200, json: { user_id: id } })
    // Rounds to the same Number as the first id, and is that of nobody.
    const neighbour = firstId - 1n
    t.match((await client.patch(path, { user_id: neighbour })).json, { code: 'reference-not-found' })
    for (const [method, body] of [['GET'], ['DELETE'], ['PATCH', {}], ['PUT', sampleOf.users()]] as const)
      t.match(await client.call(method, `/v1/users/${neighbour}`, { body }), { status: 404 }, method)
    t.strictSame((await client.get(`/v1/orders?user_id=${neighbour}`)).json, { orders: [] }, 'nor a filter')
  })

  await t.test('the item and its answer to an Idempotency-Key are committed together', async (t) => {
    const order = await newOrder(client)
    const bodies = { orders: sampleOf.orders(order.user_id), payments: sampleOf.payments(order.id) }
    for (const [collection, body] of Object.entries(bodies)) {
      const headers = { 'idempotency-key': `"${collection}"` }
      const create = () => client.call('POST', `/v1/${collection}`, { body, headers })
      const total = async () => Number((await client.get(`/v1/${collection}?include_total=true`)).json.total)
      const before = await total()
      const table = 'alter table fastify_conventions_idempotency'
      await query(actual, `${table} add constraint unanswered check (answer is null) not valid`)
      t.equal((await create()).status, 500, 'its answer could not be kept')
      t.equal(await total(), before, 'so it was not made')
      await query(actual, `${table} drop constraint unanswered`)
      t.strictSame([(await create()).status, (await create()).status], [201, 201])
      t.equal(await total(), before + 1, 'the second one is a repetition')
    }
  })
})
