/** "for a list: per item, the list member and paging stay". */
import type { RouteShorthandOptions } from 'fastify'
import t from 'tap'
import {
  caching,
  type FieldsRouteOptions,
  fields,
  integerTwins,
  lists,
  problems,
  responseRules,
} from '../../../src/index.js'
import { appOf } from '../../support/app.js'
import { injected, isProblem } from '../../support/problem.js'
import { array, bodyOf, int64, object, text } from './one-route.js'

const order = object({ id: int64, status: text, notes: array(text) })
const first = { id: 1, status: 'paid', notes: ['a'] }
const orders = array(order)
const listOf = (member: string) => object({ [member]: orders, total: { type: 'integer' }, next: text })

t.test('the items are in the member with the name of the path, or of config.lists', async (t) => {
  const rows: readonly (readonly [url: string, member: string])[] = [
    ['/v1/users/:id/orders', 'orders'],
    ['/v1/open-orders', 'open_orders'],
    ['/v1/open-orders', 'open-orders'],
    ['/v1/long-open-orders', 'longOpenOrders'],
  ]
  for (const [url, member] of rows) {
    const value = { [member]: [first, first], total: 2, next: 'n' }
    const body = await bodyOf('?fields=status', listOf(member), value, { url })
    t.equal(body, `{"${member}":[{"status":"paid"},{"status":"paid"}],"total":2,"next":"n"}`, url)
  }
  for (const [url, config, member, rules] of [
    ['/v1/purchases', { member: 'orders' }, 'orders', {}],
    // In the style of the keys.
    ['/v1/open-orders', {}, 'openOrders', { keyStyle: 'camelCase' }],
  ] as const) {
    const app = await appOf(lists, [responseRules, rules], fields)
    const schema = { response: { 200: listOf(member) } }
    app.get(url, { schema, config: { lists: config } }, (_, reply) => reply.list([first]))
    const { payload } = await app.inject(`${url}?fields=status&limit=5`)
    t.equal(payload, `{"${member}":[{"status":"paid"}]}`)
  }
})

t.test('routes with one response schema have their own lists', async (t) => {
  const app = await appOf(fields)
  const both = object({ paid: orders, open: orders })
  const answer = { paid: [first], open: [first] }
  for (const url of ['/v1/paid', '/v1/open', '/v1/all'])
    app.get(url, { schema: { response: { 200: both } } }, () => answer)
  const [whole, part] = ['[{"id":1,"status":"paid","notes":["a"]}]', '[{"status":"paid"}]']
  const rows: readonly (readonly [target: string, payload: string])[] = [
    ['/v1/paid?fields=status', `{"paid":${part},"open":${whole}}`],
    ['/v1/open?fields=status', `{"paid":${whole},"open":${part}}`],
    ['/v1/all?fields=open.id', '{"open":[{"id":1}]}'],
  ]
  for (const [target, payload] of rows) t.equal((await app.inject(target)).payload, payload, target)
})

t.test('what is an item, and what is not', async (t) => {
  const one = { orders: [first], total: 1 }
  const paid = '{"orders":[{"status":"paid"}],"total":1}'
  const integer = { type: 'integer' }
  const optional = object({ orders: { anyOf: [orders, { type: 'null' }] }, total: integer })
  const counts = object({ orders: integer, total: integer })
  const all = '{"orders":[{"id":1,"id_str":"1","status":"paid"}],"total":1}'
  const byDefault = { default: ['id', 'notes'], hidden: { notes: true } } as const
  const hidden = { hidden: { notes: true } } as const
  const summaries = '/v1/summaries'
  type Options = FieldsRouteOptions | undefined
  type Row = readonly [query: string, schema: object, value: unknown, body: string, Options?, url?: string]
  const rows: readonly Row[] = [
    // Without a list, the names are those of the response.
    ['?fields=total', listOf('orders'), one, '{"total":1}', undefined, summaries],
    ['?fields=orders', counts, { orders: 3, total: 3 }, '{"orders":3}'],
    // Defaults and hidden fields are those of the items.
    ['', listOf('orders'), one, '{"orders":[{"id":1,"id_str":"1"}],"total":1}', byDefault],
    ['', listOf('orders'), one, '{"orders":[{"id":1,"id_str":"1"}],"total":1}', { default: ['id_str'] }],
    ['?fields=*', listOf('orders'), one, all, byDefault],
    // An optional array is a list.
    ['?fields=status', optional, one, paid, hidden],
    ['', optional, one, all, hidden],
    ['?fields=status', optional, { orders: null, total: 0 }, '{"orders":null,"total":0}'],
    ['?fields=status', listOf('orders'), { orders: null, next: 'n' }, '{"orders":[],"next":"n"}'],
    ['?fields=status', orders, [first, first], '[{"status":"paid"},{"status":"paid"}]'],
  ]
  for (const [query, schema, value, body, config, url = '/v1/orders'] of rows)
    t.equal(await bodyOf(query, schema, value, { url, config }), body, `${query} ${JSON.stringify(schema)}`)
  const refused = await bodyOf('?fields=status', listOf('orders'), one, { url: summaries })
  t.match(refused, 'fields-invalid')
})

