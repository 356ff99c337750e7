import { serve } from './client.js'
import { onEachDatabase } from './each-database.js'
import { newOrder, newUser, sampleOf } from './samples.js'

await onEachDatabase(async (t, database) => {
  const client = await serve(t, database)
  const ada = await newUser(client, { email: 'ada@example.com' })
  const alan = await newUser(client, { email: 'alan@example.com' })
  const order = await newOrder(client)

  await t.test('a reference to an unknown id is a 422 with its pointer', async (t) => {
    const nobody = 9_223_372_036_854_775_807n
    const attempts = [
      ['/v1/orders', sampleOf.orders(nobody), '/user_id'],
      ['/v1/subscriptions', sampleOf.subscriptions(nobody), '/user_id'],
      ['/v1/payments', sampleOf.payments(nobody), '/order_id'],
      ['/v1/friends', sampleOf.friends(nobody, ada.id), '/user_id'],
      ['/v1/friends', sampleOf.friends(ada.id, nobody), '/friend_user_id'],
    ] as const
    for (const [path, body, pointer] of attempts) {
      const refusal = {
        status: 422,
        json: { code: 'reference-not-found', errors: [{ in: 'body', pointer }] },
      }
      t.match(await client.post(path, body), refusal, `create ${path} ${pointer}`)
    }
    const path = `/v1/orders/${order.id}`
    const refusal = { status: 422, json: { code: 'reference-not-found', errors: [{ pointer: '/user_id' }] } }
    t.match(await client.patch(path, { user_id: nobody }), refusal, 'update')
    t.match(await client.put(path, sampleOf.orders(nobody)), refusal, 'replace')
    t.strictSame((await client.get(path)).json, order, 'the order is as it was')
  })

  await t.test('an email address is unique, whatever its case', async (t) => {
    const refusal = {
      status: 409,
      json: { code: 'already-exists', errors: [{ in: 'body', pointer: '/email' }] },
    }
    for (const email of ['ada@example.com', 'Ada@Example.COM']) {
      t.match(await client.post('/v1/users', sampleOf.users(email)), refusal, `create ${email}`)
      t.match(await client.patch(`/v1/users/${alan.id}`, { email }), refusal, `update ${email}`)
      t.match(await client.put(`/v1/users/${alan.id}`, sampleOf.users(email)), refusal, `replace ${email}`)
    }
    t.match(
      await client.patch(`/v1/users/${ada.id}`, { email: 'ADA@example.com' }),
      { status: 200 },
      'one may keep it',
    )
  })

  await t.test('of many concurrent requests for one email address, one succeeds', async (t) => {
    const attempts = Array.from({ length: 8 }, () =>
      client.post('/v1/users', sampleOf.users('one@example.com')),
    )
    const statuses = (await Promise.all(attempts)).map(({ status }) => status).sort()
    t.same(statuses, [201, ...Array(7).fill(409)])
  })

  await t.test('a friendship is unique; the other direction is another friendship', async (t) => {
    const pair = sampleOf.friends(ada.id, alan.id)
    t.match(await client.post('/v1/friends', pair), { status: 201 })
    const errors = [{ pointer: '/user_id' }, { pointer: '/friend_user_id' }]
    t.match(await client.post('/v1/friends', pair), { status: 409, json: { code: 'already-exists', errors } })
    t.match(await client.post('/v1/friends', sampleOf.friends(alan.id, ada.id)), { status: 201 })
  })

  await t.test('users cannot be friends of themselves', async (t) => {
    const refusal = {
      status: 422,
      json: { code: 'friend-of-self', errors: [{ pointer: '/friend_user_id' }] },
    }
    t.match(await client.post('/v1/friends', sampleOf.friends(ada.id, ada.id)), refusal)
  })

  await t.test('a referenced resource cannot be deleted', async (t) => {
    const refusal = {
      status: 409,
      json: { code: 'still-referenced', detail: /still referenced by (orders|payments)$/ },
    }
    const { json: payment } = await client.post('/v1/payments', sampleOf.payments(order.id))
    t.match(await client.delete(`/v1/orders/${order.id}`), refusal, 'order with a payment')
    t.match(await client.delete(`/v1/users/${order.user_id}`), refusal, 'user with an order')
    t.equal((await client.delete(`/v1/payments/${payment.id}`)).status, 204)
    t.equal((await client.delete(`/v1/orders/${order.id}`)).status, 204)
    t.equal((await client.delete(`/v1/users/${order.user_id}`)).status, 204, 'nothing refers to it any more')
  })

  await t.test(
    'an order and the concurrent deletion of its user: no order is left without a user',
    async (t) => {
      for (let round = 0; round < 10; round++) {
        const user = await newUser(client)
        const [created, deleted] = await Promise.all([
          client.post('/v1/orders', sampleOf.orders(user.id)),
          client.delete(`/v1/users/${user.id}`),
        ])
        const outcome = `${created.status} ${deleted.status}`
        t.ok(['201 409', '422 204'].includes(outcome), outcome)
      }
    },
  )
})
