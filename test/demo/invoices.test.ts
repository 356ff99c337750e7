import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { OperationEvent } from 'fastify-conventions'
import { until } from '../support/until.js'
import { type Json, serve, tagOf } from './client.js'
import { onDatabase, spyOn } from './databases.js'
import { newUser, sampleOf } from './samples.js'

const channel = 'fastify-conventions.operations'

await onDatabase(async (t, actual) => {
  const { database, columnsRead } = spyOn(actual)
  const client = await serve(t, database)
  const pathOf = (id: unknown) => `/v1/orders/${id}/invoice`
  /** Asks until it is made, or cannot be. */
  async function made(id: unknown) {
    const ask = () => client.get(pathOf(id))
    return until(ask, ({ status }) => status !== 202)
  }
  const newOrder = async (fields: Json = {}): Promise<Json> => {
    const user = await newUser(client)
    return (await client.post('/v1/orders', { ...sampleOf.orders(user.id), ...fields })).json
  }

  await t.test('the first request is a 202; then the invoice is CSV that adds up', async (t) => {
    const big = Number.MAX_SAFE_INTEGER
    const { id } = await newOrder({
      items: [
        { sku: 'mug-blue', quantity: 2, unit_amount: 1290 },
        { sku: 'tea', quantity: 999_999, unit_amount: big },
      ],
      total_amount: big,
    })
    const first = await client.get(pathOf(id))
    t.match(first, { status: 202, json: { status: 'In progress' } })
    t.equal(first.headers.get('retry-after'), '1')
    const { status, headers, text } = await made(id)
    t.equal(status, 200)
    t.equal(headers.get('content-type'), 'text/csv; charset=utf-8')
    t.equal(headers.get('content-disposition'), `attachment; filename="invoice-${id}.csv"`)
    t.strictSame(text.split('\r\n'), [
      'sku,quantity,unit_amount,amount,currency',
      'mug-blue,2,1290,2580,EUR',
      `tea,999999,${big},${999_999n * BigInt(big)},EUR`,
      `total,,,${big},EUR`,
      '',
    ])
  })

  await t.test('it may be kept for a year, and does not change with its order', async (t) => {
    const { id } = await newOrder()
    const path = pathOf(id)
    const first = await made(id)
    await client.patch(`/v1/orders/${id}`, { status: 'cancelled', total_amount: 1 })
    const [again, head] = [await client.get(path), await client.call('HEAD', path)]
    t.match(again, { status: 200, text: first.text })
    for (const { headers } of [first, again, head]) {
      t.equal(headers.get('cache-control'), 'private, max-age=31536000, immutable')
      t.equal(headers.get('etag'), tagOf(first))
    }
    const refused = await client.call('GET', path, { headers: { accept: 'application/json' } })
    t.match(refused, { status: 406, json: { code: 'not-acceptable' } })
  })

  await t.test('a conditional request gets a 304, and the content is not read', async (t) => {
    const { id } = await newOrder()
    const path = pathOf(id)
    const headers = { 'if-none-match': tagOf(await made(id)) }
    columnsRead()
    t.match(await client.call('GET', path, { headers }), { status: 304, text: '' })
    // A run that a late poll started reads the order, and no invoice.
    t.strictSame(columnsRead('invoices'), [['made_at']])
  })

  await t.test('concurrent first requests all get the same invoice', async (t) => {
    const { id } = await newOrder()
    const answers = await Promise.all(Array.from({ length: 8 }, () => made(id)))
    t.ok(answers.every(({ status }) => status === 200))
    t.equal(new Set(answers.map(tagOf)).size, 1)
  })

  await t.test('only what is paid or fulfilled has an invoice', async (t) => {
    for (const status of ['pending', 'failed', 'cancelled']) {
      const { id } = await newOrder({ status })
      const answer = await client.get(pathOf(id))
      t.match(answer, { status: 409, json: { code: 'not-paid' } }, status)
      await client.patch(`/v1/orders/${id}`, { status: 'fulfilled' })
      t.match(await made(id), { status: 200 }, 'it has one once it is paid')
      t.match(await client.delete(`/v1/orders/${id}`), { status: 204 }, 'an invoice does not hold its order')
      t.match(await client.get(pathOf(id)), { status: 404, json: { code: 'not-found' } })
    }
  })

  await t.test('an order that is paid again has an invoice, after one could not be made', async (t) => {
    const slow = await serve(t, database, 0.3)
    const { id } = await newOrder()
    const ended = new Promise((resolve) => {
      subscribe(channel, function hear(message) {
        const { event, record } = message as OperationEvent
        if (event !== 'end') return
        unsubscribe(channel, hear)
        resolve(record.status)
      })
    })
    t.match(await slow.get(pathOf(id)), { status: 202 })
    await client.patch(`/v1/orders/${id}`, { status: 'failed' })
    t.equal(await ended, 'Failed')
    await client.patch(`/v1/orders/${id}`, { status: 'paid' })
    t.match(await made(id), { status: 200, text: /^sku,/ })
  })
})
