/** Who may read and write what. */
import t from 'tap'
import { scopes, userScopes } from '../../examples/demo-server/caller.js'
import { until } from '../support/until.js'
import { type Answer, type Caller, callerOf, endOf, type Json, serve, tagOf } from './client.js'
import { emptyDatabase, onDatabase } from './databases.js'
import { issuer } from './issuer.js'
import { type CollectionName, collectionNames, newUser, sampleOf } from './samples.js'

const ofConnection = ['date', 'content-length', 'keep-alive', 'connection', 'ratelimit', 'ratelimit-policy']

type Records = Awaited<ReturnType<typeof recordsOf>>

const actionsOf: Readonly<Record<CollectionName, readonly string[]>> = {
  users: ['POST /verify_email'],
  friends: [],
  orders: ['POST /cancel', 'POST /retry', 'GET /invoice'],
  subscriptions: ['POST /cancel', 'POST /suspend'],
  payments: ['POST /retry'],
}

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  const [ada, alan] = [await recordsOf(client), await recordsOf(client)]
  const user = client.as(ada.users.id)

  await t.test('users see their own records, admins all', async (t) => {
    for (const name of collectionNames) {
      const path = `/v1/${name}/${ada[name].id}`
      t.match(await client.get(path), { status: 200, text: (await user.get(path)).text }, path)
      t.equal((await client.get(`/v1/${name}/${alan[name].id}`)).status, 200)
      const own = await user.get(`/v1/${name}?include_total=true`)
      t.match(own.json, { [name]: { length: 1, 0: { id: ada[name].id } }, total: 1 }, name)
    }
  })

  await t.test('a record of somebody else is answered as one that there is not, byte for byte', async (t) => {
    const order = `/v1/orders/${alan.orders.id}`
    await client.patch(order, { status: 'paid' })
    const invoice = () => client.get(`${order}/invoice`)
    await until(invoice, ({ status }) => status === 200)
    for (const name of collectionNames) {
      const foreign = alan[name].id
      const tag = tagOf(await client.get(`/v1/${name}/${foreign}`))
      const body = await bodyOf(client, `/v1/${name}/${ada[name].id}`)
      const conditions = ['if-match', 'if-none-match'].flatMap((field) =>
        [tag, '*'].map((value) => ({ [field]: value })),
      )
      const requests: readonly (readonly [method: string, path: string, sent?: object])[] = [
        ['HEAD', ''],
        ['PATCH', '', { body: {} }],
        ['PATCH', '', { body: { id: foreign } }],
        ['GET', '?fields=id'],
        ...[{}, ...conditions].flatMap((headers) =>
          ['GET', 'DELETE', 'PUT', 'PATCH'].map(
            (method) => [method, '', /^P/.test(method) ? { body, headers } : { headers }] as const,
          ),
        ),
        ...actionsOf[name].map((action) => action.split(' ') as [string, string]),
      ]
      for (const [method, path, sent] of requests) {
        const one = await user.call(method, `/v1/${name}/${foreign}${path}`, sent)
        const other = await user.call(method, `/v1/${name}/1${path}`, sent)
        const about = `${method} ${name}${path} ${JSON.stringify(Object.keys(sent ?? {}))}`
        t.strictSame(withoutId(one, foreign), withoutId(other, 1n), about)
        t.ok([400, 404, 412].includes(one.status), String(one.status))
      }
      t.equal(tagOf(await client.get(`/v1/${name}/${foreign}`)), tag, 'and it stays as it is')
    }
  })

  await t.test('lists have the records of the user only, whatever they are filtered by', async (t) => {
    for (const [name, query, total] of [
      ['orders', `user_id=${alan.users.id}`, 0],
      ['payments', `order_id=${alan.orders.id}`, 0],
      ['friends', `friend_user_id=${ada.users.id}`, 0],
      // The total is that of all pages.
      ['users', `before_id=${ada.users.id}`, 1],
    ] as const) {
      const { status, json } = await user.get(`/v1/${name}?${query}&include_total=true`)
      t.strictSame({ status, json }, { status: 200, json: { [name]: [], total } }, `${name} ${query}`)
    }
  })

  await t.test('users make records of their own only', async (t) => {
    const forbidden = { status: 403, json: { code: 'forbidden' } }
    for (const name of ['orders', 'subscriptions', 'friends'] as const) {
      const friend = name === 'friends' ? { friend_user_id: (await newUser(client)).id } : {}
      const body = { ...plain(name, ada), ...friend }
      t.match(await user.post(`/v1/${name}`, { ...body, user_id: alan.users.id }), forbidden, name)
      t.match(await user.post(`/v1/${name}`, { ...body, user_id: 1 }), forbidden, `${name} of nobody`)
      const made = await user.post(`/v1/${name}`, body)
      t.equal(made.status, 201, name)
      const path = made.headers.get('location') ?? ''
      t.match(await user.patch(path, { user_id: alan.users.id }), forbidden, `${name} given away`)
      t.match(await user.put(path, { ...body, user_id: alan.users.id }), forbidden)
      t.equal((await user.delete(path)).status, 204)
    }
    const body = { ...plain('orders', ada), user_id: alan.users.id }
    const order = { body, headers: { prefer: 'respond-async' } }
    t.match(await user.call('POST', '/v1/orders', order), forbidden, 'nor by an operation')
    t.match(await user.post('/v1/users', sampleOf.users('another@example.com')), forbidden)
  })

  await t.test('a payment of the order of somebody else is one of an order that there is not', async (t) => {
    const payment = plain('payments', ada)
    const path = `/v1/payments/${ada.payments.id}`
    const whole = await bodyOf(client, path)
    for (const [method, target, body] of [
      ['POST', '/v1/payments', payment],
      ['PATCH', path, {}],
      ['PUT', path, whole],
    ] as const) {
      const send = (order_id: unknown) => user.call(method, target, { body: { ...body, order_id } })
      const [one, other] = [await send(alan.orders.id), await send(1n)]
      t.match(one, { status: 422, json: { code: 'reference-not-found' } })
      t.strictSame(withoutId(one, alan.orders.id), withoutId(other, 1n))
    }
    t.match((await client.get(path)).json, { order_id: ada.orders.id })
  })

  await t.test('users do not say that they have paid', async (t) => {
    const refused = (detail: RegExp) => ({ status: 403, json: { code: 'forbidden', detail } })
    const order = `/v1/orders/${ada.orders.id}`
    t.match(await user.patch(order, { status: 'paid' }), refused(/^status/))
    t.match(await user.patch(order, { total_amount: 1 }), { status: 200 }, 'other fields are theirs')
    t.match(await user.put(order, await bodyOf(client, order)), { status: 200 }, 'what is so may be said')
    t.match(await user.post('/v1/orders', { ...plain('orders', ada), status: 'paid' }), refused(/^status/))
    const body = { ...plain('payments', ada), status: 'succeeded', failure_reason: 'none' }
    t.match(await user.post('/v1/payments', body), refused(/^status, failure_reason/))
    const retry = `/v1/payments/${ada.payments.id}/retry`
    t.match(await user.post(retry, { force_retry: true }), refused(/^force_retry/))
    t.match(await client.patch(order, { status: 'pending' }), { status: 200 }, 'an admin does')
  })

  await t.test('users act on their own records, and nobody else sees the operation', async (t) => {
    const start = await user.post(`/v1/payments/${ada.payments.id}/retry`, {})
    const location = start.headers.get('location') ?? ''
    for (const caller of [client, client.as(alan.users.id)])
      t.equal((await caller.get(location)).status, 404, 'an admin did not start it')
    const retried = await endOf(user, start)
    const payment = { order_id: ada.orders.id, status: 'succeeded' }
    t.match((await user.get(retried.headers.get('location') ?? '')).json, payment)
    t.equal((await user.get(`/v1/orders/${ada.orders.id}/invoice`)).status, 202)
    t.equal((await user.post(`/v1/subscriptions/${ada.subscriptions.id}/suspend`, {})).status, 200)
    t.equal((await user.call('POST', '/v1/users/me/verify_email')).status, 202)
  })

  await t.test('without admin, a program has no records', async (t) => {
    const token = (await issuer()).token({ subject: 'a-program', scopes: userScopes })
    const program = callerOf(client.origin, { token })
    for (const name of collectionNames) {
      const item = `/v1/${name}/${ada[name].id}`
      const forbidden = { status: 403, json: { code: 'forbidden' } }
      for (const target of [`/v1/${name}`, item, `/v1/${name}/1`])
        t.match(await program.get(target), forbidden, target)
      t.match(await program.delete(item), forbidden)
    }
  })
})

