import { longestBody } from '../../examples/demo-server/validation.js'
import { type Client, serve } from './client.js'
import { onDatabase } from './each-database.js'
import { writeExact } from './exact-json.js'
import { newOrder, newUser, sampleOf } from './samples.js'

/** A body that is refused: what it changes in a good one, and where the fault is. */
type BadField = readonly [fields: Record<string, unknown>, pointer: string]

const badUsers: readonly BadField[] = [
  [{ age: '31' }, '/age'],
  [{ age: null }, '/age'],
  [{ age: true }, '/age'],
  [{ age: 31.5 }, '/age'],
  [{ age: -1 }, '/age'],
  [{ age: 151 }, '/age'],
  [{ age: undefined }, '/age'],
  [{ name: '' }, '/name'],
  [{ name: '   ' }, '/name'],
  [{ name: 7 }, '/name'],
  [{ name: null }, '/name'],
  [{ name: 'x'.repeat(201) }, '/name'],
  [{ name: 'a\u0000b' }, '/name'],
  [{ name: 'a\ud800b' }, '/name'],
  [{ name: 'two\nlines' }, '/name'],
  [{ gender: '' }, '/gender'],
  [{ gender: false }, '/gender'],
  [{ email: 'nobody' }, '/email'],
  [{ email: ['ada@example.com'] }, '/email'],
  [{ email_verified: true }, '/email_verified'],
  [{ id: 5 }, '/id'],
  [{ created_at: '2025-01-01T00:00:00Z' }, '/created_at'],
  [{ updated_at: '2025-01-01T00:00:00Z' }, '/updated_at'],
  [{ nickname: 'ada' }, '/nickname'],
  [{ 'a/b~c': 1 }, '/a~1b~0c'],
]

const badOrders: readonly BadField[] = [
  [{ user_id: '1' }, '/user_id'],
  [{ user_id: -1 }, '/user_id'],
  [{ user_id: 1.5 }, '/user_id'],
  [{ user_id: 2n ** 63n }, '/user_id'],
  [{ user_id: 10n ** 30n }, '/user_id'],
  [{ user_id_str: 'one' }, '/user_id_str'],
  [{ user_id_str: 1 }, '/user_id_str'],
  [{ user_id: null }, '/user_id'],
  [{ status: 'lost' }, '/status'],
  [{ status: null }, '/status'],
  [{ total_amount: -1 }, '/total_amount'],
  [{ total_amount: '10' }, '/total_amount'],
  [{ total_amount: 2 ** 53 }, '/total_amount'],
  [{ total_amount_str: '1' }, '/total_amount_str'],
  [{ currency: 'eur' }, '/currency'],
  [{ currency: 'EURO' }, '/currency'],
  [{ items: [] }, '/items'],
  [{ items: {} }, '/items'],
  [{ items: undefined }, '/items'],
  [{ items: [{ sku: 'a', quantity: 0, unit_amount: 1 }] }, '/items/0/quantity'],
  [{ items: [{ sku: 'a', quantity: 1, unit_amount: -1 }] }, '/items/0/unit_amount'],
  [{ items: [{ sku: 'a b', quantity: 1, unit_amount: 1 }] }, '/items/0/sku'],
  [{ items: [{ sku: 'a', quantity: 1 }] }, '/items/0/unit_amount'],
  [{ items: [{ sku: 'a', quantity: 1, unit_amount: 1, note: '' }] }, '/items/0/note'],
]

const badSubscriptions: readonly BadField[] = [
  [{ renews_at: 'tomorrow' }, '/renews_at'],
  [{ renews_at: '2025-02-30T00:00:00Z' }, '/renews_at'],
  [{ renews_at: '2025-01-01' }, '/renews_at'],
  [{ renews_at: '2025-01-01T00:00:00' }, '/renews_at'],
  [{ renews_at: '0000-01-01T00:00:00Z' }, '/renews_at'],
  [{ renews_at: '2025-01-01T00:00:00+23:59' }, '/renews_at'],
  [{ renews_at: '2025-06-30T23:59:60Z' }, '/renews_at'],
  [{ renews_at: 1735689600 }, '/renews_at'],
  [{ plan: null }, '/plan'],
]

