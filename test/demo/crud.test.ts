import type { Test } from 'tap'
import { type Client, itemsOf, type Json, serve, tagOf } from './client.js'
import { onDatabase } from './each-database.js'
import { query } from './query.js'
import { newOrder, newUser, sampleOf } from './samples.js'

/** What the test of a collection needs to know of it. */
interface Subject {
  readonly name: string
  /** A body for a create, with every field that can be written. */
  create(client: Client): Promise<Json>
  /** Fields that a replace changes. */
  readonly changes: Json
  /** A field that can be left out, and the value it takes then. */
  readonly omitted: readonly [field: string, value: unknown] | null
}

const subjects: readonly Subject[] = [
  {
    name: 'users',
    create: async () => sampleOf.users('grace@example.com'),
    changes: { name: 'Grace Hopper', age: 85 },
    omitted: ['gender', null],
  },
  {
    name: 'friends',
    create: async (client) => sampleOf.friends((await newUser(client)).id, (await newUser(client)).id),
    changes: {},
    omitted: null,
  },
  {
    name: 'orders',
    create: async (client) => sampleOf.orders((await newUser(client)).id),
    changes: { total_amount: 0, items: [{ sku: 'A', quantity: 1, unit_amount: 0 }] },
    omitted: ['status', 'pending'],
  },
  {
    name: 'subscriptions',
    create: async (client) => sampleOf.subscriptions((await newUser(client)).id),
    changes: { plan: 'basic', status: 'suspended' },
    omitted: ['renews_at', null],
  },
  {
    name: 'payments',
    create: async (client) => sampleOf.payments((await newOrder(client)).id),
    changes: { status: 'succeeded', amount: Number.MAX_SAFE_INTEGER },
    omitted: ['failure_reason', null],
  },
]

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  for (const subject of subjects) await t.test(subject.name, (t) => liveAndDie(t, client, subject))

  await t.test('a new email address is not verified', async (t) => {
    const user = await newUser(client)
    const path = `/v1/users/${user.id}`
    await query(database, {
      text: 'update users set email_verified = true where id = $1',
      values: [user.id as bigint],
    })
    t.match((await client.patch(path, { age: 50 })).json, { age: 50, email_verified: true })
    t.match((await client.patch(path, { email: user.email })).json, { email_verified: true })
    t.match((await client.patch(path, { email: 'moved@example.com' })).json, { email_verified: false })
  })

  await t.test('a time with more than milliseconds is not a change when it is sent again', async (t) => {
    const user = await newUser(client)
    const body = { ...sampleOf.subscriptions(user.id), renews_at: '2026-01-01T00:00:00.123456Z' }
    const { headers, json } = await client.post('/v1/subscriptions', body)
    const again = await client.put(headers.get('location') ?? '', body)
    t.strictSame(again.json, json)
  })

  await t.test('updated_at increases with every change, created_at does not change', async (t) => {
    const user = await newUser(client)
    t.equal(user.updated_at, user.created_at)
    let before = user.updated_at as string
    for (let age = 0; age < 20; age++) {
      const { json } = await client.patch(`/v1/users/${user.id}`, { age })
      t.ok((json.updated_at as string) > before, 'later than before')
      t.equal(json.created_at, user.created_at)
      before = json.updated_at as string
    }
  })

  await t.test('updated_at does not decrease if the clock is set back', async (t) => {
    const user = await newUser(client)
    const future = '2099-01-01T00:00:00.000Z'
    await query(database, {
      text: 'update users set updated_at = $1 where id = $2',
      values: [future, user.id as bigint],
    })
    const { json } = await client.patch(`/v1/users/${user.id}`, { age: 1 })
    t.equal(json.updated_at, '2099-01-01T00:00:00.001Z')
  })
})

