import { serve } from './client.js'
import { onDatabase } from './each-database.js'
import { newOrder, newUser } from './samples.js'

await onDatabase(async (t, database) => {
  const client = await serve(t, database)

  await t.test('members that are not in the patch do not change, with and without a default', async (t) => {
    const user = await newUser(client, { gender: 'female' })
    const { json } = await client.patch(`/v1/users/${user.id}`, { age: 40 })
    t.strictSame(json, { ...user, age: 40, updated_at: json.updated_at })
    const order = await newOrder(client)
    const patched = await client.patch(`/v1/orders/${order.id}`, { currency: 'USD' })
    t.match(patched.json, { status: 'paid', currency: 'USD' }, 'the status does not fall back to its default')
  })

  await t.test('null removes an optional value, and is a 400 for a required one', async (t) => {
    const user = await newUser(client, { gender: 'female' })
    const path = `/v1/users/${user.id}`
    t.match((await client.patch(path, { gender: null })).json, { gender: null })
    t.match(await client.patch(path, { name: null }), {
      status: 400,
      json: { errors: [{ pointer: '/name' }] },
    })
  })

  await t.test('an array is replaced as a whole (RFC 7396 §2)', async (t) => {
    const order = await newOrder(client)
    const items = [{ sku: 'B', quantity: 1, unit_amount: 5 }]
    t.strictSame((await client.patch(`/v1/orders/${order.id}`, { items })).json.items, items)
  })

  await t.test('an empty patch is accepted', async (t) => {
    const user = await newUser(client)
    const { status, json } = await client.patch(`/v1/users/${user.id}`, {})
    t.equal(status, 200)
    t.strictSame(json, user, 'which changes nothing, updated_at included')
  })

  await t.test('both media types have the same effect', async (t) => {
    const user = await newUser(client)
    const types = [
      'application/json',
      'application/merge-patch+json',
      'application/merge-patch+json; charset=utf-8',
    ]
    for (const [age, type] of types.entries()) {
      const sent = { body: { age }, headers: { 'content-type': type } }
      t.match(await client.call('PATCH', `/v1/users/${user.id}`, sent), { status: 200, json: { age } }, type)
    }
  })

  await t.test('concurrent patches of different fields all take effect', async (t) => {
    for (let round = 0; round < 20; round++) {
      const user = await newUser(client)
      const path = `/v1/users/${user.id}`
      const changes = [{ age: 99 }, { name: 'Changed' }, { gender: 'other' }]
      const answers = await Promise.all(changes.map((change) => client.patch(path, change)))
      t.match(answers, [{ status: 200 }, { status: 200 }, { status: 200 }])
      t.match((await client.get(path)).json, { age: 99, name: 'Changed', gender: 'other' })
      const times = new Set(answers.map(({ json }) => json.updated_at))
      t.equal(times.size, changes.length, 'each write has its own updated_at')
    }
  })

  await t.test(
    'a PUT and concurrent patches: the result is the PUT, or the PUT with a later patch',
    async (t) => {
      for (let round = 0; round < 20; round++) {
        const user = await newUser(client)
        const path = `/v1/users/${user.id}`
        const full = { name: 'Replaced', age: 1, gender: null, email: user.email }
        await Promise.all([client.put(path, full), client.patch(path, { age: 2 })])
        const { name, age, gender } = (await client.get(path)).json
        t.same({ name, gender }, { name: 'Replaced', gender: null })
        t.ok(age === 1 || age === 2)
      }
    },
  )
})
