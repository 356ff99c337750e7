import { serve } from './client.js'
import { onEachDatabase } from './each-database.js'
import { newOrder, newUser } from './samples.js'

await onEachDatabase(async (t, database) => {
  const client = await serve(t, database)

  await t.test('what the patch leaves out stays, default or not', async (t) => {
    const user = await newUser(client, { gender: 'female' })
    const { json } = await client.patch(`/v1/users/${user.id}`, { age: 40 })
    t.strictSame(json, { ...user, age: 40, updated_at: json.updated_at })
    const order = await newOrder(client)
    const patched = await client.patch(`/v1/orders/${order.id}`, { currency: 'USD' })
    t.match(patched.json, { status: 'paid', currency: 'USD' }, 'the status does not fall back to its default')
  })

  await t.test('null takes a value away where there may be none, and is refused elsewhere', async (t) => {
    const user = await newUser(client, { gender: 'female' })
    const path = `/v1/users/${user.id}`
    t.match((await client.patch(path, { gender: null })).json, { gender: null })
    t.match(await client.patch(path, { name: null }), {
      status: 400,
      json: { errors: [{ pointer: '/name' }] },
    })
  })

  await t.test('a list is replaced as a whole (RFC 7396 §2)', async (t) => {
    const order = await newOrder(client)
    const items = [{ sku: 'B', quantity: 1, unit_amount: 5 }]
    t.strictSame((await client.patch(`/v1/orders/${order.id}`, { items })).json.items, items)
  })

  await t.test('an empty patch is a patch', async (t) => {
    const user = await newUser(client)
    const { status, json } = await client.patch(`/v1/users/${user.id}`, {})
    t.equal(status, 200)
    t.strictSame(json, user, 'which changes nothing, updated_at included')
  })

  await t.test('both media types say the same', async (t) => {
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

  await t.test('patches of different fields at once all last', async (t) => {
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

  await t.test('a replace against patches: the replace as a whole, or with a patch after it', async (t) => {
    for (let round = 0; round < 20; round++) {
      const user = await newUser(client)
      const path = `/v1/users/${user.id}`
      const full = { name: 'Replaced', age: 1, gender: null, email: user.email }
      await Promise.all([client.put(path, full), client.patch(path, { age: 2 })])
      const { name, age, gender } = (await client.get(path)).json
      t.same({ name, gender }, { name: 'Replaced', gender: null })
      t.ok(age === 1 || age === 2)
    }
  })
})
