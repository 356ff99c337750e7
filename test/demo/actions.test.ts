import { type Answer, type Caller, serve } from './client.js'
import { onDatabase } from './databases.js'
import { type CollectionName, newBody, newUser } from './samples.js'

const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** The statuses that an action leads from, and the one in which it is refused. */
const transitions = [
  {
    name: 'orders',
    verb: 'cancel',
    from: ['pending', 'paid', 'failed'],
    to: 'cancelled',
    never: 'fulfilled',
  },
  { name: 'subscriptions', verb: 'suspend', from: ['active'], to: 'suspended', never: 'cancelled' },
  { name: 'subscriptions', verb: 'cancel', from: ['active', 'suspended'], to: 'cancelled', never: null },
] as const

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  const create = async (name: CollectionName, status: string): Promise<Answer> =>
    client.post(`/v1/${name}`, { ...(await newBody(client, name)), status })

  for (const { name, verb, from, to, never } of transitions) {
    await t.test(`${verb} of ${name} makes them ${to}; repeated, it changes nothing`, async (t) => {
      for (const status of from) {
        const before = await create(name, status)
        const path = `${before.headers.get('location')}/${verb}`
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
      for (const status of [to, from[0]]) {
        const final = { status: 409, json: { code: 'status-final', detail: `is ${never}` } }
        t.match(await client.patch(path, { status }), final, `PATCH does not make it ${status} either`)
        t.match(await client.put(path, { ...body, status }), final, 'nor does PUT')
      }
      t.match((await client.get(path)).json, { status: never }, 'nothing was changed')
    })
  }

  await t.test('an action on an item that has changed is a 412, and does nothing', async (t) => {
    for (const [name, verb, status, right] of [
      ['orders', 'cancel', 'pending', 200],
      ['orders', 'retry', 'failed', 202],
      ['subscriptions', 'suspend', 'active', 200],
      ['subscriptions', 'cancel', 'active', 200],
      ['payments', 'retry', 'failed', 202],
      ['users', 'verify_email', undefined, 202],
    ] as const) {
      const body = await newBody(client, name)
      const made = await client.post(`/v1/${name}`, status === undefined ? body : { ...body, status })
      const path = made.headers.get('location') ?? ''
      const act = (tag: string) => client.call('POST', `${path}/${verb}`, { headers: { 'if-match': tag } })
      t.match(await act('"stale"'), { status: 412, json: { code: 'precondition-failed' } }, `${name} ${verb}`)
      t.strictSame((await client.get(`${path}?fields=*`)).json, made.json, 'it is as it was')
      t.match(await act(made.headers.get('etag') ?? ''), { status: right }, 'with the current tag')
    }
  })

  await t.test('an action accepts no body, an empty body, {} and null', async (t) => {
    const path = `${(await create('orders', 'pending')).headers.get('location')}/cancel`
    for (const sent of [{}, { body: '' }, { body: {} }, { body: 'null' }, { body: '', headers: form }])
      t.equal((await client.call('POST', path, sent)).status, 200, JSON.stringify(sent))
    for (const body of ['{"status":"paid"}', '[]', '"text"', '{"a":'])
      t.equal((await client.call('POST', path, { body })).status, 400, body)
    t.equal((await client.call('POST', path, { body: 'a=b', headers: form })).status, 415)
  })

  await t.test('a caller follows a user once, under /v1/users and /v1/user', async (t) => {
    const [caller, friend] = [await newUser(client), await newUser(client)]
    for (const collection of ['users', 'user', 'users']) {
      const answer = await client.as(caller.id).call('POST', `/v1/${collection}/${friend.id}/follow`)
      t.match(answer, { status: 204, text: '' })
    }
    const { json } = await client.get(`/v1/friends?user_id=${caller.id}&include_total=true`)
    t.match(json, { friends: [{ user_id: caller.id, friend_user_id: friend.id }], total: 1 })
  })

  await t.test('follow: 404 for an unknown user, 422 for the caller itself, 403 for a program', async (t) => {
    const user = await newUser(client)
    const follow = (id: unknown, caller: Caller = client.as(user.id)) =>
      caller.call('POST', `/v1/users/${String(id)}/follow`)
    t.match(await follow(1), { status: 404, json: { code: 'not-found', detail: 'there is no user 1' } })
    for (const self of [user.id, 'me'])
      t.match(await follow(self), { status: 422, json: { code: 'friend-of-self' } })
    t.match(await follow(user.id, client), { status: 403, json: { code: 'forbidden' } })
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
})
