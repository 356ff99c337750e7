import { sql } from 'kysely'
import type { Test } from 'tap'
import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { type Client, type Json, serve, tagOf } from './client.js'
import { onDatabase } from './each-database.js'
import { type CollectionName, collectionNames, newBody, newUser, sampleOf } from './samples.js'

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  await seed(database)

  for (const name of collectionNames) {
    await t.test(`${name}: a write needs the current tag in If-Match`, (t) => guardsWrites(t, client, name))
    await t.test(`${name}: PUT with If-None-Match: * creates an item`, (t) => createsOnce(t, client, name))
  }

  await t.test('a deleted item is a 404, whatever the precondition', async (t) => {
    const user = await newUser(client)
    const path = `/v1/users/${user.id}`
    const tag = tagOf(await client.get(path))
    await client.delete(path)
    const body = sampleOf.users('back.again@example.com')
    const sent = [
      ['PATCH', { 'if-match': tag }, { age: 1 }],
      ['DELETE', { 'if-match': tag }, undefined],
      ['GET', { 'if-match': tag }, undefined],
      ['PUT', {}, body],
      ['PUT', { 'if-unmodified-since': new Date().toUTCString() }, body],
      ['PUT', { 'if-none-match': tag }, body],
    ] as const
    for (const [method, headers, body] of sent) {
      const answer = await client.call(method, path, { headers, body })
      t.match(answer, { status: 404, json: { code: 'not-found' } }, `${method} ${JSON.stringify(headers)}`)
    }
    const replace = await client.call('PUT', path, { headers: { 'if-match': tag }, body })
    t.match(replace, { status: 412 }, 'PUT could make it, so If-Match is asked, and fails')
  })

  await t.test('If-Unmodified-Since protects a write, but not within a second of the last', async (t) => {
    const path = `/v1/users/${(await newUser(client)).id}`
    const since = (time: number) => ({ 'if-unmodified-since': new Date(time).toUTCString() })
    const patch = async (headers: Record<string, string>, age: number) =>
      (await client.call('PATCH', path, { headers, body: { age } })).status
    const users = database.updateTable('users').where('id', '=', BigInt(path.slice('/v1/users/'.length)))
    await users.set({ updated_at: sql`now() - interval '1 minute'` }).execute()
    const modified = Date.parse((await client.get(path)).headers.get('last-modified') ?? '')
    t.equal(await patch(since(modified - 1000), 2), 412)
    t.equal(await patch(since(modified), 3), 200)

    // The second of a write that has just been made may end before the next request.
    await users.set({ updated_at: sql`now() + interval '1 minute'` }).execute()
    t.equal(await patch(since(Date.now() + 120_000), 4), 412, 'the second of the last write is not over')
  })

  await t.test('input is checked before preconditions', async (t) => {
    const path = `/v1/users/${firstId}`
    const headers = { 'if-match': '"stale"' }
    t.match(await client.call('PATCH', path, { headers, body: { age: -1 } }), { status: 400 })
    t.match(await client.call('PATCH', '/v1/users/x', { headers, body: { age: 1 } }), { status: 400 })
  })
})

/** A change of one field of each collection. */
async function changeOf(client: Client, name: CollectionName): Promise<Json> {
  if (name === 'users') return { age: 99 }
  if (name === 'friends') return { friend_user_id: (await newUser(client)).id }
  if (name === 'subscriptions') return { plan: 'family' }
  return { currency: 'USD' }
}

async function guardsWrites(t: Test, client: Client, name: CollectionName): Promise<void> {
  const body = await newBody(client, name)
  const { json, headers } = await client.post(`/v1/${name}`, body)
  const path = `/v1/${name}/${json.id}`
  const first = tagOf(await client.get(path))
  t.equal(headers.get('etag'), first, 'a creation answers with the tag that a GET has')

  const change = { body: await changeOf(client, name), headers: { 'if-match': first } }
  const patched = await client.call('PATCH', path, change)
  t.match(patched, { status: 200 }, 'PATCH, right')
  const second = tagOf(await client.get(path))
  t.equal(tagOf(patched), second, 'and so does a PATCH')
  t.not(second, first, 'a write changes the tag')

  const whole = await client.get(`${path}?fields=*`)
  const stale: Record<string, string>[] = [
    { 'if-match': first },
    { 'if-none-match': second },
    { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
  ]
  for (const headers of stale) {
    for (const [method, sent] of [
      ['PATCH', { body: {} }],
      ['PUT', { body }],
      ['DELETE', {}],
    ] as const) {
      const answer = await client.call(method, path, { ...sent, headers })
      t.match(
        answer,
        { status: 412, json: { code: 'precondition-failed' } },
        `${method} ${JSON.stringify(headers)}`,
      )
    }
  }
  t.strictSame((await client.get(`${path}?fields=*`)).json, whole.json, 'nothing changed')
  t.match(await client.call('GET', path, { headers: { 'if-match': first } }), { status: 412 }, 'a read too')

  const replace = { body, headers: { 'if-match': `"other", ${second}` } }
  t.match(await client.call('PUT', path, replace), { status: 200 }, 'PUT, right')
  const third = tagOf(await client.get(path))
  t.notOk([first, second].includes(third))
  t.match(await client.call('DELETE', path, { headers: { 'if-match': second } }), { status: 412 })
  t.match(
    await client.call('DELETE', path, { headers: { 'if-match': third } }),
    { status: 204 },
    'DELETE, right',
  )
}

async function createsOnce(t: Test, client: Client, name: CollectionName): Promise<void> {
  const body = await newBody(client, name)
  const headers = { 'if-none-match': '*' }
  const { json: last } = await client.post(`/v1/${name}`, body)
  const path = `/v1/${name}/${last.id}`
  const attempt = () => client.call('PUT', path, { headers, body })

  t.match(await attempt(), { status: 412, json: { code: 'precondition-failed' } }, 'there already')
  t.strictSame((await client.get(`${path}?fields=*`)).json, last, 'and as it was')

  await client.delete(path)
  const created = await attempt()
  t.match(created, { status: 201, json: { ...body, id: last.id } }, 'made')
  t.equal(created.headers.get('location'), path)
  t.strictSame((await client.get(`${path}?fields=*`)).json, created.json)
  t.match(await attempt(), { status: 412 }, 'once')

  const next = `/v1/${name}/${(last.id as bigint) + 1n}`
  t.match(
    await client.call('PUT', next, { headers, body }),
    { status: 422, json: { code: 'id-not-given-out', errors: [{ in: 'path', name: 'id' }] } },
    'not where the next POST will put its own',
  )
  await client.delete(path)
  t.equal((await client.post(`/v1/${name}`, body)).headers.get('location'), next, 'which works')
}
