/** Repeated requests with a key: an order is created once, for each caller. */
import { serve } from './client.js'
import { onDatabase } from './each-database.js'
import { query } from './query.js'
import { newOrder, newUser, sampleOf } from './samples.js'

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  const ada = await newUser(client, { email: 'ada@example.com' })
  const body = sampleOf.orders(ada.id as bigint)
  const create = (key: string, given: unknown = body) =>
    client.call('POST', '/v1/orders', { body: given, headers: { 'idempotency-key': `"${key}"` } })

  await t.test('an order that is sent again is the same order', async (t) => {
    const first = await create('order')
    t.equal(first.status, 201)
    const again = await create('order')
    t.equal(again.status, 201)
    t.equal(again.text, first.text)
    for (const name of ['location', 'etag', 'content-type']) {
      t.equal(again.headers.get(name), first.headers.get(name), name)
    }
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    t.equal((await client.get('/v1/orders?include_total=true')).json.total, 1)
  })

  await t.test('the key of one user has nothing to do with that of another', async (t) => {
    const [bob, eve] = [await newUser(client), await newUser(client)]
    const headers = { 'idempotency-key': '"mine"' }
    for (const user of [bob, eve]) {
      const own = sampleOf.subscriptions(user.id)
      const { status, json } = await client
        .as(user.id)
        .call('POST', '/v1/subscriptions', { body: own, headers })
      t.equal(status, 201)
      t.equal(json.user_id, user.id)
    }
  })

  for (const collection of ['orders', 'payments'] as const) {
    await t.test(`${collection}: the item and its answer are committed together`, async (t) => {
      const body =
        collection === 'orders' ? sampleOf.orders(ada.id) : sampleOf.payments((await newOrder(client)).id)
      const headers = { 'idempotency-key': `"${collection} together"` }
      const total = async () => (await client.get(`/v1/${collection}?include_total=true`)).json.total
      const before = Number(await total())
      const table = 'alter table fastify_conventions_idempotency'
      await query(database, { text: `${table} add constraint unanswered check (answer is null) not valid` })
      const failed = await client.call('POST', `/v1/${collection}`, { body, headers })
      t.equal(failed.status, 500, 'its answer could not be kept')
      t.equal(Number(await total()), before, 'so it was not made')
      await query(database, { text: `${table} drop constraint unanswered` })
      t.equal((await client.call('POST', `/v1/${collection}`, { body, headers })).status, 201)
      t.equal(Number(await total()), before + 1)
    })
  }
})