const badPayments: readonly BadField[] = [
  [{ amount: -5 }, '/amount'],
  [{ amount: null }, '/amount'],
  [{ status: 'paid' }, '/status'],
  [{ failure_reason: 3 }, '/failure_reason'],
  [{ order_id: undefined }, '/order_id'],
]

const badIds = ['abc', '9223372036854775808', '01']

const badTargets: readonly (readonly [target: string, name: string])[] = [
  ['/v1/users?color=red', 'color'],
  ['/v1/users?email_verified=maybe', 'email_verified'],
  ['/v1/orders?user_id=abc', 'user_id'],
  ['/v1/orders?status=lost', 'status'],
  ['/v1/subscriptions?plan=%00', 'plan'],
  ['/v1/users/1?verbose=true', 'verbose'],
  ['/v1/orders?user_id_str=1', 'user_id_str'],
]

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  const user = await newUser(client)
  const order = await newOrder(client)
  const goodBodies = {
    users: sampleOf.users('someone.else@example.com'),
    orders: sampleOf.orders(user.id),
    subscriptions: sampleOf.subscriptions(user.id),
    payments: sampleOf.payments(order.id),
  }
  const itemPaths = {
    users: `/v1/users/${user.id}`,
    orders: `/v1/orders/${order.id}`,
    subscriptions: await createdPath(client, '/v1/subscriptions', goodBodies.subscriptions),
    payments: await createdPath(client, '/v1/payments', goodBodies.payments),
  }
  const tables = {
    users: badUsers,
    orders: badOrders,
    subscriptions: badSubscriptions,
    payments: badPayments,
  }

  for (const name of ['users', 'orders', 'subscriptions', 'payments'] as const) {
    for (const [fields, pointer] of tables[name]) {
      await t.test(`${name}: ${shown(fields)} is invalid at ${pointer}`, async (t) => {
        const refusal = {
          status: 400,
          json: { code: 'validation', status: 400, errors: [{ in: 'body', pointer }] },
        }
        const body = { ...goodBodies[name], ...fields }
        t.match(await client.post(`/v1/${name}`, body), refusal, 'create')
        t.match(await client.put(itemPaths[name], body), refusal, 'replace')
        if (Object.values(fields).every((value) => value !== undefined)) {
          t.match(await client.patch(itemPaths[name], fields), refusal, 'update')
        }
      })
    }
  }

  await t.test('a body that is not an object is a 400', async (t) => {
    for (const body of ['[]', '"text"', '7', 'null', '[{"name":"Ada"}]']) {
      const refusal = { status: 400, json: { code: 'validation' } }
      t.match(await client.post('/v1/users', body), refusal, `create ${body}`)
      t.match(await client.patch(itemPaths.users, body), refusal, `update ${body}`)
    }
    for (const body of [
      '',
      '{',
      '{"age":1,}',
      '{"__proto__":{"age":1}}',
      '{"constructor":{"prototype":{}}}',
    ]) {
      t.match(
        await client.patch(itemPaths.users, body),
        { status: 400, json: { status: 400 } },
        `update ${body}`,
      )
    }
    t.match(await client.call('POST', '/v1/users'), { status: 400, json: { code: 'validation' } }, 'no body')
  })

  await t.test('a body that is not JSON is a 400', async (t) => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/cbor']) {
      const sent = { body: '{"name":"Ada"}', headers: { 'content-type': type } }
      t.match(await client.call('POST', '/v1/users', sent), {
        status: 415,
        json: { code: 'unsupported-media-type' },
      })
    }
    const mergePatch = { body: '{"age":3}', headers: { 'content-type': 'application/merge-patch+json' } }
    t.match(
      await client.call('PUT', itemPaths.users, mergePatch),
      { status: 415 },
      'a patch replaces nothing',
    )
    const refused = await client.call('PATCH', itemPaths.users, {
      body: 'a',
      headers: { 'content-type': 'text/plain' },
    })
    t.match(refused, { status: 415 })
    t.match(refused.headers.get('accept-patch'), 'application/merge-patch+json', 'RFC 5789 §2.2')
  })

  await t.test('all faults of a body are named at once, up to a bound', async (t) => {
    const body = { name: '', email: 'nope', age: -1, extra: 1 }
    const { status, json } = await client.post('/v1/users', body)
    t.equal(status, 400)
    const errors = json.errors as readonly { readonly in: string; readonly pointer: string }[]
    t.strictSame(
      new Set(errors.map(({ pointer }) => pointer)),
      new Set(['/name', '/email', '/age', '/extra']),
    )
    t.ok(errors.every((error) => error.in === 'body'))
    const unknown = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`m${index}`, 1]))
    const many = await client.post('/v1/users', { ...goodBodies.users, ...unknown })
    t.equal(many.status, 400)
    t.equal((many.json.errors as readonly unknown[]).length, 50)
    t.ok(many.text.length < 20_000, String(many.text.length))
  })

  await t.test('the longest order is shorter than the limit', async (t) => {
    const item = { sku: 'a'.repeat(64), quantity: 1_000_000, unit_amount: Number.MAX_SAFE_INTEGER }
    const items = Array.from({ length: 100 }, () => item)
    const created = await client.post('/v1/orders', { ...goodBodies.orders, items })
    t.equal(created.status, 201)
    t.ok(JSON.stringify(items).length < longestBody / 2)
  })

  await t.test('a body over the limit is a 413', async (t) => {
    const body = { ...goodBodies.users, name: 'x'.repeat(2 ** 16) }
    t.match(await client.post('/v1/users', body), { status: 413, json: { code: 'content-too-large' } })
  })

  for (const id of badIds) {
    await t.test(`${id} is not an id`, async (t) => {
      for (const method of ['GET', 'DELETE']) {
        const refusal = { status: 400, json: { code: 'validation', errors: [{ in: 'path', name: 'id' }] } }
        t.match(await client.call(method, `/v1/users/${id}`), refusal, method)
      }
    })
  }

  await t.test('an unknown id is a 404', async (t) => {
    for (const id of ['0', '999999', '9007199254740992', '9223372036854775807']) {
      t.match(await client.get(`/v1/orders/${id}`), { status: 404, json: { code: 'not-found' } }, id)
    }
  })

  for (const [target, name] of badTargets) {
    await t.test(`${target} is invalid at ${name}`, async (t) => {
      const refusal = { status: 400, json: { code: 'validation', errors: [{ in: 'query', name }] } }
      t.match(await client.get(target), refusal)
    })
  }

  await t.test('a query of a write is a 400', async (t) => {
    const refusal = { status: 400, json: { errors: [{ in: 'query', name: 'dry_run' }] } }
    t.match(await client.post('/v1/users?dry_run=true', goodBodies.users), refusal)
    t.match(await client.put(`${itemPaths.users}?dry_run=true`, goodBodies.users), refusal)
    t.match(await client.patch(`${itemPaths.users}?dry_run=true`, {}), refusal)
    t.match(await client.delete(`${itemPaths.users}?dry_run=true`), refusal)
  })

  await t.test('none of the refused input was stored', async (t) => {
    t.strictSame((await client.get(`${itemPaths.users}?fields=*`)).json, user)
    t.match((await client.get('/v1/users?include_total=true')).json, { total: 2 })
  })

  await t.test('unusual valid input is accepted', async (t) => {
    const body = {
      ...goodBodies.users,
      name: "Zoë O'Brien-Łukasz 👩‍💻 Robert'); drop table users;--",
      age: 0,
    }
    t.match((await client.post('/v1/users', body)).json, body)
    const renewals = ['2025-01-01t00:00:00z', '2025-01-01T02:00:00.0004+02:00', '2024-12-31T10:00:00-14:00']
    for (const renews_at of renewals) {
      const { json } = await client.patch(itemPaths.subscriptions, { renews_at })
      t.equal(json.renews_at, '2025-01-01T00:00:00.000Z', renews_at)
    }
  })
})

async function createdPath(client: Client, path: string, body: unknown): Promise<string> {
  return (await client.post(path, body)).headers.get('location') ?? ''
}

function shown(fields: Record<string, unknown>): string {
  const [[name, value] = []] = Object.entries(fields)
  return value === undefined ? `no ${name}` : writeExact(fields).slice(0, 80)
}
