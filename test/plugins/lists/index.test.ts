import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type ListsOptions, type ListsRouteOptions, lists, problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

const max = 9_223_372_036_854_775_807n

t.test('request.page has the values of the query', async (t) => {
  const app = await appWithList({})
  const beforeTime = '2026-01-01T00:00:00Z'
  const table: ReadonlyArray<readonly [query: string, page: object]> = [
    ['name=Ada', { limit: 50, fetch: 51, by: 'id', includeTotal: false }],
    ['limit=99999999999999999999', { limit: 200, fetch: 201, by: 'id', includeTotal: false }],
    [`before_id=${max}`, { limit: 50, fetch: 51, by: 'id', beforeId: max, includeTotal: false }],
    [`after_id=${max}&limit=3`, { limit: 3, fetch: 4, by: 'id', afterId: max, includeTotal: false }],
    ...['%2B', '+'].map(
      (plus) =>
        [
          `before_time=2026-01-01T09:00:00${plus}09:00`,
          { limit: 50, fetch: 51, by: 'time', beforeTime, includeTotal: false },
        ] as const,
    ),
    ['include_total=true', { limit: 50, fetch: 51, by: 'id', includeTotal: true }],
  ]
  // At the same time: each request has its own page.
  const pages = await Promise.all(table.map(([query]) => pageOf(app, query)))
  for (const [index, [query, page]] of table.entries()) t.strictSame(pages[index], page, query)
})

t.test('invalid values are one 400 that names all of them', async (t) => {
  const app = await appWithList({})
  const issue = (name: string, message: string) => ({ in: 'query', name, message })
  const limit = issue('limit', 'must be a positive integer, once')
  const beforeId = issue('before_id', 'must be an id, once')
  const beforeTime = issue('before_time', 'must be an RFC 3339 date-time, once')
  const afterId = issue('after_id', 'must be an id, once')
  const total = issue('include_total', 'must be true or false, once')
  const both = issue('after_id', 'must not be given together with before_id or before_time')
  const table: ReadonlyArray<readonly [query: string, issues: readonly object[]]> = [
    ['limit=5&limit=6', [limit]],
    [`before_id=${'9'.repeat(10_000)}`, [beforeId]],
    [
      'limit=x&before_id=x&before_time=x&after_id=x&include_total=x',
      [limit, beforeId, beforeTime, afterId, total, both],
    ],
  ]
  for (const [query, errors] of table) {
    const answer = injected(await app.inject(`/v1/users?${query}`))
    isProblem(t, answer, { status: 400, code: 'validation', errors }, query.slice(0, 60))
  }
})

t.test('limits are options of the plugin and of the route; maxLimit lowers the default', async (t) => {
  const unset = { maxLimit: 5, defaultLimit: undefined } as object
  const table: readonly (readonly [ListsOptions, ListsRouteOptions, query: string, limit: number])[] = [
    [{ defaultLimit: 10, maxLimit: 20 }, {}, '', 10],
    [{ defaultLimit: 10, maxLimit: 20 }, {}, 'limit=50', 20],
    [{ defaultLimit: 10 }, { defaultLimit: 3, maxLimit: 5 }, '', 3],
    [{ defaultLimit: 10 }, { defaultLimit: 3, maxLimit: 5 }, 'limit=50', 5],
    [{}, { maxLimit: 5 }, '', 5],
    // The plugin set it, but not for this route.
    [{ defaultLimit: 30 }, unset, '', 5],
  ]
  for (const [options, config, query, limit] of table) {
    const page = await pageOf(await appWithList(options, config), query)
    t.match(page, { limit }, JSON.stringify([options, config, query]))
  }
})

