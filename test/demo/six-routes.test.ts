/** The six routes of each collection: what they do, and that each convention is mounted on them. */
import { itemsOf, type Json, serve, tagOf } from './client.js'
import { onDatabase } from './databases.js'
import { spyOn } from './query-spy.js'
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
    const { omitted } = subject
    const path = `/v1/${name}`
    const body: Json = await newBody(client, name)
    // For a friend: another one.
    const changes = subject.changes ?? { friend_user_id: (await newUser(client)).id }
    const full = { ...body, ...changes }
    const created = await client.post(path, body)
    const itemPath = `${path}/${created.json.id}`
    const read = () => client.get(`${itemPath}?fields=*`)
    const withTag = (method: string, tag: string, sent?: Json) =>
      client.call(method, itemPath, { body: sent, headers: { 'if-match': tag } })

    await t.test(`${name}: POST creates an item, which is read afterwards`, async (t) => {
      t.match(created, { status: 201, json: body })
      t.equal(created.headers.get('location'), itemPath)
      t.equal(created.headers.get('cache-control'), 'no-store')
      t.match(created.text, new RegExp(`^{"id":${created.json.id},"id_str":"${created.json.id}",`))
      t.match(created.json.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'RFC 3339 in UTC')
      const answer = await read()
      t.strictSame(answer.json, created.json)
      t.equal(tagOf(answer), tagOf(created), 'with the same tag')
      t.equal(answer.headers.get('cache-control'), subject.item ?? 'private, no-cache')
      const options = await client.call('OPTIONS', itemPath)
      t.equal(options.headers.get('allow'), 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT')
    })

    await t.test(
      `${name}: the list has the newest item first, and no total; it is JSON, XML or CSV, an item JSON or XML`,
      async (t) => {
        const list = await client.get(`${path}?fields=*`)
        t.strictSame(Object.keys(list.json), [name])
        t.strictSame(itemsOf(list, name)[0], created.json)
        t.equal(list.headers.get('cache-control'), subject.list ?? 'no-cache, private')
        t.equal(list.headers.has('etag'), name !== 'payments')
        if (name === 'friends') t.match(list.headers.get('vary'), /authorization/i)
        for (const format of ['json', 'xml', 'csv']) {
          const list = await client.get(`${path}?limit=1&format=${format}`)
          t.match(list, { status: 200, text: String(created.json.id) }, format)
          const { status } = await client.get(`${itemPath}?format=${format}`)
          t.equal(status, format === 'csv' ? 406 : 200, format)
        }
      },
    )

    await t.test(`${name}: an unchanged item is a 304, and its row is not read`, async (t) => {
      const headers = { 'if-none-match': tagOf(await read()) }
      columnsRead()
      t.match(await client.call('GET', itemPath, { headers }), { status: 304, text: '' })
      t.strictSame(columnsRead(), [['updated_at']], 'the version, and nothing else')
    })

    await t.test(`${name}: a write needs the current tag in If-Match`, async (t) => {
      const first = tagOf(created)
      const [member = ''] = Object.keys(changes)
      const patched = await withTag('PATCH', first, { [member]: changes[member] })
      const { updated_at } = patched.json
      t.strictSame(patched.json, { ...created.json, ...patched.json, updated_at }, 'other members stay')
      t.match(patched, { status: 200, json: { [member]: changes[member] } })
      t.equal(tagOf(await read()), tagOf(patched), 'the tag is that of a read')
      for (const [method, sent] of [['PATCH', {}], ['PUT', body], ['DELETE']] as const) {
        const stale = await withTag(method, first, sent)
        t.match(stale, { status: 412, json: { code: 'precondition-failed' } }, method)
      }
      t.strictSame((await read()).json, patched.json, 'nothing was changed')
      const put = await withTag('PUT', tagOf(patched), full)
      t.match(put, { status: 200, json: full })
      t.ok(String(put.json.updated_at) > String(created.json.updated_at))
      t.equal(put.json.created_at, created.json.created_at)
    })

    await t.test(`${name}: a write that changes nothing leaves the tag as it is`, async (t) => {
      const before = await read()
      // Some clients round integers; their twins say which they were.
      const rounded = Object.entries(JSON.parse(before.text) as Json).filter(([member]) =>
        Object.hasOwn(body, member.replace(/_str$/, '')),
      )
      const [member = ''] = Object.keys(full)
      for (const [method, sent] of [
        ['PUT', full],
        ['PATCH', { [member]: full[member] }],
        ['PATCH', before.text],
        ['PUT', JSON.stringify(Object.fromEntries(rounded))],
      ] as const) {
        const again = await client.call(method, itemPath, { body: sent })
        t.match(again, { status: 200 }, `${method} ${sent}`)
        t.strictSame(again.json, before.json)
        t.equal(tagOf(again), tagOf(before))
      }
    })

    await t.test(`${name}: members that are read-only can be repeated, and not changed`, async (t) => {
      const before = await read()
      const { id_str: _, ...rest } = before.json
      const later = String(rest.created_at).replace('Z', '+00:00')
      t.match(await client.put(itemPath, { ...rest, created_at: later }), { status: 200 }, 'the same time')
      for (const [member, value] of [
        ['id', (rest.id as bigint) + 1n],
        ['created_at', '2020-01-01T00:00:00Z'],
        ['updated_at', '2020-01-01T00:00:00Z'],
        ...('email_verified' in rest ? ([['email_verified', true]] as const) : []),
      ] as const) {
        for (const method of ['PUT', 'PATCH']) {
          const refused = await client.call(method, itemPath, { body: { ...rest, [member]: value } })
          t.match(refused, { status: 400, json: { detail: /read-only/ } }, `${method} ${member}`)
          t.match(refused.json.errors, [{ in: 'body', pointer: `/${member}` }])
        }
      }
      t.strictSame((await read()).json, before.json)
    })

    if (omitted !== undefined) {
      await t.test(`${name}: without ${omitted[0]}, PUT writes the default`, async (t) => {
        const { [omitted[0]]: _, ...rest } = full
        t.strictSame((await client.put(itemPath, rest)).json[omitted[0]], omitted[1])
      })
    }

    await t.test(`${name}: what is deleted is a 404; only If-None-Match: * makes it again`, async (t) => {
      const headers = { 'if-none-match': '*' }
      const create = (target: string) => client.call('PUT', target, { headers, body })
      t.match(await create(itemPath), { status: 412 }, 'it is there')
      t.match(await withTag('DELETE', tagOf(await read())), { status: 204, text: '' })
      for (const [method, sent] of [['GET'], ['DELETE'], ['PUT', body], ['PATCH', {}]] as const) {
        const answer = await client.call(method, itemPath, { body: sent })
        t.match(answer, { status: 404, json: { code: 'not-found' } }, method)
      }
      const made = await create(itemPath)
      t.match(made, { status: 201, json: { ...body, id: created.json.id } })
      t.equal(made.headers.get('location'), itemPath)
      t.match(await create(itemPath), { status: 412, json: { code: 'precondition-failed' } }, 'once')

      await client.delete(itemPath)
      const { json: last } = await client.post(path, body)
      const next = `${path}/${(last.id as bigint) + 1n}`
      const early = { status: 422, json: { code: 'id-not-given-out', errors: [{ in: 'path', name: 'id' }] } }
      t.match(await create(next), early, 'not where the next POST will put its own')
      await client.delete(`${path}/${last.id}`)
      t.equal((await client.post(path, body)).headers.get('location'), next, 'which works')
    })

    await t.test(`${name}: a POST that is repeated with its Idempotency-Key creates one item`, async (t) => {
      const sent = { body: await newBody(client, name), headers: { 'idempotency-key': `"${name}"` } }
      const [first, again] = [await client.call('POST', path, sent), await client.call('POST', path, sent)]
      t.match([first.status, again.status], [201, 201])
      t.equal(again.text, first.text)
      t.equal(again.headers.get('idempotent-replayed'), 'true')
    })
  }
})
