/** What each collection refuses, and where the fault is. */
import { longestBody } from '../../examples/demo-server/validation.js'
import { serve, writeExact } from './client.js'
import { onDatabase } from './databases.js'
import { type CollectionName, newBody, newUser, sampleOf } from './samples.js'

const item = (changes: object) => ({ items: [{ sku: 'a', quantity: 1, unit_amount: 1, ...changes }] })

/** What is changed in a good body, and where the fault is. A member that is `undefined` is left out. */
const faults = {
  users: [
    [{ age: '31' }, '/age'],
    [{ age: 151 }, '/age'],
    [{ age: undefined }, '/age'],
    [{ name: '   ' }, '/name'],
    [{ name: 'x'.repeat(201) }, '/name'],
    [{ name: 'a\u0000b' }, '/name'],
    [{ name: 'a\ud800b' }, '/name'],
    [{ gender: '' }, '/gender'],
    [{ email: `${'x'.repeat(243)}@example.com` }, '/email'],
    [{ email_verified: true }, '/email_verified'],
    [{ id: 5 }, '/id'],
  ],
  friends: [[{ friend_user_id: undefined }, '/friend_user_id']],
  orders: [
    [{ user_id: -1 }, '/user_id'],
    [{ user_id: 10n ** 30n }, '/user_id'],
    [{ status: 'lost' }, '/status'],
    [{ total_amount: 2 ** 53 }, '/total_amount'],
    [{ currency: 'EURO' }, '/currency'],
    [{ items: [] }, '/items'],
    [{ items: Array.from({ length: 101 }, () => item({}).items[0]) }, '/items'],
    [item({ quantity: 0 }), '/items/0/quantity'],
    [item({ quantity: 1_000_001 }), '/items/0/quantity'],
    [item({ unit_amount: 2 ** 53 }), '/items/0/unit_amount'],
    [item({ sku: 'a b' }), '/items/0/sku'],
    [item({ note: '' }), '/items/0/note'],
  ],
  subscriptions: [
    [{ renews_at: '2025-02-30T00:00:00Z' }, '/renews_at'],
    [{ renews_at: '0000-01-01T00:00:00Z' }, '/renews_at'],
    [{ renews_at: '2025-01-01T00:00:00+23:59' }, '/renews_at'],
    [{ renews_at: '2025-06-30T23:59:60Z' }, '/renews_at'],
    [{ plan: null }, '/plan'],
  ],
  payments: [
    [{ amount: -5 }, '/amount'],
    [{ failure_reason: 3 }, '/failure_reason'],
  ],
} as const

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  const user = await newUser(client)
  const path = `/v1/users/${user.id}`

  for (const [name, rows] of Object.entries(faults)) {
    await t.test(`${name}: a fault is a 400 with its pointer, and nothing is stored`, async (t) => {
      const body = await newBody(client, name as CollectionName)
      const { json, headers } = await client.post(`/v1/${name}`, body)
      const itemPath = headers.get('location') ?? ''
      for (const [fields, pointer] of rows) {
        const refusal = { status: 400, json: { code: 'validation', errors: [{ in: 'body', pointer }] } }
        const about = `${writeExact(fields).slice(0, 60)} ${pointer}`
        t.match(await client.post(`/v1/${name}`, { ...body, ...fields }), refusal, `create ${about}`)
        t.match(await client.put(itemPath, { ...body, ...fields }), refusal, `replace ${about}`)
        if (Object.values(fields).every((value) => value !== undefined))
          t.match(await client.patch(itemPath, fields), refusal, `update ${about}`)
      }
      t.strictSame((await client.get(`${itemPath}?fields=*`)).json, json)
    })
  }

  await t.test('a body that is not an object, or of another type, is a 400 or 415', async (t) => {
    for (const body of ['[]', 'null', '{', '{"__proto__":{"age":1}}'])
      t.match(await client.patch(path, body), { status: 400, json: { status: 400 } }, `update ${body}`)
    const refusal = { status: 400, json: { code: 'validation' } }
    t.match(await client.call('POST', '/v1/users'), refusal, 'no body')
    for (const action of ['orders/1/cancel', 'subscriptions/1/suspend', 'users/1/follow', 'payments/1/retry'])
      t.match(await client.post(`/v1/${action}`, { a: 1 }), refusal, 'members that an action does not take')
    const typed = (method: string, type: string) =>
      client.call(method, path, { body: '{"age":3}', headers: { 'content-type': type } })
    t.equal((await typed('PATCH', 'application/merge-patch+json')).status, 200)
    t.equal((await typed('PUT', 'application/merge-patch+json')).status, 415, 'a patch replaces nothing')
    const refused = await typed('PATCH', 'text/plain')
    t.match(refused, { status: 415, json: { code: 'unsupported-media-type' } })
    t.match(refused.headers.get('accept-patch'), 'application/merge-patch+json', 'RFC 5789 §2.2')
  })

  await t.test('all faults of a body are named at once', async (t) => {
    const { json } = await client.post('/v1/users', { name: '', email: 'nope', age: -1, extra: 1 })
    const pointers = (json.errors as { pointer: string }[]).map(({ pointer }) => pointer)
    t.strictSame(new Set(pointers), new Set(['/name', '/email', '/age', '/extra']))
  })

  await t.test('a body over the limit is a 413; the longest order is less than half of it', async (t) => {
    t.match(await client.patch(path, { name: 'x'.repeat(longestBody) }), { status: 413 })
    const longest = item({ sku: 'a'.repeat(64), quantity: 1e6, unit_amount: Number.MAX_SAFE_INTEGER })
    const items = Array.from({ length: 100 }, () => longest.items[0])
    t.match(await client.post('/v1/orders', { ...(await newBody(client, 'orders')), items }), { status: 201 })
    t.ok(JSON.stringify(items).length < longestBody / 2)
  })

  await t.test('a fault of a path or a query is a 400 with its name', async (t) => {
    for (const [method, target, place, name] of [
      ['GET', '/v1/users/-1', 'path', 'id'],
      ['GET', '/v1/orders/01/invoice', 'path', 'id'],
      ['GET', '/v1/users?color=red', 'query', 'color'],
      ['GET', '/v1/subscriptions?plan=%00', 'query', 'plan'],
      ['GET', '/v1/orders/1/invoice?dry_run=true', 'query', 'dry_run'],
      ['GET', '/v1/terms?fields=text', 'query', 'fields'],
      ['POST', '/v1/users?dry_run=true', 'query', 'dry_run'],
      ['DELETE', `${path}?dry_run=true`, 'query', 'dry_run'],
    ] as const) {
      const body = method === 'POST' ? sampleOf.users('good@example.com') : undefined
      const json = { code: 'validation', errors: [{ in: place, name }] }
      t.match(await client.call(method, target, { body }), { status: 400, json }, `${method} ${target}`)
    }
  })

  await t.test('unusual valid input is accepted', async (t) => {
    const body = { age: 0, name: "Zoë O'Brien-Łukasz 👩‍💻 Robert'); drop table users;--" }
    t.match((await client.patch(path, body)).json, body)
    const { json } = await client.post('/v1/subscriptions', await newBody(client, 'subscriptions'))
    const times = '2025-01-01t00:00:00z 2025-01-01T02:00:00.0004+02:00 2024-12-31T10:00:00-14:00'
    for (const renews_at of times.split(' ')) {
      const answer = await client.patch(`/v1/subscriptions/${json.id}`, { renews_at })
      t.equal(answer.json.renews_at, '2025-01-01T00:00:00.000Z', renews_at)
    }
  })
})