async function liveAndDie(
  t: Test,
  client: Client,
  { name, create, changes, omitted }: Subject,
): Promise<void> {
  const path = `/v1/${name}`
  const body = await create(client)

  const created = await client.post(path, body)
  t.equal(created.status, 201, 'create: 201')
  t.match(created.json, body, 'create: the body comes back')
  t.equal(created.headers.get('location'), `${path}/${created.json.id}`, 'create: Location')
  t.equal(Object.keys(created.json)[0], 'id', 'id is the first field')
  t.match(created.json.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'times are RFC 3339 in UTC')

  const itemPath = `${path}/${created.json.id}`
  const read = await client.get(`${itemPath}?fields=*`)
  t.equal(read.status, 200, 'read: 200')
  t.strictSame(read.json, created.json, 'read: what was created')
  t.match(read.headers.get('content-type'), 'application/json')

  const listed = await client.get(`${path}?fields=*`)
  t.equal(listed.status, 200, 'list: 200')
  t.same(Object.keys(listed.json), [name], 'list: no envelope, no total')
  t.strictSame(itemsOf(listed, name)[0], created.json, 'list: newest first')

  const head = await client.call('HEAD', `${itemPath}?fields=*`)
  t.equal(head.status, 200, 'head: 200')
  t.equal(head.text, '', 'head: no body')
  t.equal(
    head.headers.get('content-length'),
    read.headers.get('content-length'),
    'head: the length of the body',
  )

  const full = { ...body, ...changes }
  const replaced = await client.put(itemPath, full)
  t.equal(replaced.status, 200, 'replace: 200')
  t.match(replaced.json, full, 'replace: the body comes back')
  t.equal(replaced.json.created_at, created.json.created_at, 'replace: created_at stays')
  t.strictSame((await client.get(`${itemPath}?fields=*`)).json, replaced.json, 'replace: is read afterwards')
  await changesNothing(t, client, itemPath, full)
  await takesWhatItAnswers(t, client, itemPath)

  if (omitted !== null) {
    const [field, value] = omitted
    const { [field]: _, ...rest } = full
    t.equal(
      (await client.put(itemPath, rest)).json[field],
      value,
      'replace: a field left out takes its default',
    )
  }

  const gone = await client.delete(itemPath)
  t.equal(gone.status, 204, 'delete: 204')
  t.equal(gone.text, '', 'delete: no body')
  for (const method of ['GET', 'DELETE']) {
    t.match(
      await client.call(method, itemPath),
      { status: 404, json: { code: 'not-found' } },
      `${method}: 404`,
    )
  }
  t.match(await client.put(itemPath, full), { status: 404, json: { code: 'not-found' } }, 'replace: 404')
  t.match(await client.patch(itemPath, {}), { status: 404, json: { code: 'not-found' } }, 'update: 404')

  const allowed = await client.call('OPTIONS', itemPath)
  t.equal(allowed.status, 204)
  t.equal(allowed.headers.get('allow'), 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT')
}

/** A write that changes nothing leaves `updated_at` and the tag as they are. */
async function changesNothing(t: Test, client: Client, path: string, full: Json): Promise<void> {
  const before = await client.get(`${path}?fields=*`)
  const [name = ''] = Object.keys(full)
  for (const [method, body] of [
    ['PUT', full],
    ['PATCH', {}],
    ['PATCH', { [name]: full[name] }],
  ] as const) {
    const again = await client.call(method, path, { body })
    t.equal(again.status, 200)
    t.strictSame(
      again.json,
      before.json,
      `${method} that changes nothing: the same, with the same updated_at`,
    )
    t.equal(tagOf(await client.get(`${path}?fields=*`)), tagOf(before), 'and the same tag')
  }
}

/** What was read can be sent as it is; read-only members can be repeated, and not changed. */
async function takesWhatItAnswers(t: Test, client: Client, path: string): Promise<void> {
  const { text, json } = await client.get(`${path}?fields=*`)
  for (const method of ['PUT', 'PATCH']) {
    const same = await client.call(method, path, { body: text })
    t.equal(same.status, 200, `${method} of what was read`)
    t.strictSame(same.json, json)
    const { id_str: _, ...rest } = json
    const otherwise = { created_at: String(json.created_at).replace('Z', '+00:00') }
    t.equal(
      (await client.call(method, path, { body: { ...rest, ...otherwise } })).status,
      200,
      'the same time',
    )
    for (const [name, value] of [
      ['id', (json.id as bigint) + 1n],
      ['created_at', '2020-01-01T00:00:00Z'],
      ['updated_at', '2020-01-01T00:00:00Z'],
      ...('email_verified' in json ? ([['email_verified', !json.email_verified]] as const) : []),
    ] as const) {
      const refused = await client.call(method, path, { body: { ...rest, [name]: value } })
      t.match(
        refused,
        { status: 400, json: { code: 'validation', errors: [{ in: 'body', pointer: `/${name}` }] } },
        `${method}: another ${name}`,
      )
      t.match(refused.json.detail, /read-only/)
      t.equal((refused.json.errors as unknown[]).length, 1)
    }
  }
  t.strictSame((await client.get(`${path}?fields=*`)).json, json, 'nothing of that was stored')
}
