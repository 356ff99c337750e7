import Fastify from 'fastify'
import t from 'tap'
import { fields, type ListsOptions, type ListsRouteOptions, lists, problems } from '../../../src/index.js'
import { appOf } from '../../support/app.js'
import { injected, isProblem } from '../../support/problem.js'

const max = 9_223_372_036_854_775_807n

t.test('request.page has the values of the query, and invalid ones are one 400 that names all', async (t) => {
  const { app, pageOf } = await appWithList({})
  const usual = { limit: 50, fetch: 51, by: 'id', includeTotal: false }
  const beforeTime = '2026-01-01T00:00:00Z'
  const table: ReadonlyArray<readonly [query: string, page: object]> = [
    [`before_id=${max}`, { ...usual, beforeId: max }],
    [`after_id=${max}&limit=3`, { ...usual, limit: 3, fetch: 4, afterId: max }],
    ['before_time=2026-01-01T09:00:00%2B09:00', { ...usual, by: 'time', beforeTime }],
    ['before_time=2026-01-01T09:00:00+09:00', { ...usual, by: 'time', beforeTime }],
  ]
  // At the same time: each request has its own page.
  const pages = await Promise.all(table.map(([query]) => pageOf(query)))
  for (const [index, [query, page]] of table.entries()) t.strictSame(pages[index], page, query)
  const both = 'must not be given together with before_id or before_time'
  const errors = [
    { in: 'query', name: 'limit', message: 'must be a positive integer, once' },
    { in: 'query', name: 'before_id', message: 'must be an id, once' },
    { in: 'query', name: 'after_id', message: both },
  ]
  const answer = injected(await app.inject('/v1/users?limit=5&limit=6&before_id=x&after_id=5'))
  isProblem(t, answer, { status: 400, code: 'validation', errors })
})

t.test('limits are options of the plugin and of the route; maxLimit lowers the default', async (t) => {
  const unset = { maxLimit: 5, defaultLimit: undefined } as object
  const table: readonly (readonly [ListsOptions, ListsRouteOptions, query: string, limit: number])[] = [
    [{ defaultLimit: 10, maxLimit: 20 }, {}, '', 10],
    [{ defaultLimit: 10, maxLimit: 20 }, {}, 'limit=50', 20],
    [{ defaultLimit: 10 }, { defaultLimit: 3, maxLimit: 5 }, 'limit=50', 5],
    [{}, { maxLimit: 5 }, '', 5],
    [{}, { defaultLimit: 5, maxLimit: 5 }, '', 5],
    // The plugin set it, but not for this route.
    [{ defaultLimit: 30 }, unset, '', 5],
  ]
  for (const [options, config, query, limit] of table) {
    const { pageOf } = await appWithList(options, config)
    t.match(await pageOf(query), { limit }, JSON.stringify([options, config, query]))
  }
})

t.test('the member with the items is the last literal of the path, or the option member', async (t) => {
  for (const [path, config, member] of [
    ['/v1/users/:id/friends', {}, 'friends'],
    ['/v1/order-items', {}, 'order_items'],
    ['/v1/users/:id', {}, 'users'],
    ['/v1/people', { member: 'users' }, 'users'],
  ] as const) {
    const app = await appOf(lists)
    app.get(path, { config: { lists: config } }, async (_request, reply) => reply.list([]))
    t.strictSame((await app.inject(path.replace(':id', '7'))).json(), { [member]: [] }, path)
  }
})

t.test('request.page and reply.list() on a route that is not a list throw FST_CONV_NOT_A_LIST', async (t) => {
  const seen: unknown[] = []
  const app = await appOf(lists)
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
    [{ id: '' }, "lists.id: expected a non-empty string, received ''"],
    [{ by: [] }, "lists.by: expected 'id', 'time' or both, received []"],
    [{ by: ['name'] }, "lists.by[0]: expected one of 'id', 'time', received 'name'"],
  ]
  for (const [options, message] of table) {
    const refused = { code: 'FST_CONV_OPTION_INVALID', message }
    await t.rejects(async () => Fastify().register(lists, options as ListsOptions), refused)
    const app = await appOf(lists)
    const config = { lists: options as ListsRouteOptions }
    const ofRoute = { ...refused, message: message.replace('lists.', 'GET /v1/users config.lists.') }
    t.throws(() => app.get('/v1/users', { config }, async () => ({})), ofRoute)
  }
  const unknown = { code: 'FST_CONV_OPTION_UNKNOWN' }
  await t.rejects(async () => Fastify().register(lists, { member: 'users' } as ListsOptions), unknown)
})

t.test('`lists: true` is `lists: {}`, for fields too, whichever plugin is first', async (t) => {
  for (const plugins of [
    [lists, fields],
    [fields, lists],
  ]) {
    const app = Fastify()
    for (const plugin of plugins) await app.register(plugin)
    const users = [{ id: 2, name: 'Ada' }]
    const read: unknown[] = []
    app.get('/v1/users', { config: { lists: true } }, async ({ fields }, reply) => {
      read.push(fields?.names ?? null)
      return reply.list(users)
    })
    t.equal((await app.inject('/v1/users?limit=1')).body, '{"users":[{"id":2,"name":"Ada"}]}')
    t.equal((await app.inject('/v1/users?fields=name')).body, '{"users":[{"name":"Ada"}]}')
    t.equal((await app.inject('/v1/users?limit=0')).statusCode, 400)
    await app.inject('/v1/users?fields=name&before_time=2026-01-01T00:00:00Z')
    t.strictSame(read, [null, ['name', 'id'], ['name', 'id', 'created_at']], 'with the keys of the page')
  }
})

/** An app whose list answers nothing, and the pages that its requests had, by their query. */
async function appWithList(options: ListsOptions, config: ListsRouteOptions = {}) {
  const app = Fastify()
  const pages: Record<string, unknown> = {}
  await app.register(problems)
  await app.register(lists, options)
  app.get('/v1/users', { config: { lists: config } }, async ({ page, url }, reply) => {
    pages[url.split('?')[1] ?? ''] = page
    return reply.list([])
  })
  const pageOf = async (query: string): Promise<unknown> => {
    await app.inject(`/v1/users?${query}`)
    return pages[query]
  }
  return { app, pageOf }
}
