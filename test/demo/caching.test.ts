import t from 'tap'
import { databaseOf } from '../../examples/demo-server/database.js'
import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { itemsOf, serve, tagOf } from './client.js'
import { emptyEmbeddedPool } from './databases.js'
import { onDatabase } from './each-database.js'
import { spyOn } from './query-spy.js'
import { collectionNames, newBody, newOrder, newUser, sampleOf } from './samples.js'

/** How a route may be kept, and whether it has something to validate by. */
const routes: readonly (readonly [path: string, cacheControl: string, validators: readonly string[]])[] = [
  ['/v1/users', 'no-cache, private', ['etag', 'last-modified']],
  [`/v1/users/${firstId}`, 'private, no-cache', ['etag', 'last-modified']],
  ['/v1/friends', 'private, max-age=5, stale-while-revalidate=30', ['etag', 'last-modified']],
  [`/v1/friends/${firstId}`, 'private, no-cache', ['etag', 'last-modified']],
  ['/v1/orders', 'no-cache, private', ['etag', 'last-modified']],
  [`/v1/orders/${firstId}`, 'private, no-cache', ['etag', 'last-modified']],
  ['/v1/subscriptions', 'no-cache, private', ['etag', 'last-modified']],
  [`/v1/subscriptions/${firstId}`, 'private, no-cache', ['etag', 'last-modified']],
  ['/v1/payments', 'no-store', ['last-modified']],
  [`/v1/payments/${firstId}`, 'no-store', ['etag', 'last-modified']],
  ['/v1/terms', 'public, max-age=3600', ['etag', 'last-modified']],
]