t.test('each route of the document needs a token with the scopes that it names', async (t) => {
  const client = await serve(t, await emptyDatabase(t))
  const document = (await client.anonymous.get('/openapi.json')).json as {
    paths: Record<string, Record<string, { security: readonly { readonly oauth: readonly string[] }[] }>>
  }
  const open: string[] = []
  for (const [path, routes] of Object.entries(document.paths)) {
    const target = path.replace('{id}', '1')
    for (const [method, { security }] of Object.entries(routes)) {
      const name = `${method.toUpperCase()} ${target}`
      const send = (caller: Caller) =>
        caller.call(method.toUpperCase(), target, /post|put|patch/.test(method) ? { body: {} } : {})
      if (security.length === 0) {
        open.push(name)
        t.equal((await send(client.anonymous)).status, 200, name)
        continue
      }
      const refused = await send(client.anonymous)
      t.match(refused, { status: 401, json: { code: 'unauthorized' } }, name)
      t.match(refused.headers.get('www-authenticate'), /^Bearer realm=/)
      const [{ oauth: needed } = { oauth: [] }] = security
      if (needed.length === 0) continue
      const others = Object.keys(scopes).filter((scope) => !needed.includes(scope))
      const insufficient = await send(client.as(1, others))
      t.match(insufficient, { status: 403, json: { code: 'insufficient-scope' } }, name)
      t.match(insufficient.headers.get('www-authenticate'), `scope="${needed.join(' ')}"`)
      t.notMatch((await send(client.as(1, needed))).json, { code: 'insufficient-scope' }, name)
    }
  }
  t.strictSame(open, ['GET /v1/terms'])
})