t.test('of a list of texts nothing is selected, nor of what the app’s own serializer writes', async (t) => {
  const app = await appOf(fields)
  const tags = { response: { 200: object({ tags: array(text) }) } }
  app.get('/v1/tags', { schema: tags, config: { lists: {} } }, () => ({ tags: ['a'] }))
  t.equal((await app.inject('/v1/tags?fields=x')).payload, '{"tags":["a"]}')
  const own = await appOf(fields)
  own.setReplySerializer(() => 'own')
  own.get('/v1/orders/:id', { schema: { response: { 200: order } } }, () => first)
  t.equal((await own.inject('/v1/orders/1?fields=nope')).payload, 'own')
  const reason = /setReplySerializer/
  t.match(own.conventions.report().exceptions, [{ plugin: 'fields', route: 'GET /v1/orders/:id', reason }])
})

t.test('the fields of a list without a schema are selected from its items', async (t) => {
  const openItems = array({ type: 'object', additionalProperties: true })
  const schemas: Readonly<Record<string, RouteShorthandOptions>> = {
    'no schema': {},
    'no response schema': { schema: { querystring: object({}) } },
    'no response schema of success': { schema: { response: { 404: { type: 'object' } } } },
    'no schema of items': { schema: { response: { 200: object({ orders: { type: 'array' }, total: {} }) } } },
    'open items': { schema: { response: { 200: object({ orders: openItems, total: {} }) } } },
  }
  const big = 9_007_199_254_740_993n
  const row = { id: big, status: 'paid', address: { city: 'London', zip: 'W1' } }
  const older = { ...row, id: big - 1n }
  for (const [about, schema] of Object.entries(schemas)) {
    for (const twins of [true, false]) {
      const app = await appOf(problems, lists, fields)
      if (twins) await app.register(integerTwins)
      const options = { ...schema, config: { lists: twins ? {} : true } } as const
      app.get('/v1/orders', options, (_, reply) => reply.list([row, older], 2))
      const id = `"id":${big}${twins ? `,"id_str":"${big}"` : ''}`
      for (const [query, item] of [
        ['status', '{"status":"paid"}'],
        ['id', `{${id}}`],
        ['address.city,status', '{"status":"paid","address":{"city":"London"}}'],
        ['nope', '{}'],
        ['__proto__', '{}'],
      ] as const) {
        const { payload } = await app.inject(`/v1/orders?fields=${query}`)
        const ofOlder = item.replaceAll(`${big}`, `${older.id}`)
        t.equal(payload, `{"orders":[${item},${ofOlder}],"total":2}`, `${about}, twins ${twins}: ${query}`)
      }
      const refused = injected(await app.inject('/v1/orders?fields=a,,b'))
      const detail = 'fields has an empty name'
      isProblem(t, refused, { status: 400, code: 'fields-invalid', detail }, about)
      const all = (await app.inject('/v1/orders')).json()
      if (twins) t.match(all, { orders: [{ status: 'paid' }, { status: 'paid' }] })
    }
  }
})

t.test('request.fields.names has the keys of the page and the field of Last-Modified', async (t) => {
  const times = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-02-01T00:00:00Z' }
  const row = { id: 1, status: 'paid', notes: [], ...times }
  const date = { type: 'string', format: 'date-time' }
  const dated = object({ ...order.properties, created_at: date, updated_at: date })
  const rows: readonly (readonly [query: string, names: string[] | undefined, items?: object])[] = [
    ['&fields=status', ['id', 'status', 'updated_at']],
    ['&fields=status&before_time=2027-01-01T00:00:00Z', ['id', 'status', 'created_at', 'updated_at']],
    ['', undefined],
    // Those that the schema has.
    ['&fields=status', ['id', 'status'], order],
  ]
  for (const [query, names, items = dated] of rows) {
    const app = await appOf(lists, fields, caching)
    const schema = { response: { 200: object({ orders: array(items), total: { type: 'integer' } }) } }
    app.get('/v1/orders', { schema, config: { lists: {} } }, ({ fields }, reply) => {
      t.strictSame(fields?.names, names, query)
      if (fields === null) return reply.list([row, row])
      t.strictSame([fields.paths, fields.has('id')], [['status'], false], 'what the client wants')
      // As docs/fields.md shows it.
      const read = Object.fromEntries(Object.entries(row).filter(([name]) => fields.names.includes(name)))
      return reply.list([read, read])
    })
    const { payload, headers } = await app.inject(`/v1/orders?limit=1${query}`)
    if (names === undefined) continue
    t.equal(payload, '{"orders":[{"status":"paid"}]}')
    t.match(headers.link, /rel="next"/)
    t.equal(headers['last-modified'], items === dated ? 'Sun, 01 Feb 2026 00:00:00 GMT' : undefined)
  }
})
