import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as pause } from 'node:timers/promises'
import type { OperationEvent } from 'fastify-conventions'
import { firstId } from '../../examples/demo-server/migrations.js'
import { type Answer, type Client, type Json, serve } from './client.js'
import { onDatabase } from './each-database.js'
import { spyOn } from './query-spy.js'
import { newUser, sampleOf } from './samples.js'

const oneYear = 31_536_000

await onDatabase(async (t, actual) => {
  const { database, columnsRead } = spyOn(actual)
  const client = await serve(t, database)

  await t.test('the invoice of a paid order is CSV that adds up', async (t) => {
    const { id } = await orderOf(client, {
      items: [
        { sku: 'mug-blue', quantity: 2, unit_amount: 1290 },
        { sku: 'tea', quantity: 1, unit_amount: 450 },
      ],
      total_amount: 3030,
    })
    const answer = await made(client, id)
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8')
    t.equal(answer.headers.get('content-disposition'), `attachment; filename="invoice-${id}.csv"`)
    t.equal(
      answer.text,
      'sku,quantity,unit_amount,amount,currency\r\nmug-blue,2,1290,2580,EUR\r\ntea,1,450,450,EUR\r\ntotal,,,3030,EUR\r\n',
    )
  })

  await t.test('its invoice may be stored for a year, in private caches, and is immutable', async (t) => {
    const { id } = await orderOf(client)
    const path = `/v1/orders/${id}/invoice`
    const first = await made(client, id)
    const again = await client.get(path)
    for (const { headers } of [first, again]) {
      t.equal(headers.get('cache-control'), `private, max-age=${oneYear}, immutable`)
      t.equal(headers.get('etag'), first.headers.get('etag'))
      t.equal(headers.get('last-modified'), first.headers.get('last-modified'))
      t.ok(headers.get('etag') && headers.get('last-modified'))
    }
    t.equal(again.text, first.text)
    const head = await client.call('HEAD', path)
    t.equal(head.headers.get('etag'), first.headers.get('etag'))
    t.equal(head.headers.get('content-length'), String(first.text.length))
    t.equal(head.text, '')
  })

  await t.test('an invoice does not change with its order', async (t) => {
    const { id } = await orderOf(client)
    const path = `/v1/orders/${id}/invoice`
    const before = await made(client, id)
    await client.patch(`/v1/orders/${id}`, { status: 'cancelled', total_amount: 1 })
    const later = await client.get(path)
    t.equal(later.status, 200)
    t.equal(later.text, before.text)
    t.equal(later.headers.get('etag'), before.headers.get('etag'))
  })

  await t.test('a conditional request gets a 304, and the content is not read', async (t) => {
    const { id } = await orderOf(client)
    const path = `/v1/orders/${id}/invoice`
    const { headers } = await made(client, id)
    columnsRead()
    for (const condition of [
      { 'if-none-match': headers.get('etag') ?? '' },
      { 'if-modified-since': headers.get('last-modified') ?? '' },
    ] as Record<string, string>[]) {
      const answer = await client.call('GET', path, { headers: condition })
      t.match(answer, { status: 304, text: '' })
      for (const name of ['content-type', 'content-disposition', 'content-length']) {
        t.equal(answer.headers.get(name), null, name)
      }
      t.equal(answer.headers.get('cache-control'), headers.get('cache-control'))
      // A run that a late poll started reads the order, and no invoice.
      t.strictSame(columnsRead('invoices'), [['made_at']])
    }
    t.match(await client.call('GET', path, { headers: { 'if-match': '"other"' } }), { status: 412 })
  })

  await t.test('until the invoice is ready, its URL sends Retry-After', async (t) => {
    const { id } = await orderOf(client)
    const answer = await client.get(`/v1/orders/${id}/invoice`)
    t.match(answer, { status: 202, json: { status: 'In progress' } })
    t.equal(answer.headers.get('retry-after'), '1')
    t.equal(answer.headers.get('cache-control'), 'no-store')
    for (const name of ['etag', 'last-modified', 'location']) t.equal(answer.headers.get(name), null, name)
    t.match(await made(client, id), { status: 200, text: /^sku,/ })
  })

  await t.test('the first request starts the invoice, whatever its preconditions', async (t) => {
    const conditions: Record<string, string>[] = [
      { 'if-none-match': '"other"' },
      { 'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
    ]
    for (const headers of conditions) {
      const { id } = await orderOf(client)
      t.match(await client.call('GET', `/v1/orders/${id}/invoice`, { headers }), { status: 202 })
      t.match(await made(client, id, headers), { status: 200, text: /^sku,/ })
    }
  })

  await t.test('concurrent first requests all get the same invoice', async (t) => {
    const { id } = await orderOf(client)
    const answers = await Promise.all(Array.from({ length: 8 }, () => made(client, id)))
    t.ok(answers.every(({ status }) => status === 200))
    t.equal(new Set(answers.map(({ headers }) => headers.get('etag'))).size, 1)
  })

  for (const status of ['pending', 'failed', 'cancelled']) {
    await t.test(`an order that is ${status} has no invoice, and this 404 is not storable`, async (t) => {
      const { id } = await orderOf(client, { status })
      const path = `/v1/orders/${id}/invoice`
      const answer = await client.get(path)
      t.match(answer, { status: 409, json: { code: 'not-paid' } })
      t.equal(answer.headers.get('cache-control'), 'no-store')
      t.equal(answer.headers.get('etag'), null)
      await client.patch(`/v1/orders/${id}`, { status: 'fulfilled' })
      t.match(await made(client, id), { status: 200 }, 'it has one once it is paid')
    })
  }

  await t.test('an order that is paid again has an invoice, after one could not be made', async (t) => {
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const { id } = await orderOf(client)
      const end = nextEnd()
      t.match(await client.get(`/v1/orders/${id}/invoice`), { status: 202 })
      await client.patch(`/v1/orders/${id}`, { status: 'failed' })
      if ((await end) === 'Succeeded') continue
      t.match(await client.get(`/v1/orders/${id}/invoice`), { status: 409, json: { code: 'not-paid' } })
      await client.patch(`/v1/orders/${id}`, { status: 'paid' })
      return t.match(await made(client, id), { status: 200, text: /^sku,/ })
    }
    return t.fail('the order was always too late')
  })

  await t.test('amounts beyond 2^53 are exact, in the invoice as in a list', async (t) => {
    const { id, user_id } = await orderOf(client, {
      items: [
        { sku: 'mug', quantity: 3, unit_amount: 3_002_399_751_580_331 },
        { sku: 'tea', quantity: 999_999, unit_amount: Number.MAX_SAFE_INTEGER },
      ],
      total_amount: Number.MAX_SAFE_INTEGER,
    })
    const lines = (await made(client, id)).text.split('\r\n')
    t.equal(lines[1], 'mug,3,3002399751580331,9007199254740993,EUR')
    t.equal(lines[2], `tea,999999,9007199254740991,${999_999n * BigInt(Number.MAX_SAFE_INTEGER)},EUR`)
    const list = `/v1/orders?user_id=${user_id}`
    for (const [accept, line] of [
      ['text/csv', /,9007199254740991,/],
      ['application/xml', /<total_amount>9007199254740991<\/total_amount>/],
    ] as const) {
      t.match(await client.call('GET', list, { headers: { accept } }), { status: 200, text: line }, accept)
    }
  })

  await t.test('an unknown order has no invoice', async (t) => {
    t.match(await client.get('/v1/orders/1/invoice'), { status: 404, json: { code: 'not-found' } })
    const { id } = await orderOf(client)
    await made(client, id)
    t.match(await client.delete(`/v1/orders/${id}`), { status: 204 }, 'an invoice does not hold its order')
    t.match(await client.get(`/v1/orders/${id}/invoice`), { status: 404 })
    t.match(await client.get(`/v1/orders/x/invoice`), { status: 400 })
    t.ok((id as bigint) >= firstId)
  })

  await t.test('a request that does not accept CSV is a 406', async (t) => {
    const { id } = await orderOf(client)
    const path = `/v1/orders/${id}/invoice`
    await made(client, id)
    for (const accept of ['text/csv', 'text/*', '*/*']) {
      t.match(await client.call('GET', path, { headers: { accept } }), { status: 200 }, accept)
    }
    t.match(await client.call('GET', path, { headers: { accept: 'application/json' } }), {
      status: 406,
      json: { code: 'not-acceptable' },
    })
  })
})

/** Resolves with the status of the next operation that ends. */
function nextEnd(): Promise<string> {
  const channel = 'fastify-conventions.operations'
  return new Promise((resolve) => {
    subscribe(channel, function hear(message) {
      const { event, record } = message as OperationEvent
      if (event !== 'end') return
      unsubscribe(channel, hear)
      resolve(record.status)
    })
  })
}

/** Asks until it is made. */
async function made(client: Client, id: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const answer = await client.call('GET', `/v1/orders/${String(id)}/invoice`, { headers })
    if (answer.status !== 202) return answer
    await pause(25)
  }
  throw new Error('the invoice was not made in five seconds')
}

async function orderOf(client: Client, fields: Json = {}): Promise<Json> {
  const user = await newUser(client)
  const answer = await client.post('/v1/orders', { ...sampleOf.orders(user.id), ...fields })
  return answer.json
}
