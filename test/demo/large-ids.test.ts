import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { ask, requestBytes } from '../support/raw.js'
import { type Client, itemsOf, type Json, serve, walk } from './client.js'
import { collections, readOnlyFields } from './collections.js'
import { onEachDatabase } from './each-database.js'
import { writeExact } from './exact-json.js'
import { adminToken } from './issuer.js'
import { newOrder, newUser, sampleOf } from './samples.js'

const id = firstId
/** Rounds to the same Number as `id`, and is another integer. */
const neighbour = id - 1n

/** A reference of a collection, and a body without it. */
interface Reference {
  readonly path: string
  readonly field: string
  readonly rest: Json
}

await onEachDatabase(async (t, database) => {
  const client = await serve(t, database)
  await seed(database)
  const { port } = client.app.server.address() as AddressInfo
  const references = await referencesOf(client)

  await t.test('the JSON has all digits of the id, followed by its twin', async (t) => {
    const headers = { authorization: `Bearer ${await adminToken()}` }
    for (const { name } of collections) {
      const one = await ask(port, requestBytes('GET', `/v1/${name}/${id}`, headers))
      t.equal(one.status, 200, name)
      t.ok(one.body.startsWith(`{"id":${id},"id_str":"${id}",`), one.body)
      const list = await ask(port, requestBytes('GET', `/v1/${name}?after_id=${id}&limit=1`, headers))
      t.ok(list.body.startsWith(`{"${name}":[{"id":${id + 1n},"id_str":"${id + 1n}",`), list.body)
    }
    const { body } = await ask(port, requestBytes('GET', `/v1/orders/${id}`, headers))
    t.match(body, `,"user_id":${id},"user_id_str":"${id}",`, 'references too')
  })

  await t.test('every id and reference of every item is beyond 2^53', async (t) => {
    for (const { name, references } of collections) {
      const ids = ['id', ...references]
      for (const page of await walk(client, `/v1/${name}?limit=200`)) {
        for (const item of itemsOf(page, name)) {
          for (const field of ids) {
            if (!((item[field] as bigint) > 2n ** 53n)) t.fail(`${name} ${item.id}: ${field} ${item[field]}`)
          }
        }
      }
      t.pass(name)
    }
    t.ok(((await newUser(client)).id as bigint) > 2n ** 53n, 'a new one too')
  })

  await t.test('an id that rounds to the same Number is another item, which does not exist', async (t) => {
    for (const method of ['GET', 'DELETE']) {
      t.match(await client.call(method, `/v1/users/${neighbour}`), { status: 404 }, method)
    }
    t.match(await client.patch(`/v1/users/${neighbour}`, { age: 1 }), { status: 404 })
    t.match(await client.put(`/v1/users/${neighbour}`, sampleOf.users('nobody@example.com')), {
      status: 404,
    })
    t.strictSame((await client.get(`/v1/orders?user_id=${neighbour}`)).json, { orders: [] }, 'nor a filter')
  })

  for (const { path, field, rest } of references) {
    await t.test(`${path}: ${field} beyond 2^53`, (t) => writeReference(t, client, { path, field, rest }))
  }

  await t.test('a client that rounds integers can PUT back what it has read', async (t) => {
    for (const { name, fields } of collections) {
      const path = `/v1/${name}/${id}`
      const before = await client.get(`${path}?fields=*`)
      const rounded = Object.entries(JSON.parse(before.text) as Json).filter(([member]) => {
        const field = member.replace(/_str$/, '')
        return field in fields && !readOnlyFields.includes(field)
      })
      const { status, json } = await client.put(path, JSON.stringify(Object.fromEntries(rounded)))
      t.equal(status, 200, name)
      t.strictSame({ ...json, updated_at: '' }, { ...before.json, updated_at: '' }, name)
    }
  })

  await t.test('amounts are plain integers, up to the largest safe one', async (t) => {
    const { text } = await client.patch(`/v1/orders/${id}`, { total_amount: Number.MAX_SAFE_INTEGER })
    t.match(text, '"total_amount":9007199254740991,"currency"')
  })
})

/** Creates and updates with a reference given in every way there is. */
async function writeReference(t: Test, client: Client, { path, field, rest }: Reference): Promise<void> {
  const exact = { [field]: id, [`${field}_str`]: String(id) }
  const twin = `${field}_str`
  const rounded = Number(id)

  for (const [about, given] of [
    ['as a number', { [field]: id }],
    ['as its twin alone', { [twin]: String(id) }],
    ['as both', { [field]: id, [twin]: String(id) }],
    ['as its twin beside what a client rounded', { [twin]: String(id), [field]: rounded }],
  ] as const) {
    const created = await client.post(path, { ...rest, ...given })
    t.match(created, { status: 201, json: exact }, `create: ${about}`)
    const itemPath = `${path}/${created.json.id}`
    t.match(
      await client.call('PATCH', itemPath, {
        body: given,
        headers: { 'content-type': 'application/merge-patch+json' },
      }),
      { status: 200, json: exact },
      `update: ${about}`,
    )
    t.match(
      await client.put(itemPath, { ...rest, ...given }),
      { status: 200, json: exact },
      `replace: ${about}`,
    )
    await holdOff(t, client, itemPath, { path, field, rest })
    t.match((await client.get(itemPath)).json, exact, 'nothing of what was refused has happened')
    t.equal((await client.delete(itemPath)).status, 204)
  }
}

/** Sends references that are refused. */
async function holdOff(
  t: Test,
  client: Client,
  itemPath: string,
  { path, field, rest }: Reference,
): Promise<void> {
  const twin = `${field}_str`
  const invalid = (pointer: string) => ({ status: 400, json: { code: 'validation', errors: [{ pointer }] } })
  const mismatch = {
    status: 400,
    json: { code: 'integer-twin-mismatch', errors: [{ in: 'body', pointer: `/${twin}` }] },
  }
  const gone = {
    status: 422,
    json: { code: 'reference-not-found', detail: new RegExp(`there is no item ${neighbour} `) },
  }
  const attempts: readonly (readonly [given: string, refusal: object])[] = [
    [`"${field}":${id},"${twin}":"${id + 10n}"`, mismatch],
    [`"${field}":${neighbour}`, gone],
    [`"${twin}":"${neighbour}"`, gone],
    [`"${field}":9223372036854775808`, invalid(`/${field}`)],
    [`"${twin}":"0${id}"`, invalid(`/${twin}`)],
  ]
  const other = writeExact(rest).slice(1, -1)
  for (const [given, refusal] of attempts) {
    const about = given.slice(0, 60)
    const whole = `{${given},${other}}`
    t.match(await client.post(path, whole), refusal, `create: ${about}`)
    t.match(await client.put(itemPath, whole), refusal, `replace: ${about}`)
    t.match(await client.patch(itemPath, `{${given}}`), refusal, `update: ${about}`)
  }
}

async function referencesOf(client: Client): Promise<Reference[]> {
  const [{ id: user }, { id: order }] = [await newUser(client), await newOrder(client)]
  const without = (body: Json, field: string): Json => {
    const { [field]: _, ...rest } = body
    return rest
  }
  return [
    { path: '/v1/orders', field: 'user_id', rest: without(sampleOf.orders(user), 'user_id') },
    { path: '/v1/subscriptions', field: 'user_id', rest: without(sampleOf.subscriptions(user), 'user_id') },
    { path: '/v1/friends', field: 'friend_user_id', rest: { user_id: user } },
    { path: '/v1/payments', field: 'order_id', rest: without(sampleOf.payments(order), 'order_id') },
  ]
}
