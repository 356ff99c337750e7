/** Decisions.md §3: "for a list: per item, the list member and paging stay". */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type FieldsRouteOptions, fields, integerTwins, lists } from '../../src/index.js'

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

t.test('the items are in the member that the path is named after', async (t) => {
  const rows: readonly (readonly [url: string, member: string])[] = [
    ['/v1/orders', 'orders'],
    ['/v1/users/:id/orders', 'orders'],
    ['/v1/open-orders', 'open_orders'],
    ['/v1/open-orders', 'open-orders'],
  ]
  for (const [url, member] of rows) {
    const app = await service(url, listOf(member), { [member]: [first, first], total: 2, next: 'n' })
    const answer = await app.inject(`${url.replace(':id', '7')}?fields=status`)
    t.equal(answer.payload, `{"${member}":[{"status":"paid"},{"status":"paid"}],"total":2,"next":"n"}`, url)
  }
})

t.test('or where the route says', async (t) => {
  const app = await service(
    '/v1/purchases',
    listOf('orders'),
    { orders: [first], total: 1 },
    { list: 'orders' },
  )
  t.equal(
    (await app.inject('/v1/purchases?fields=status')).payload,
    '{"orders":[{"status":"paid"}],"total":1}',
  )
})

t.test('or where config.lists says', async (t) => {
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

t.test('no list: the names are those of the answer', async (t) => {
  const apps = [
    await service('/v1/summaries/:id', listOf('orders'), { orders: [first], total: 1 }),
    await service('/v1/orders', listOf('orders'), { orders: [first], total: 1 }, { list: null }),
  ]
  for (const app of apps) {
    const url = app.hasRoute({ method: 'GET', url: '/v1/orders' }) ? '/v1/orders' : '/v1/summaries/1'
    t.equal((await app.inject(`${url}?fields=total`)).payload, '{"total":1}')
    t.equal(
      (await app.inject(`${url}?fields=orders.status,total`)).payload,
      '{"orders":[{"status":"paid"}],"total":1}',
    )
    t.equal((await app.inject(`${url}?fields=status`)).statusCode, 400)
  }
})

t.test('a member of the name that is no array is no list', async (t) => {
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

t.test('a list that may be missing is a list', async (t) => {
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

t.test('an array at the top is a list of its own', async (t) => {
  const app = await service('/v1/orders', orders, [first, first])
  t.equal((await app.inject('/v1/orders?fields=status')).payload, '[{"status":"paid"},{"status":"paid"}]')
})

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
