/** Actions on items: those that are done at once, and operations. */
import type { Database } from '../../examples/demo-server/database.js'
import { once } from '../../examples/demo-server/work.js'
import { type Answer, type Caller, type Client, endOf, type Json, serve } from './client.js'
import { onDatabase, query } from './databases.js'
import { type CollectionName, newBody, newUser, sampleOf } from './samples.js'

/** The status that an action leads to, those that it leads from, and the one in which it is refused. */
const transitions = [
  ['orders', 'cancel', 'cancelled', ['pending', 'paid', 'failed'], 'fulfilled'],
  ['subscriptions', 'suspend', 'suspended', ['active'], 'cancelled'],
  ['subscriptions', 'cancel', 'cancelled', ['active', 'suspended'], null],
] as const

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  const create = async (name: CollectionName, status: string): Promise<Answer> =>
    client.post(`/v1/${name}`, { ...(await newBody(client, name)), status })

  for (const [name, verb, to, from, never] of transitions) {
    await t.test(`${verb} of ${name} makes them ${to}; repeated, it changes nothing`, async (t) => {
      for (const status of from) {
        const before = await create(name, status)
        const path = `${before.headers.get('location')}/${verb}`
        const stale = await client.call('POST', path, { headers: { 'if-match': '"stale"' } })
        t.match(stale, { status: 412, json: { code: 'precondition-failed' } }, 'it has changed')
        const done = await client.call('POST', path)
        t.match(done, { status: 200, json: { id: before.json.id, status: to } }, status)
        t.not(done.json.updated_at, before.json.updated_at)
        t.match(await client.post(path, {}), { status: 200, json: done.json }, 'nothing is written again')
      }
      if (never === null) return
      const path = (await create(name, never)).headers.get('location') ?? ''
      const code = `not-${verb === 'cancel' ? 'cancellable' : 'suspendable'}`
      const refused = { code, detail: `is ${never}` }
      t.match(await client.call('POST', `${path}/${verb}`), { status: 409, json: refused })
      const body = await newBody(client, name)
      const final = { status: 409, json: { code: 'status-final', detail: `is ${never}` } }
      t.match(await client.patch(path, { status: to }), final, `PATCH does not make it ${to} either`)
      t.match(await client.put(path, { ...body, status: from[0] }), final, 'nor does PUT')
      t.match((await client.get(path)).json, { status: never }, 'nothing was changed')
    })
  }

  await t.test('a user follows another one once, under /v1/users and /v1/user', async (t) => {
    const [user, friend] = [await newUser(client), await newUser(client)]
    const follow = (id: unknown, caller: Caller = client.as(user.id), collection = 'users') =>
      caller.call('POST', `/v1/${collection}/${id}/follow`)
    for (const collection of ['users', 'user'])
      t.match(await follow(friend.id, undefined, collection), { status: 204, text: '' })
    const { json } = await client.get(`/v1/friends?user_id=${user.id}&include_total=true`)
    t.match(json, { friends: [{ user_id: user.id, friend_user_id: friend.id }], total: 1 })

    t.match(await follow(1), { status: 404, json: { code: 'not-found', detail: 'there is no user 1' } })
    for (const self of [user.id, 'me'])
      t.match(await follow(self), { status: 422, json: { code: 'friend-of-self' } })
    t.match(await follow(user.id, client), { status: 403, json: { code: 'forbidden' } }, 'of a program')
    const gone = { status: 422, json: { code: 'reference-not-found', errors: [{ pointer: '/user_id' }] } }
    t.match(await follow(user.id, client.as(1)), gone, 'whose user is no more')
  })

  await t.test('me is the record of the user of the token; a program has none', async (t) => {
    const { id } = await newUser(client)
    const me = await client.as(id).get('/v1/users/me')
    t.match(me, { status: 200, json: { id } })
    t.equal(me.headers.get('content-location'), `/v1/users/${id}`)
    t.match(await client.get('/v1/users/me'), { status: 403, json: { code: 'forbidden' } })
  })

  await t.test('retry of a failed payment: 202, then 303 to the new payment', async (t) => {
    const { payment, order } = await failedPayment(client, 'timeout')
    const start = await client.post(`/v1/payments/${payment.id}/retry`, { retry_reason: 'again, please' })
    t.match(start, { status: 202, json: { status: 'In progress' } })
    t.equal(start.headers.get('retry-after'), '2', 'about the time that it takes')
    const end = await endOf(client, start)
    t.match(end, { status: 303, json: { status: 'Succeeded' } })
    const created = await client.get(end.headers.get('location') ?? '')
    const paid = { status: 'succeeded', order_id: order.id, amount: payment.amount }
    t.match(created, { status: 200, json: paid })
    t.not(created.json.id, payment.id)
    t.match(await client.get(`/v1/orders/${order.id}`), { json: { status: 'paid' } })

    const { json: another } = await client.post('/v1/payments', sampleOf.payments(order.id))
    const twice = await endOf(client, await client.post(`/v1/payments/${another.id}/retry`, {}))
    t.match(twice, { status: 200, json: { status: 'Failed', error: { code: 'not-retryable' } } })
    t.equal(await paymentsOf(database, order), 3n, 'an order is paid once')
  })

  await t.test('what has not failed, or has no funds, is not retried, unless it is forced', async (t) => {
    const { payment, order } = await failedPayment(client, 'insufficient_funds')
    const stale = { headers: { 'if-match': '"stale"' } }
    const paths = [`/v1/payments/${payment.id}/retry`, `/v1/orders/${order.id}/retry`]
    for (const path of paths) {
      t.equal((await client.call('POST', path, stale)).status, 412, 'it has changed')
      const error = { code: 'insufficient-funds', message: /not enough/ }
      t.match((await endOf(client, await client.post(path, {}))).json, { status: 'Failed', error })
    }
    await client.patch(`/v1/payments/${payment.id}`, { status: 'succeeded', failure_reason: null })
    await client.patch(`/v1/orders/${order.id}`, { status: 'fulfilled' })
    for (const path of paths) {
      t.match(await client.call('POST', path), { status: 409, json: { code: 'not-retryable' } })
      const forced = await endOf(client, await client.post(path, { force_retry: true }))
      t.match(forced.json, { status: 'Succeeded' })
    }
    t.match(await client.get(`/v1/orders/${order.id}`), { json: { status: 'fulfilled' } }, 'it stays so')
    t.match(await client.post('/v1/payments/1/retry', {}), { status: 404 })
  })

  await t.test('a successful retry cannot be repeated, even if it is forced', async (t) => {
    // The first retry has to run still when the third one begins.
    const client = await serve(t, database, 0.5)
    for (const collection of ['payments', 'orders'] as const) {
      const { payment, order } = await failedPayment(client, 'timeout')
      const path = `/v1/${collection}/${collection === 'payments' ? payment.id : order.id}/retry`
      const starts = await Promise.all([client.post(path, {}), client.post(path, { force_retry: true })])
      const [started, refused] = starts.sort((one, other) => one.status - other.status)
      t.match([started, refused], [{ status: 202 }, { status: 409, json: { code: 'retry-running' } }])
      const byOtherRoute = await client.post(`/v1/orders/${order.id}/retry`, { force_retry: true })
      t.match(byOtherRoute, { status: 409, json: { code: 'retry-running' } }, 'one at a time for an order')
      t.match((await endOf(client, started)).json, { status: 'Succeeded' })
      const again = await client.post(path, { force_retry: true })
      t.match(again, { status: 409, json: { code: 'already-retried' } }, 'nor is it afterwards')
      t.equal(await paymentsOf(database, order), 2n)
    }
  })

  await t.test('retry of an order: the result has its payment and its new status', async (t) => {
    const { order } = await failedPayment(client, 'timeout')
    const end = await endOf(client, await client.call('POST', `/v1/orders/${order.id}/retry`))
    const result = { order: `/v1/orders/${order.id}`, status: 'paid', payment: String }
    t.match(end, { status: 200, json: { status: 'Succeeded', result } })
    const { payment } = end.json.result as { payment: string }
    t.match(await client.get(payment), { json: { order_id: order.id, status: 'succeeded' } })
  })

  await t.test('verification of an address: Succeeded, without a resource', async (t) => {
    const path = `/v1/users/${(await newUser(client)).id}`
    const verify = async () => endOf(client, await client.call('POST', `${path}/verify_email`))
    t.match(await verify(), { status: 200, json: { status: 'Succeeded' } })
    const verified = await client.get(path)
    t.match(verified, { json: { email_verified: true } })
    await verify()
    t.strictSame((await client.get(path)).json, verified.json, 'again changes nothing')
  })

  await t.test('POST /v1/orders waits for the result, unless the client prefers respond-async', async (t) => {
    const user = await newUser(client)
    const create = (prefer: string, body: Json = sampleOf.orders(user.id)) =>
      client.call('POST', '/v1/orders', { body, headers: { prefer } })
    t.match(await create('wait=5'), { status: 201 })
    const start = await create('respond-async')
    t.equal(start.status, 202)
    t.match(await endOf(client, start), { status: 303 })
    const { json } = await client.get(`/v1/orders?user_id=${user.id}`)
    t.match(json, { orders: { length: 2 } }, 'each of the two requests created one order')
    const unknown = { status: 422, json: { code: 'reference-not-found', errors: [{ pointer: '/user_id' }] } }
    t.match(await create('respond-async', sampleOf.orders(1n)), unknown, 'refused before it starts')
  })

  await t.test('of two runs of one operation, the second has the outcome of the first', async (t) => {
    let runs = 0
    const work = async () => ({ resource: `/v1/orders/${++runs}` })
    const run = () => once(database, { operationId: 'run-twice' }, work)
    const outcome = { resource: '/v1/orders/1' }
    t.strictSame([...(await Promise.all([run(), run()])), await run()], [outcome, outcome, outcome])
  })

  await t.test('a cancelled retry makes no payment', async (t) => {
    const slow = await serve(t, database, 1)
    const { payment, order } = await failedPayment(client, 'timeout')
    const start = await slow.post(`/v1/payments/${payment.id}/retry`, {})
    t.equal((await slow.delete(start.headers.get('location') ?? '')).status, 204)
    t.match((await endOf(slow, start)).json, { status: 'Failed', error: { code: 'operation-cancelled' } })
    t.match(await client.get(`/v1/orders/${order.id}`), { json: { status: 'failed' } })
    t.equal(await paymentsOf(database, order), 1n)
  })

  await t.test('what changes or goes while an operation runs makes it fail, with the reason', async (t) => {
    const slow = await serve(t, database, 0.3)
    const user = await newUser(client)
    const failed = { ...sampleOf.orders(user.id), status: 'failed' }
    const orders = [await client.post('/v1/orders', failed), await client.post('/v1/orders', failed)]
    const [deleted = '', cancelled = ''] = orders.map(({ headers }) => headers.get('location') ?? '')
    const { payment, order } = await failedPayment(client, 'timeout')
    const starts = await Promise.all([
      slow.call('POST', `/v1/users/${user.id}/verify_email`),
      slow.call('POST', `${deleted}/retry`),
      slow.call('POST', `${cancelled}/retry`),
      slow.call('POST', `/v1/payments/${payment.id}/retry`),
    ])
    await client.patch(`/v1/users/${user.id}`, { email: `other-${user.id}@example.com` })
    await client.delete(deleted)
    await client.post(`${cancelled}/cancel`, {})
    await client.post(`/v1/orders/${order.id}/cancel`, {})
    const ends = await Promise.all(starts.map((start) => endOf(slow, start)))
    const codes = ends.map(({ json }) => (json.error as Json | undefined)?.code)
    t.strictSame(codes, ['email-changed', 'not-found', 'not-retryable', 'not-retryable'])
    t.match(await client.get(`/v1/users/${user.id}`), { json: { email_verified: false } })
    t.match(await client.get(cancelled), { json: { status: 'cancelled' } })
  })
})

async function failedPayment(client: Client, failure_reason: string) {
  const user = await newUser(client)
  const { json: order } = await client.post('/v1/orders', { ...sampleOf.orders(user.id), status: 'failed' })
  const body = { ...sampleOf.payments(order.id), failure_reason }
  const { json: payment } = await client.post('/v1/payments', body)
  return { order, payment }
}

async function paymentsOf(database: Database, { id }: Json): Promise<unknown> {
  const text = 'select count(*) as count from payments where order_id = $1'
  return (await query(database, text, [id]))[0]?.count
}