await onDatabase(async (t, actual) => {
  const { database, columnsRead } = spyOn(actual)
  const client = await serve(t, database)
  await seed(actual)

  for (const [path, cacheControl, validators] of routes) {
    await t.test(`${path}: ${cacheControl}`, async (t) => {
      const answer = await client.get(path)
      t.equal(answer.status, 200)
      t.equal(answer.headers.get('cache-control'), cacheControl)
      for (const name of ['etag', 'last-modified']) {
        t.equal(answer.headers.has(name), validators.includes(name), name)
      }
      t.equal(answer.headers.get('expires'), null)
      // What is used without asking again must not be used for the next one who logs in.
      if (/private, max-age/.test(cacheControl)) t.match(answer.headers.get('vary'), /authorization/i)
      const head = await client.call('HEAD', path)
      for (const name of ['cache-control', 'etag', 'last-modified', 'vary', 'content-length']) {
        t.equal(head.headers.get(name), answer.headers.get(name), `HEAD: ${name}`)
      }
    })
  }

  await t.test('responses to writes, and errors, are not storable', async (t) => {
    const created = await client.post('/v1/users', sampleOf.users('not.stored@example.com'))
    const path = `/v1/users/${created.json.id}`
    t.equal(tagOf(created), tagOf(await client.get(path)), 'a creation says the tag of what is there now')
    for (const answer of [
      created,
      await client.patch(path, { age: 1 }),
      await client.put(path, sampleOf.users('not.stored@example.com')),
      await client.patch(path, { age: -1 }),
      await client.delete(path),
      await client.get(path),
      await client.get('/v1/nowhere'),
      await client.get('/v1/friends?limit=-1'),
      await client.call('GET', '/v1/terms', { headers: { accept: 'text/html' } }),
    ]) {
      t.equal(answer.headers.get('cache-control'), 'no-store', String(answer.status))
      const showsRow = answer.status === 200 || answer.status === 201
      for (const name of ['etag', 'last-modified']) t.equal(answer.headers.has(name), showsRow, name)
    }
  })

  for (const name of collectionNames) {
    await t.test(`${name}: an unchanged item is a 304, and its row is not read`, async (t) => {
      const path = `/v1/${name}/${firstId}`
      const full = await client.get(path)
      columnsRead()
      const conditions: Record<string, string>[] = [
        { 'if-none-match': tagOf(full) },
        { 'if-modified-since': full.headers.get('last-modified') ?? '' },
      ]
      for (const headers of conditions) {
        for (const method of ['GET', 'HEAD']) {
          const answer = await client.call(method, `${path}?fields=id`, { headers })
          t.equal(answer.status, 304, `${method} ${JSON.stringify(headers)}`)
          t.equal(answer.text, '')
          t.equal(answer.headers.get('etag'), tagOf(full))
          t.equal(answer.headers.get('cache-control'), full.headers.get('cache-control'))
          t.equal(answer.headers.get('content-type'), null)
          t.equal(answer.headers.get('content-length'), null)
          t.strictSame(columnsRead(), [['updated_at']], 'the version, and nothing else')
        }
      }
    })

    await t.test(`${name}: a changed item is a 200`, async (t) => {
      const path = `/v1/${name}/${firstId}`
      const old = await client.get(path)
      const written = await client.put(path, await newBody(client, name))
      const answer = await client.call('GET', path, { headers: { 'if-none-match': tagOf(old) } })
      t.equal(answer.status, 200)
      t.not(tagOf(answer), tagOf(old))
      t.equal(tagOf(written), tagOf(answer), 'the write says the tag of what is there now')
    })
  }

  await t.test('an unchanged list is a 304, a changed list is a 200', async (t) => {
    const path = '/v1/orders?limit=3&fields=status'
    const full = await client.get(path)
    t.strictSame(Object.keys(itemsOf(full, 'orders')[0] ?? {}), ['status'])
    const headers = { 'if-none-match': tagOf(full) }
    const again = await client.call('GET', path, { headers })
    t.match(again, { status: 304, text: '' })
    await newOrder(client)
    t.match(await client.call('GET', path, { headers }), { status: 200 })
    const { json } = await client.get(path)
    t.strictSame(json, (await client.get(path)).json)
  })

  await t.test(
    'Last-Modified of a list is the latest updated_at of its items, even if it is not selected',
    async (t) => {
      for (const fields of ['*', 'id', 'age', 'updated_at']) {
        const all = itemsOf(await client.get('/v1/users?limit=5&fields=*'), 'users')
        const latest = Math.max(...all.map(({ updated_at }) => Date.parse(String(updated_at))))
        const { headers } = await client.get(`/v1/users?limit=5&fields=${fields}`)
        t.equal(headers.get('last-modified'), new Date(latest).toUTCString(), fields)
      }
      const empty = await client.get('/v1/users?email=nobody@example.com')
      t.equal(empty.headers.get('last-modified'), null, 'an empty list never was')
      t.ok(empty.headers.has('etag'))
    },
  )
})

t.test('the row in a response is never older than its tag', async (t) => {
  const pool = await emptyEmbeddedPool()
  let meanwhile: (() => Promise<unknown>) | null = null
  let connections = 0
  const database = databaseOf({
    ...pool,
    async connect() {
      // The first connection reads the version, the second one the row.
      if (meanwhile !== null && ++connections === 2) {
        const write = meanwhile
        meanwhile = null
        await write()
      }
      return pool.connect()
    },
  })
  const client = await serve(t, database)
  const user = await newUser(client)
  const path = `/v1/users/${user.id}`
  meanwhile = () => client.patch(path, { age: 99 })
  const answer = await client.get(path)
  t.equal(answer.json.age, 99, 'somebody wrote between the version and the row')
  const headers = { 'if-none-match': tagOf(answer), 'if-match': tagOf(answer) }
  t.match(await client.call('PATCH', path, { headers, body: { age: 1 } }), { status: 412 })
  const next = await client.call('GET', path, { headers: { 'if-none-match': tagOf(answer) } })
  t.match(next, { status: 200, json: { age: 99 } }, 'nobody is left with a tag of what it was not')
})
