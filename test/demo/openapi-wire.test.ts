import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { withoutReferences } from '../support/openapi.js'
import { type Caller, callerOf, type Json, serve } from './client.js'
import { emptyDatabase } from './databases.js'
import { judgeOf } from './document-judge.js'
import { userToken } from './issuer.js'
import { collectionNames, newBody, newUser, sampleOf } from './samples.js'

type Responses = Readonly<Record<string, { readonly headers?: Json; readonly content?: Json }>>
type Paths = Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>

/** Documented fields that not each response of the status has. */
const notSentHere: Readonly<Record<string, string>> = {
  'idempotent-replayed': 'only a repeated request has it',
  '400 www-authenticate': 'only where a token is sent in two ways',
  '409 location': 'only where the first request with the key created something',
  '409 retry-after': 'only while the first request with the key runs',
}

/** Not in the document: fields of all responses, those about the body, whose media type it says, and the security headers. */
const ofAllResponses = new Set([
  'connection',
  'content-length',
  'content-security-policy',
  'content-type',
  'cross-origin-resource-policy',
  'date',
  'keep-alive',
  'referrer-policy',
  // For caches; the document has it for a 304.
  'vary',
  'x-content-type-options',
  'x-frame-options',
])

t.test('what the demo sends is what its document says', async (t) => {
  const client = await serve(t, await emptyDatabase(t))
  const { json } = await client.get('/openapi.json')
  const paths = withoutReferences(json).paths as Paths
  const templates = Object.keys(paths).map(
    (path) => [path, new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`)] as const,
  )
  /** The fields of each response that came, by operation and status. */
  const received = new Map<string, ReadonlySet<string>[]>()

  const judge = judgeOf(client.app.swagger())
  const admin = callerOf(client.origin, { send: record, judge })
  const user = await newUser(client)
  const owner = callerOf(client.origin, { send: record, token: userToken(user.id), judge })

  await sendAll()

  await t.test('header fields that are sent are in the document', async (t) => {
    const faults = new Set<string>()
    for (const [response, answers] of received) {
      const documented = documentedFields(response)
      for (const name of new Set(answers.flatMap((fields) => [...fields]))) {
        if (!ofAllResponses.has(name) && !documented.has(name)) faults.add(`${response}: ${name}`)
      }
    }
    t.strictSame([...faults].sort(), [])
  })

  await t.test('header fields of the document are sent', async (t) => {
    const faults: string[] = []
    for (const [response, answers] of received) {
      const [, , status] = response.split(' ')
      for (const name of documentedFields(response)) {
        if (name in notSentHere || `${status} ${name}` in notSentHere) continue
        if (!answers.some((fields) => fields.has(name))) faults.push(`${response}: ${name}`)
      }
    }
    t.strictSame(faults.sort(), [])
  })

  await t.test('each operation was answered with a success', async (t) => {
    const operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path} `),
    )
    const successes = [...received.keys()].filter((response) => / [23]\d\d$/.test(response))
    const missing = operations.filter((operation) => !successes.some((one) => one.startsWith(operation)))
    // A 204 needs an operation that still runs.
    t.strictSame(missing, ['DELETE /v1/operations/{id} '])
  })

  async function sendAll(): Promise<void> {
    for (const name of collectionNames) await exerciseCollection(name)
    await exerciseActions()
  }

  async function exerciseCollection(name: (typeof collectionNames)[number]): Promise<void> {
    const list = `/v1/${name}`
    const body = await newBody(client, name)
    const made = await admin.post(list, body)
    const item = made.headers.get('location') ?? ''
    await client.post(list, await newBody(client, name))
    await read(admin, `${list}?limit=1`)
    await read(admin, item)
    await refuse(admin, 'POST', list, body)
    for (const method of ['PUT', 'PATCH']) {
      await refuse(admin, method, item, body)
      await admin.call(method, item, { body })
      await admin.call(method, item, { body, headers: { 'if-match': '"old"' } })
    }
    await admin.call('DELETE', item, { headers: { 'if-match': '"old"' } })
    await admin.call('DELETE', item, { headers: { 'content-encoding': 'gzip' } })
    await admin.call('DELETE', item, { body: 'a', headers: { 'content-type': 'image/png' } })
    await admin.delete(item)
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'])
      await admin.call(method, item, method === 'GET' || method === 'DELETE' ? {} : { body })
  }

  /** Reads in each way: as it is, with the tag of the copy, in other formats, and refused. */
  async function read(caller: Caller, target: string): Promise<void> {
    const { headers } = await caller.get(target)
    await caller.call('GET', target, { headers: { 'if-none-match': headers.get('etag') ?? '*' } })
    await caller.call('GET', target, { headers: { 'if-match': '"old"' } })
    for (const accept of ['text/csv', 'application/xml', 'text/xml', 'image/png'])
      await caller.call('GET', target, { headers: { accept } })
    await caller.get(`${target}${target.includes('?') ? '&' : '?'}wrong=1`)
    await client.anonymous.get(target)
  }

  /** Sends a body that is refused for its type, its syntax and its content. */
  async function refuse(caller: Caller, method: string, target: string, body: Json): Promise<void> {
    await caller.call(method, target, { body: 'a', headers: { 'content-type': 'text/plain' } })
    await caller.call(method, target, { body, headers: { 'content-encoding': 'gzip' } })
    await caller.call(method, target, { body: '{' })
    await caller.call(method, target, { body: { ...body, id: 'x', user_id: 'x', name: 1 } })
    await caller.call(method, target, { body, headers: { accept: 'image/png' } })
  }

  async function exerciseActions(): Promise<void> {
    await read(owner, '/v1/users/me')
    await owner.patch('/v1/users/me', { age: 37 })
    await owner.put('/v1/users/me', sampleOf.users('me@example.com'))
    const failed = { ...sampleOf.orders(user.id), status: 'failed' }
    const [order, other] = [await client.post('/v1/orders', failed), await client.post('/v1/orders', failed)]
    const payment = await client.post('/v1/payments', sampleOf.payments(order.json.id))
    await client.post('/v1/payments', sampleOf.payments(other.json.id))
    const subscription = await client.post('/v1/subscriptions', sampleOf.subscriptions(user.id))
    const paid = await client.post('/v1/orders', sampleOf.orders(user.id))
    const friend = await newUser(client)
    const actions = [
      `/v1/users/${user.id}/verify_email`,
      `/v1/payments/${payment.json.id}/retry`,
      `/v1/orders/${other.json.id}/retry`,
      `/v1/orders/${paid.json.id}/cancel`,
      `/v1/subscriptions/${subscription.json.id}/suspend`,
      `/v1/subscriptions/${subscription.json.id}/cancel`,
      `/v1/users/${friend.id}/follow`,
      `/v1/user/${friend.id}/follow`,
    ]
    for (const action of actions) {
      const { headers } = await owner.call('POST', action, { headers: { prefer: 'respond-async' } })
      const location = headers.get('location')
      if (location?.startsWith('/v1/operations')) await ended(location)
      await owner.call('POST', action, { headers: { prefer: 'wait=5' } })
      await owner.call('POST', action, { headers: { 'if-match': '"old"' } })
      await owner.call('POST', action, { headers: { accept: 'image/png' } })
      await owner.call('POST', action, { body: 'a', headers: { 'content-type': 'text/plain' } })
      await owner.call('POST', action, { body: {}, headers: { 'content-encoding': 'gzip' } })
      await owner.call('POST', action.replace(/\d+/, '1'))
      await client.anonymous.call('POST', action)
    }
    const body = sampleOf.orders(user.id)
    for (const prefer of ['respond-async', 'respond-async, wait=5']) {
      const { headers } = await admin.call('POST', '/v1/orders', { body, headers: { prefer } })
      const location = headers.get('location')
      if (location?.startsWith('/v1/operations')) await ended(location, admin)
    }
    const bought = await client.post('/v1/orders', body)
    const invoice = `/v1/orders/${bought.json.id}/invoice`
    for (let tries = 0; tries < 200 && (await owner.get(invoice)).status === 202; tries += 1) await pause(10)
    await read(owner, invoice)
    await owner.get(`/v1/orders/1/invoice`)
    await read(owner, '/v1/terms')
    await read(owner, '/v1/operations?limit=1')
  }

  async function ended(location: string, caller: Caller = owner): Promise<void> {
    await caller.get(`${location}/status`)
    for (let tries = 0; tries < 200 && (await caller.get(location)).json.status === 'In progress'; tries += 1)
      await pause(10)
    await caller.delete(location)
    await caller.get('/v1/operations/nothing')
  }

  async function record(url: string, request: RequestInit): Promise<Response> {
    const response = await fetch(url, request)
    const { pathname } = new URL(url)
    const [template] = templates.find(([, pattern]) => pattern.test(pathname)) ?? [pathname]
    const key = `${request.method} ${template} ${response.status}`
    received.set(key, [...(received.get(key) ?? []), new Set(response.headers.keys())])
    return response
  }

  function documentedFields(response: string): ReadonlySet<string> {
    const [method = '', path = '', status = ''] = response.split(' ')
    const { headers = {} } = paths[path]?.[method.toLowerCase()]?.responses[status] ?? {}
    return new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  }
})
