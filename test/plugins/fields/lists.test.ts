/** "for a list: per item, the list member and paging stay". */
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
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
import { injected, isProblem } from '../../support/problem.js'

const text = { type: 'string' }
const order = {
  type: 'object',
  properties: {
    id: { type: 'integer', format: 'int64' },
    status: text,
    notes: { type: 'array', items: text },
  },
}
const first = { id: 1, status: 'paid', notes: ['a'] }
const orders = { type: 'array', items: order }
const listOf = (member: string): object => ({
  type: 'object',
  properties: { [member]: orders, total: { type: 'integer' }, next: text },
})

t.test('the items are in the member with the name of the path', async (t) => {
  const rows: readonly (readonly [url: string, member: string])[] = [
    ['/v1/orders', 'orders'],
    ['/v1/users/:id/orders', 'orders'],
    ['/v1/open-orders', 'open_orders'],
    ['/v1/open-orders', 'open-orders'],
    ['/v1/open-orders', 'openOrders'],
    ['/v1/long-open-orders', 'longOpenOrders'],
  ]
  for (const [url, member] of rows) {
    const app = await service(url, listOf(member), { [member]: [first, first], total: 2, next: 'n' })
    const answer = await app.inject(`${url.replace(':id', '7')}?fields=status`)
    t.equal(answer.payload, `{"${member}":[{"status":"paid"},{"status":"paid"}],"total":2,"next":"n"}`, url)
  }
})

t.test('the items are in the member of config.lists', async (t) => {
  const app = Fastify()
  await app.register(lists)
  await app.register(fields)
  await app.register(integerTwins)
  const schema = { response: { 200: listOf('orders') } }
  app.get('/v1/purchases', { schema, config: { lists: { member: 'orders' } } }, (_, reply) =>
    reply.list([first]),
  )
  t.equal(
    (await app.inject('/v1/purchases?fields=id,status&limit=5')).payload,
    '{"orders":[{"id":1,"id_str":"1","status":"paid"}]}',
  )
})

t.test('routes with one response schema have their own lists', async (t) => {
  const app = Fastify()
  await app.register(fields)
  const both = { type: 'object', properties: { paid: orders, open: orders } }
  const answer = { paid: [first], open: [first] }
  for (const url of ['/v1/paid', '/v1/open', '/v1/all'])
    app.get(url, { schema: { response: { 200: both } } }, () => answer)
  const rows: readonly (readonly [target: string, payload: string])[] = [
    [
      '/v1/paid?fields=status',
      '{"paid":[{"status":"paid"}],"open":[{"id":1,"status":"paid","notes":["a"]}]}',
    ],
    [
      '/v1/open?fields=status',
      '{"paid":[{"id":1,"status":"paid","notes":["a"]}],"open":[{"status":"paid"}]}',
    ],
    ['/v1/all?fields=open.id', '{"open":[{"id":1}]}'],
  ]
  for (const [target, payload] of rows) t.equal((await app.inject(target)).payload, payload, target)
})

t.test('without a list, the names are those of the response', async (t) => {
  const apps = [await service('/v1/summaries/:id', listOf('orders'), { orders: [first], total: 1 })]
  for (const app of apps) {
    const url = '/v1/summaries/1'
    t.equal((await app.inject(`${url}?fields=total`)).payload, '{"total":1}')
    t.equal(
      (await app.inject(`${url}?fields=orders.status,total`)).payload,
      '{"orders":[{"status":"paid"}],"total":1}',
    )
    t.equal((await app.inject(`${url}?fields=status`)).statusCode, 400)
  }
})

t.test('a member with the name of the path is not a list if it is not an array', async (t) => {
  const schema = { type: 'object', properties: { orders: { type: 'integer' }, total: { type: 'integer' } } }
  const app = await service('/v1/orders', schema, { orders: 3, total: 3 })
  t.equal((await app.inject('/v1/orders?fields=orders')).payload, '{"orders":3}')
})

t.test('defaults and hidden fields are those of the items', async (t) => {
  const config: FieldsRouteOptions = { default: ['id', 'notes'], hidden: { notes: true } }
  const app = await service('/v1/orders', listOf('orders'), { orders: [first], total: 1 }, config)
  t.equal((await app.inject('/v1/orders')).payload, '{"orders":[{"id":1,"id_str":"1"}],"total":1}')
  t.equal(
    (await app.inject('/v1/orders?fields=*')).payload,
    '{"orders":[{"id":1,"id_str":"1","status":"paid"}],"total":1}',
  )
})

