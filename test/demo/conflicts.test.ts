import { serve } from './client.js'
import { onEachDatabase } from './databases.js'
import { newOrder, newUser, sampleOf } from './samples.js'

await onEachDatabase(async (t, database) => {
  const client = await serve(t, database)
  const ada = await newUser(client, { email: 'ada@example.com' })
  const alan = await newUser(client, { email: 'alan@example.com' })
  const order = await newOrder(client)

  await t.test('a reference to an unknown id is a 422 with its pointer', async (t) => {
    const nobody = 9_223_372_036_854_775_807n
    for (const [method, target, body, field] of [
      ['POST', '/v1/orders', sampleOf.orders(nobody), 'user_id'],
      ['POST', '/v1/subscriptions', sampleOf.subscriptions(nobody), 'user_id'],
      ['POST', '/v1/payments', sampleOf.payments(nobody), 'order_id'],
      ['POST', '/v1/friends', sampleOf.friends(nobody, ada.id), 'user_id'],
      ['POST', '/v1/friends', sampleOf.friends(ada.id, nobody), 'friend_user_id'],
      ['PATCH', `/v1/orders/${order.id}`, { user_id: nobody }, 'user_id'],
    ] as const) {
      const json = { code: 'reference-not-found', errors: [{ in: 'body', pointer: `/${field}` }] }
      t.match(
        await client.call(method, target, { body }),
        { status: 422, json },
        `${method} ${target} ${field}`,
      )
    }
  })

  await t.test('an e-mail address is unique, whatever its case', async (t) => {
    const errors = [{ in: 'body', pointer: '/email' }]
    const refusal = { status: 409, json: { code: 'already-exists', errors } }
    for (const email of ['ada@example.com', 'Ada@Example.COM']) {
      t.match(await client.post('/v1/users', sampleOf.users(email)), refusal, `create ${email}`)
      t.match(await client.patch(`/v1/users/${alan.id}`, { email }), refusal, `update ${email}`)
    }
    t.match(await client.patch(`/v1/users/${ada.id}`, { email: 'ADA@example.com' }), { status: 200 }, 'own')
    const one = () => client.post('/v1/users', sampleOf.users('one@example.com'))
    const statuses = (await Promise.all(Array.from({ length: 8 }, one))).map(({ status }) => status)
    t.same(statuses.sort(), [201, ...Array(7).fill(409)], 'of many at once, one succeeds')
  })

  await t.test('a friendship is unique, has another direction, and is not with oneself', async (t) => {
    const befriend = (one: unknown, other: unknown) =>
      client.post('/v1/friends', sampleOf.friends(one, other))
    const pointers = (...names: string[]) => names.map((name) => ({ pointer: `/${name}` }))
    t.match(await befriend(ada.id, alan.id), { status: 201 })
    const again = { code: 'already-exists', errors: pointers('user_id', 'friend_user_id') }
    t.match(await befriend(ada.id, alan.id), { status: 409, json: again })
    t.match(await befriend(alan.id, ada.id), { status: 201 })
    const self = { code: 'friend-of-self', errors: pointers('friend_user_id') }
    t.match(await befriend(ada.id, ada.id), { status: 422, json: self })
  })

  await t.test('what others refer to cannot be deleted', async (t) => {
    const { json: payment } = await client.post('/v1/payments', sampleOf.payments(order.id))
    const refused = (detail: RegExp) => ({ status: 409, json: { code: 'still-referenced', detail } })
    t.match(await client.delete(`/v1/orders/${order.id}`), refused(/still referenced by payments$/))
    t.match(await client.delete(`/v1/users/${order.user_id}`), refused(/still referenced by orders$/))
    for (const path of [`payments/${payment.id}`, `orders/${order.id}`, `users/${order.user_id}`])
      t.match(await client.delete(`/v1/${path}`), { status: 204 }, `${path}: nothing refers to it any more`)
  })

  await t.test('an order and the concurrent deletion of its user: one of them fails', async (t) => {
    for (let round = 0; round < 10; round++) {
      const user = await newUser(client)
      const [created, deleted] = await Promise.all([
        client.post('/v1/orders', sampleOf.orders(user.id)),
        client.delete(`/v1/users/${user.id}`),
      ])
      const outcome = `${created.status} ${deleted.status}`
      t.ok(['201 409', '422 204'].includes(outcome), outcome)
    }
  })
})