/** Makes what belongs to one user. */
async function recordsOf(client: Caller) {
  const user = await newUser(client)
  const make = async (name: CollectionName, body: object) => (await client.post(`/v1/${name}`, body)).json
  const order = await make('orders', { ...sampleOf.orders(user.id), status: 'failed' })
  const friends = await make('friends', sampleOf.friends(user.id, (await newUser(client)).id))
  const subscriptions = await make('subscriptions', sampleOf.subscriptions(user.id))
  const payments = await make('payments', sampleOf.payments(order.id))
  return { users: user, friends, orders: order, subscriptions, payments }
}

/** A body of a create without what only an admin says. */
function plain(name: Exclude<CollectionName, 'users'>, { users, orders }: Records): Json {
  const body: Json = name === 'payments' ? sampleOf.payments(orders.id) : sampleOf[name](users.id, 1n)
  return without(/^(status|failure_reason)$/, body)
}

async function bodyOf(client: Caller, path: string): Promise<Json> {
  return without(/^(id|created_at|updated_at)$|_str$/, (await client.get(`${path}?fields=*`)).json)
}

function without(names: RegExp, body: Json): Json {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.test(name)))
}

/** An answer without the id that was asked for, and without what differs from one request to the next. */
function withoutId({ status, headers, text }: Answer, id: unknown) {
  const hidden = (value: string) =>
    value.replaceAll(new RegExp(`\\b${String(id)}\\b`, 'g'), '<id>').replace(/"instance":"[^"]*"/, '')
  const kept = [...headers].filter(([name]) => !ofConnection.includes(name))
  return { status, headers: kept.map(([name, value]) => [name, hidden(value)]), text: hidden(text) }
}