t.test('empty, null, and the items of a reference', async (t) => {
  const app = Fastify()
  await app.register(fields)
  app.addSchema({ $id: 'order', ...order })
  app.addSchema({
    $id: 'orders',
    type: 'object',
    properties: { orders: { type: 'array', items: { $ref: 'order#' } }, next: text },
  })
  const answers = [{ orders: [] }, { orders: [first], next: 'n' }, { orders: null }]
  app.get('/v1/orders', { schema: { response: { 200: { $ref: 'orders#' } } } }, () => answers.shift())
  const bodies = ['{"orders":[]}', '{"orders":[{"status":"paid"}],"next":"n"}', '{"orders":[]}']
  for (const body of bodies) t.equal((await app.inject('/v1/orders?fields=status')).payload, body)
})

t.test('an optional array is a list', async (t) => {
  const missing = { anyOf: [orders, { type: 'null' }] }
  const schema = { type: 'object', properties: { orders: missing, total: { type: 'integer' } } }
  const app = await service('/v1/orders', schema, { orders: [first], total: 1 }, { hidden: { notes: true } })
  t.equal((await app.inject('/v1/orders?fields=status')).payload, '{"orders":[{"status":"paid"}],"total":1}')
  t.equal(
    (await app.inject('/v1/orders')).payload,
    '{"orders":[{"id":1,"id_str":"1","status":"paid"}],"total":1}',
  )
  const empty = await service('/v1/orders', schema, { orders: null, total: 0 })
  t.equal((await empty.inject('/v1/orders?fields=status')).payload, '{"orders":null,"total":0}')
})

t.test('an array at the top level is a list', async (t) => {
  const app = await service('/v1/orders', orders, [first, first])
  t.equal((await app.inject('/v1/orders?fields=status')).payload, '[{"status":"paid"},{"status":"paid"}]')
})

t.test('in camelCase, the member of a list of two words is found', async (t) => {
  const app = Fastify()
  await app.register(lists)
  await app.register(responseRules, { keyStyle: 'camelCase' })
  await app.register(fields)
  const schema = { response: { 200: listOf('openOrders') } }
  const handler = (_: unknown, reply: FastifyReply) => reply.list([first])
  app.get('/v1/open-orders', { schema, config: { lists: {} } }, handler)
  t.equal((await app.inject('/v1/open-orders?fields=status')).payload, '{"openOrders":[{"status":"paid"}]}')
})

t.test('the fields of a list without a schema are selected from its items', async (t) => {
  const schemas: readonly (readonly [about: string, schema: object | undefined])[] = [
    ['no schema', undefined],
    ['no response schema', { querystring: { type: 'object', properties: {} } }],
    ['no response schema of success', { response: { 404: { type: 'object' } } }],
    ['no schema of items', { response: { 200: object({ orders: { type: 'array' }, total: {} }) } }],
    [
      'open items',
      {
        response: {
          200: object({
            orders: { type: 'array', items: { type: 'object', additionalProperties: true } },
            total: {},
          }),
        },
      },
    ],
  ]
  const big = 9_007_199_254_740_993n
  const row = { id: big, status: 'paid', address: { city: 'London', zip: 'W1' } }
  for (const [about, schema] of schemas) {
    for (const twins of [true, false]) {
      const app = Fastify()
      await app.register(problems)
      await app.register(lists)
      await app.register(fields)
      if (twins) await app.register(integerTwins)
      const handler = (_: unknown, reply: FastifyReply) => reply.list([row, row], 2)
      app.get('/v1/orders', { ...(schema === undefined ? {} : { schema }), config: { lists: {} } }, handler)
      const id = `"id":${big}${twins ? `,"id_str":"${big}"` : ''}`
      for (const [query, item] of [
        ['status', '{"status":"paid"}'],
        ['id', `{${id}}`],
        ['address.city,status', '{"status":"paid","address":{"city":"London"}}'],
        ['nope', '{}'],
        ['__proto__', '{}'],
      ] as const) {
        const { payload } = await app.inject(`/v1/orders?fields=${query}`)
        t.equal(payload, `{"orders":[${item},${item}],"total":2}`, `${about}, twins ${twins}: ${query}`)
      }
      const refused = injected(await app.inject('/v1/orders?fields=a,,b'))
      isProblem(
        t,
        refused,
        { status: 400, code: 'fields-invalid', detail: 'fields has an empty name' },
        about,
      )
      if (twins)
        t.match((await app.inject('/v1/orders')).json(), {
          orders: [row.address, {}].map(() => ({ status: 'paid' })),
        })
    }
  }
})