t.test('the member with the items is the last literal of the path, or the option member', async (t) => {
  const table: readonly (readonly [path: string, url: string, config: ListsRouteOptions, member: string])[] =
    [
      ['/v1/users', '/v1/users', {}, 'users'],
      ['/v1/users/:id/friends', '/v1/users/7/friends', {}, 'friends'],
      ['/v1/order-items', '/v1/order-items', {}, 'order_items'],
      ['/v1/users/:id', '/v1/users/7', {}, 'users'],
      ['/v1/people', '/v1/people', { member: 'users' }, 'users'],
    ]
  for (const [path, url, config, member] of table) {
    const app = Fastify()
    await app.register(lists)
    app.get(path, { config: { lists: config } }, async (_request, reply) => reply.list([]))
    t.strictSame((await app.inject(url)).json(), { [member]: [] }, path)
  }
})

t.test('request.page and reply.list() on a route that is not a list throw FST_CONV_NOT_A_LIST', async (t) => {
  const seen: unknown[] = []
  const app = Fastify()
  await app.register(lists)
  app.setErrorHandler(async (error: Error & { code?: string }, _request, reply) => {
    seen.push(error.code, error.message)
    return reply.code(500).send()
  })
  app.get('/v1/pages', async (request) => request.page)
  app.get('/v1/lists', { config: { lists: false } }, async (_request, reply) => reply.list([]))
  for (const path of ['/v1/pages', '/v1/lists']) {
    await app.inject(path)
    const message = `${path} is not a list: declare it with \`config: { lists: {} }\`, after \`await app.register(lists)\``
    t.strictSame(seen.splice(0), ['FST_CONV_NOT_A_LIST', message])
  }
})

t.test('an invalid option throws, with its name, the expected and the received value', async (t) => {
  const table: ReadonlyArray<readonly [options: object, message: string]> = [
    [{ defaultLimit: 0 }, 'lists.defaultLimit: expected an integer from 1 to 10000, received 0'],

    [{ defaultLimit: 300 }, 'lists.defaultLimit: expected at most maxLimit (200), received 300'],
    [{ defaultLimit: 50, maxLimit: 20 }, 'lists.defaultLimit: expected at most maxLimit (20), received 50'],
    [{ idFormat: 'uuid' }, "lists.idFormat: expected one of 'int64', 'text', received 'uuid'"],
    [{ id: '' }, "lists.id: expected a non-empty string, received ''"],
    [{ by: [] }, "lists.by: expected 'id', 'time' or both, received []"],
    [{ by: ['name'] }, "lists.by[0]: expected one of 'id', 'time', received 'name'"],
    [{ total: 'no' }, "lists.total: expected one of true, false, received 'no'"],
  ]
  for (const [options, message] of table) {
    const refused = { code: 'FST_CONV_OPTION_INVALID', message }
    await t.rejects(async () => Fastify().register(lists, options as ListsOptions), refused)
    const app = Fastify()
    await app.register(lists)
    const config = { lists: options as ListsRouteOptions }
    const ofRoute = { ...refused, message: message.replace('lists.', 'GET /v1/users config.lists.') }
    t.throws(() => app.get('/v1/users', { config }, async () => ({})), ofRoute)
  }
  const unknown = { code: 'FST_CONV_OPTION_UNKNOWN' }
  await t.rejects(async () => Fastify().register(lists, { member: 'users' } as ListsOptions), unknown)
})

async function appWithList(options: ListsOptions, config: ListsRouteOptions = {}): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(problems)
  await app.register(lists, options)
  app.get('/v1/users', { config: { lists: config } }, async ({ page }, reply) => {
    reply.type('application/json').serializer((value: unknown) => JSON.stringify(value, bigIntsMarked))
    return page
  })
  return app
}

async function pageOf(app: FastifyInstance, query: string): Promise<object> {
  const { payload } = await app.inject(`/v1/users?${query}`)
  return JSON.parse(payload, (_key, value) =>
    typeof value === 'string' && value.endsWith('n!') ? BigInt(value.slice(0, -2)) : value,
  )
}

function bigIntsMarked(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n!` : value
}
