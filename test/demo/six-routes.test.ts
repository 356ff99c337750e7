/** The six routes of each collection. That they keep the conventions too is in openapi.test.ts. */
import { itemsOf, type Json, serve, tagOf } from './client.js'
import { onDatabase, spyOn } from './databases.js'
import { type CollectionName, newBody, newUser } from './samples.js'

/** What a replace changes, a member that can be left out and its value then, and `Cache-Control` of the list and of an item. */
interface Subject {
  readonly changes?: Json
  readonly omitted?: readonly [member: string, value: unknown]
  readonly list?: string
  readonly item?: string
}

const noItems = { total_amount: 0, items: [{ sku: 'A', quantity: 1, unit_amount: 0 }] }
const paid = { status: 'succeeded', amount: Number.MAX_SAFE_INTEGER }
const subjects: Readonly<Record<CollectionName, Subject>> = {
  users: { changes: { name: 'Grace Hopper', age: 85 }, omitted: ['gender', null] },
  friends: { list: 'private, max-age=5, stale-while-revalidate=30' },
  orders: { changes: noItems, omitted: ['status', 'pending'] },
  subscriptions: { changes: { plan: 'basic', status: 'suspended' }, omitted: ['renews_at', null] },
  payments: { changes: paid, omitted: ['failure_reason', null], list: 'no-store', item: 'no-store' },
}

await onDatabase(async (t, actual) => {
  const { database, columnsRead } = spyOn(actual)
  const client = await serve(t, database)

  for (const [name, subject] of Object.entries(subjects) as [CollectionName, Subject][]) {
    const path = `/v1/${name}`
    const body: Json = await newBody(client, name)
    // For a friend: another one.
    const changes = subject.changes ?? { friend_user_id: (await newUser(client)).id }
    const full = { ...body, ...changes }
    const created = await client.post(path, body)
    const itemPath = `${path}/${created.json.id}`
    const read = () => client.get(`${itemPath}?fields=*`)

    await t.test(
      `${name}: POST creates an item, which is read afterwards, and the list begins with`,
      async (t) => {
        t.match(created, { status: 201, json: body })
        t.equal(created.headers.get('location'), itemPath)
        t.match(created.text, new RegExp(`^{"id":${created.json.id},"id_str":"${created.json.id}",`))
        t.match(created.json.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'RFC 3339 in UTC')
        const answer = await read()
        t.strictSame(answer.json, created.json)
        t.equal(tagOf(answer), tagOf(created), 'with the same tag')
        t.equal(answer.headers.get('cache-control'), subject.item ?? 'private, no-cache')
        const list = await client.get(`${path}?fields=*`)
        t.strictSame(Object.keys(list.json), [name], 'and no total')
        t.strictSame(itemsOf(list, name)[0], created.json)
        t.equal(list.headers.get('cache-control'), subject.list ?? 'no-cache, private')
        const csv = await client.get(`${path}?limit=1&format=csv`)
        t.match(csv, { status: 200, text: String(created.json.id) }, 'as CSV, too')
      },
    )

    await t.test(`${name}: an unchanged item is a 304, and its row is not read`, async (t) => {
      const headers = { 'if-none-match': tagOf(await read()) }
      columnsRead()
      t.match(await client.call('GET', itemPath, { headers }), { status: 304, text: '' })
      t.strictSame(columnsRead(), [['updated_at']], 'the version, and nothing else')
    })

    await t.test(
      `${name}: PATCH changes some members, PUT all; one that is left out gets its default`,
      async (t) => {
        const [member = ''] = Object.keys(changes)
        const headers = { 'if-match': tagOf(created) }
        const sent = { body: { [member]: changes[member] }, headers }
        const patched = await client.call('PATCH', itemPath, sent)
        const { updated_at } = patched.json
        t.strictSame(patched.json, { ...created.json, ...patched.json, updated_at }, 'other members stay')
        t.match(patched, { status: 200, json: sent.body })
        t.equal(tagOf(await read()), tagOf(patched), 'the tag is that of a read')
        t.match(
          await client.call('PUT', itemPath, { body, headers }),
          { status: 412 },
          'the tag is an old one',
        )
        t.strictSame((await read()).json, patched.json, 'nothing was changed')
        const put = await client.put(itemPath, full)
        t.match(put, { status: 200, json: full })
        t.equal(put.json.created_at, created.json.created_at)
        if (subject.omitted === undefined) return
        const [omitted, value] = subject.omitted
        const { [omitted]: _, ...rest } = full
        t.strictSame((await client.put(itemPath, rest)).json[omitted], value)
      },
    )

    await t.test(`${name}: a write that changes nothing leaves the tag as it is`, async (t) => {
      const before = await client.put(itemPath, full)
      // Some clients round integers; their twins say which they were.
      const rounded = JSON.parse(before.text) as Json
      const members = Object.entries(rounded).filter(([member]) => member.replace(/_str$/, '') in body)
      const writes = { PATCH: before.text, PUT: JSON.stringify(Object.fromEntries(members)) }
      for (const [method, body] of Object.entries(writes)) {
        const again = await client.call(method, itemPath, { body })
        t.match(again, { status: 200 }, `${method} ${body}`)
        t.strictSame(again.json, before.json)
        t.equal(tagOf(again), tagOf(before))
      }
    })

    await t.test(`${name}: members that are read-only can be repeated, and not changed`, async (t) => {
      const before = await read()
      const { id_str: _, ...rest } = before.json
      const later = String(rest.created_at).replace('Z', '+00:00')
      t.match(await client.put(itemPath, { ...rest, created_at: later }), { status: 200 }, 'the same time')
      const others: Json = { id: (rest.id as bigint) + 1n, created_at: '2020-01-01T00:00:00Z' }
      if ('email_verified' in rest) others.email_verified = true
      for (const [member, value] of Object.entries(others)) {
        for (const method of ['PUT', 'PATCH']) {
          const refused = await client.call(method, itemPath, { body: { ...rest, [member]: value } })
          t.match(refused, { status: 400, json: { detail: /read-only/ } }, `${method} ${member}`)
          t.match(refused.json.errors, [{ in: 'body', pointer: `/${member}` }])
        }
      }
      t.strictSame((await read()).json, before.json)
    })

    await t.test(`${name}: what is deleted is a 404; only If-None-Match: * makes it again`, async (t) => {
      const create = (target: string) =>
        client.call('PUT', target, { headers: { 'if-none-match': '*' }, body })
      t.match(await create(itemPath), { status: 412 }, 'it is there')
      t.match(await client.delete(itemPath), { status: 204, text: '' })
      for (const [method, sent] of [['GET'], ['DELETE'], ['PUT', body], ['PATCH', {}]] as const) {
        const answer = await client.call(method, itemPath, { body: sent })
        t.match(answer, { status: 404, json: { code: 'not-found' } }, method)
      }
      const made = await create(itemPath)
      t.match(made, { status: 201, json: { ...body, id: created.json.id } })
      t.equal(made.headers.get('location'), itemPath)

      await client.delete(itemPath)
      const { json: last } = await client.post(path, body)
      const next = `${path}/${(last.id as bigint) + 1n}`
      const early = { status: 422, json: { code: 'id-not-given-out', errors: [{ in: 'path', name: 'id' }] } }
      t.match(await create(next), early, 'not where the next POST will put its own')
      await client.delete(`${path}/${last.id}`)
      t.equal((await client.post(path, body)).headers.get('location'), next, 'which works')
    })
  }
})