t.test('request.fields.names has the keys of the page and the field of Last-Modified', async (t) => {
  const row = {
    id: 1,
    status: 'paid',
    notes: [],
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-02-01T00:00:00Z',
  }
  const date = { type: 'string', format: 'date-time' }
  const properties = { ...order.properties, created_at: date, updated_at: date }
  const items = { type: 'array', items: object(properties) }
  const schema = { response: { 200: object({ orders: items, total: { type: 'integer' } }) } }
  const seen: unknown[] = []
  const app = Fastify()
  await app.register(lists)
  await app.register(fields)
  await app.register(caching)
  app.get('/v1/orders', { schema, config: { lists: {} } }, (request, reply) => {
    // As docs/fields.md shows it.
    const columns: readonly string[] = request.fields?.names ?? Object.keys(row)
    seen.push(request.fields?.names, request.fields?.paths, request.fields?.has('id'))
    return reply.list(
      [row, row].map((one) =>
        Object.fromEntries(Object.entries(one).filter(([name]) => columns.includes(name))),
      ),
    )
  })
  const rows: readonly (readonly [query: string, names: string[] | undefined])[] = [
    ['?limit=1&fields=status', ['id', 'status', 'updated_at']],
    ['?limit=1&fields=status&before_id=9', ['id', 'status', 'updated_at']],
    ['?limit=1&fields=status&before_time=2027-01-01T00:00:00Z', ['id', 'status', 'created_at', 'updated_at']],
    ['?limit=1', undefined],
  ]
  for (const [query, names] of rows) {
    seen.length = 0
    const answer = await app.inject(`/v1/orders${query}`)
    t.equal(answer.statusCode, 200, query)
    t.strictSame(seen[0], names, query)
    if (names === undefined) continue
    t.strictSame(seen.slice(1), [['status'], false], 'what the client wants is as it was')
    t.equal(answer.payload, '{"orders":[{"status":"paid"}]}')
    t.ok(answer.headers.link, 'there is a next page')
    t.equal(answer.headers['last-modified'], 'Sun, 01 Feb 2026 00:00:00 GMT')
  }
})

t.test('request.fields.names has no keys that the schema does not have', async (t) => {
  const seen: unknown[] = []
  const app = Fastify()
  await app.register(lists)
  await app.register(fields)
  await app.register(caching)
  const schema = { response: { 200: listOf('orders') } }
  app.get('/v1/orders', { schema, config: { lists: {} } }, (request, reply) => {
    seen.push(request.fields?.names)
    return reply.list([first])
  })
  await app.inject('/v1/orders?fields=status')
  t.strictSame(seen, [['id', 'status']])
})

t.test('the error of an invalid name has the allowed names of its level', async (t) => {
  const nested = object({
    id: { type: 'integer' },
    lines: { type: 'array', items: object({ sku: text, price: object({ net: text }) }) },
  })
  const app = await service('/v1/orders', object({ orders: { type: 'array', items: nested } }), {
    orders: [],
  })
  const rows: readonly (readonly [names: string, detail: string])[] = [
    ['nope', 'Not among the fields: nope. The fields are id, lines'],
    ['lines.nope', 'Not among the fields: lines.nope. The fields of lines are sku, price'],
    ['lines.price.nope', 'Not among the fields: lines.price.nope. The fields of lines.price are net'],
    ['lines.nope.deeper', 'Not among the fields: lines.nope.deeper. The fields of lines are sku, price'],
    ['id.nope', 'Not among the fields: id.nope. The fields are id, lines'],
    ['a,lines.b,lines.c', 'Not among the fields: a, lines.b, lines.c. The fields are id, lines'],
  ]
  for (const [names, detail] of rows)
    t.match((await app.inject(`/v1/orders?fields=${names}`)).json(), { detail }, names)
})

function object(properties: object, more: object = {}): object {
  return { type: 'object', properties, ...more }
}

async function service(
  url: string,
  schema: object,
  value: unknown,
  config?: FieldsRouteOptions,
): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(fields)
  await app.register(integerTwins)
  app.get(
    url,
    { schema: { response: { 200: schema } }, config: config === undefined ? {} : { fields: config } },
    () => value,
  )
  return app
}
