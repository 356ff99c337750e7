import { firstId } from '../../examples/demo-server/migrations.js'
import { type Answer, type Caller, type Client, serve } from './client.js'
import { onDatabase } from './each-database.js'
import { type CollectionName, newBody, newUser } from './samples.js'

const form = { 'content-type': 'application/x-www-form-urlencoded' }

await onDatabase(async (t, database) => {
  const client = await serve(t, database)

  const transitions = [
    {
      collection: 'orders',
      verb: 'cancel',
      from: ['pending', 'paid', 'failed'],
      to: 'cancelled',
      never: 'fulfilled',
    },
    { collection: 'subscriptions', verb: 'suspend', from: ['active'], to: 'suspended', never: 'cancelled' },
    {
      collection: 'subscriptions',
      verb: 'cancel',
      from: ['active', 'suspended'],
      to: 'cancelled',
      never: null,
    },
  ] as const
  for (const { collection, verb, from, to, never } of transitions) {
    await t.test(
      `POST /v1/${collection}/{id}/${verb} changes the status to ${to}; repeated, it changes nothing`,
      async (t) => {
        for (const status of from) {
          const before = await create(client, collection, status)
          const path = `/v1/${collection}/${before.json.id}/${verb}`
          const done = await client.call('POST', path)
          t.match(done, { status: 200, json: { id: before.json.id, status: to } }, status)
          t.not(done.json.updated_at, before.json.updated_at)
          t.equal(done.headers.get('cache-control'), 'no-store')
          const again = await client.post(path, {})
          t.match(again, { status: 200, json: done.json }, 'nothing is written the second time')
        }
        if (never !== null) {
          const { json } = await create(client, collection, never)
          const refused = await client.call('POST', `/v1/${collection}/${json.id}/${verb}`)
          t.match(refused, { status: 409, json: { detail: new RegExp(`is ${never}$`) } })
          const { status: _, ...rest } = await newBody(client, collection)
          for (const status of [to, from[0]]) {
            const body = { status }
            const item = `/v1/${collection}/${json.id}`
            const final = { status: 409, json: { code: 'status-final', detail: new RegExp(`is ${never}`) } }
            t.match(await client.patch(item, body), final, `PATCH does not make it ${status} either`)
            t.match(await client.put(item, { ...rest, ...body }), final, 'nor does PUT')
          }
          t.match(
            (await client.get(`/v1/${collection}/${json.id}`)).json,
            { status: never },
            'nothing was changed',
          )
        }
      },
    )
  }

  await t.test('an action on an item that has changed is a 412, and does nothing', async (t) => {
    const actions = [
      ['orders', 'cancel', 'pending'],
      ['orders', 'retry', 'failed'],
      ['subscriptions', 'suspend', 'active'],
      ['subscriptions', 'cancel', 'active'],
      ['payments', 'retry', 'failed'],
    ] as const
    for (const [collection, verb, status] of actions) {
      const { json } = await create(client, collection, status)
      const path = `/v1/${collection}/${json.id}`
      const act = (tag: string) => client.call('POST', `${path}/${verb}`, { headers: { 'if-match': tag } })
      const before = await client.get(path)
      t.match(await act('"stale"'), { status: 412, json: { code: 'precondition-failed' } }, path)
      t.strictSame((await client.get(path)).json, before.json, 'it is as it was')
      const tag = before.headers.get('etag') ?? ''
      t.match(await act(tag), { status: verb === 'retry' ? 202 : 200 }, `${path} with the current tag`)
      if (verb !== 'retry') t.match(await act(tag), { status: 412 }, 'the tag is stale by now')
    }
    const user = await newUser(client)
    const headers = { 'if-match': '"stale"' }
    t.match(await client.call('POST', `/v1/users/${user.id}/verify_email`, { headers }), { status: 412 })
  })

  await t.test('an action accepts no body, an empty body, {} and null', async (t) => {
    const { json } = await create(client, 'orders', 'pending')
    const path = `/v1/orders/${json.id}/cancel`
    for (const sent of [{}, { body: '' }, { body: {} }, { body: 'null' }]) {
      t.equal((await client.call('POST', path, sent)).status, 200, JSON.stringify(sent))
    }
    for (const body of [{ status: 'paid' }, [], 'text', '{"a":', 1]) {
      const refused = await client.call('POST', path, {
        body: typeof body === 'object' ? body : String(body),
      })
      t.equal(refused.status, 400, JSON.stringify(body))
    }
    t.equal((await client.call('POST', path, { body: 'a=b', headers: form })).status, 415)
    t.equal((await client.call('POST', path, { body: '', headers: form })).status, 200, "curl -d ''")
  })

  await t.test('an action of an unknown resource is 404; another method is 405 with Allow', async (t) => {
    t.equal((await client.call('POST', '/v1/orders/1/cancel')).status, 404)
    const answer = await client.get(`/v1/orders/${firstId}/cancel`)
    t.equal(answer.status, 405)
    t.equal(answer.headers.get('allow'), 'OPTIONS, POST')
  })

  await t.test('a caller follows a user once, under /v1/users and /v1/user', async (t) => {
    const caller = await newUser(client)
    const friend = await newUser(client)
    for (const collection of ['users', 'user', 'users']) {
      const answer = await client.as(caller.id).call('POST', `/v1/${collection}/${friend.id}/follow`)
      t.match(answer, { status: 204, text: '' })
    }
    const { json } = await client.get(`/v1/friends?user_id=${caller.id}`)
    t.match(json.friends, [{ user_id: caller.id, friend_user_id: friend.id }])
    t.equal((json.friends as unknown[]).length, 1)
  })

  await t.test('follow: 404 for an unknown user, 422 for the caller itself, 403 for a program', async (t) => {
    const user = await newUser(client)
    const follow = (id: unknown, caller: Caller = client.as(user.id)) =>
      caller.call('POST', `/v1/users/${String(id)}/follow`)
    t.match(await follow(1), { status: 404, json: { code: 'not-found', detail: 'there is no user 1' } })
    t.match(await follow(user.id), { status: 422, json: { code: 'friend-of-self' } })
    t.match(await follow('me'), { status: 422, json: { code: 'friend-of-self' } })
    t.match(await follow(user.id, client), { status: 403, json: { code: 'forbidden' } })
    const gone = { status: 422, json: { code: 'reference-not-found', errors: [{ pointer: '/user_id' }] } }
    t.match(await follow(user.id, client.as(1)), gone, 'whose user is no more')
  })

  await t.test('me is the record of the user of the token; a program has none', async (t) => {
    const user = await newUser(client)
    const me = await client.as(user.id).get('/v1/users/me')
    t.match(me, { status: 200, json: { id: user.id } })
    t.equal(me.headers.get('content-location'), `/v1/users/${user.id}`)
    t.match(me.headers.get('cache-control'), /private/)
    t.match(await client.anonymous.get('/v1/users/me'), { status: 401, json: { code: 'unauthorized' } })
    t.match(await client.get('/v1/users/me'), { status: 403, json: { code: 'forbidden' } })
  })
})

async function create(client: Client, collection: CollectionName, status: string): Promise<Answer> {
  const body = await newBody(client, collection)
  return client.post(`/v1/${collection}`, { ...body, status })
}
