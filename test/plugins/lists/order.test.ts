/** A list never loops and never hides a row without a word: what the handler gives has to lie beyond the cursor. */
import Fastify, { type RouteOptions } from 'fastify'
import t from 'tap'
import { type ListsOptions, type ListsRouteOptions, lists, type Page, problems } from '../../../src/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'
import { rethrowUnwrapped } from '../../support/report-table.js'

const time = (second: number): string => `2026-01-01T00:00:0${second}Z`
const rows = [1, 2, 3, 4, 5].map((id) => ({ id, created_at: time(id) }))

t.test('a handler that ignores a cursor is a 500, with the reason in the log', async (t) => {
  const { app, faults } = await appWith(({ fetch }) => rows.toReversed().slice(0, fetch))
  for (const query of ['after_id=0', `before_time=${time(3)}`]) {
    const answer = injected(await app.inject(`/v1/rows?limit=2&${query}`))
    isProblem(t, answer, { status: 500, code: 'internal-server-error' }, query)
  }
  t.match(faults(), [
    /row 2 does not lie beyond the row before it; .* oldest first by id$/,
    /row 1 does not lie beyond the cursor; .* newest first by time$/,
  ])
})

t.test('rows beyond the cursor, in order, are sent; other rows are a 500', async (t) => {
  const texts = ['b', 'c', 'a'].map((id) => ({ id }))
  const micro = (id: number, fraction: string) => ({ id, created_at: `2026-01-01T00:00:00.${fraction}Z` })
  const dates = [3, 9, 1].map((id) => ({ id, created_at: new Date('2026-01-01T00:00:00.123Z') }))
  const newest = rows.toReversed()
  const ofIds = (...ids: unknown[]) => ids.map((id) => ({ id }))
  const [at, at5] = [`before_time=${time(6)}`, `before_time=${time(5)}`]
  const atMillisecond = 'before_time=2026-01-01T00:00:00.123Z'
  const uncut = { id: 3, created_at: '2026-01-01T00:00:00.123Z' }
  const elsewhere = { id: 1, created_at: '2026-01-01T01:00:00+01:00' }
  const cursor = /row 1 does not lie beyond the cursor/
  const second = /row 2 does not lie beyond the row before it/
  const secondOfPage = /row 2 does not lie beyond the row before it; .*newest first by id/
  const [noId, noTime] = [/row 1 has no valid id/, /row 1 has no valid created_at/]
  const text = { idFormat: 'text' } as const
  const byTime = { by: ['time'] } as const
  const swapped = rows.map(({ id }) => ({ id: 9 - id, created_at: time(id) }))
  type Row = readonly [string, given: readonly object[], query: string, RegExp | null, ListsRouteOptions?]
  const table: readonly Row[] = [
    ['newest first', newest, 'before_id=6', null],
    ['oldest first', rows, 'after_id=0', null],
    ['before a time and an id', newest, `before_time=${time(9)}&before_id=6`, null],
    ['the cursor itself', newest, 'before_id=5', cursor],
    ['the wrong way round', rows, 'before_id=9', second],
    ['twice the same', [rows[1] ?? {}, rows[1] ?? {}], 'after_id=0', /row 2/],
    ['one page, no cursor, the wrong way round', rows, 'limit=5', secondOfPage],
    ['one page, no cursor, no id', [{}], 'limit=5', noId],
    ['with a next page, the wrong way round', rows, 'limit=3', secondOfPage],
    ['ids as text that drivers give', ofIds('10', '9', '8'), 'before_id=11', null],
    ['such ids, sorted as text', ofIds('9', '8', '10'), 'before_id=11', /row 3/],
    ['beyond 2^53', ofIds('9007199254740993', '9007199254740992'), 'before_id=9007199254740994', null],
    ['no id', [{}], 'before_id=5', noId],
    ['negative ids as text', ofIds('2', '-3', '-12'), 'before_id=11', null],
    ['an id in another notation', ofIds('1e0'), 'before_id=5', noId],
    ['at that time', newest, at5, cursor],
    ['at that time, before the id', [{ id: 4, created_at: time(5) }], `${at5}&before_id=5`, null],
    ['by digits of a second', [micro(1, '5'), micro(2, '123456'), micro(1, '123456')], at, null],
    ['digits the wrong way round', [micro(9, '12'), micro(8, '123')], at, /row 2/],
    ['another offset', [elsewhere], `before_time=${time(0)}&before_id=2`, null],
    ['dates end at milliseconds: ties cannot be told', dates, at, null],
    ['a date at the time of the cursor', dates.slice(0, 1), atMillisecond, /row 1 /],
    ['a date after one that was not cut at milliseconds', [uncut, dates[1] ?? {}], at, /row 2/],
    ['a date at that time, beyond the id', dates.slice(1, 2), `${atMillisecond}&before_id=5`, cursor],
    ['dates do not count in pages by id', dates, 'before_id=11', second],
    ['no time', [{ id: 1 }], at, noTime],
    ['no date', [{ id: 1, created_at: new Date(Number.NaN) }], at, noTime],
    ['text before a time', [{ id: 1, created_at: 'x2026-01-01T00:00:00Z' }], at, noTime],
    ['text after a time', [{ id: 1, created_at: '2026-01-01T00:00:00Zx' }], at, noTime],
    ['text ids, at the time of the cursor', [{ id: 'a', created_at: time(5) }], at5, cursor, text],
    ['text ids, in the order of the store', texts, 'after_id=z', null, text],
    ['text ids, the cursor itself', texts, 'after_id=b', cursor, text],
    ['text ids, one of them twice', ofIds('b', 'b'), 'after_id=x', second, text],
    ['text ids, no id', [{ id: {} }], 'after_id=b', noId, text],
    ['by time from the start', newest, 'limit=2', null, byTime],
    ['by time from the start, by id instead', swapped, 'limit=2', /newest first by time/, byTime],
  ]
  for (const [about, given, query, fault, config] of table) {
    const { app, faults } = await appWith(() => given, config)
    const { statusCode } = await app.inject(`/v1/rows?${query}`)
    t.equal(statusCode, fault === null ? 200 : 500, about)
    t.match(faults(), fault === null ? [] : [fault], about)
  }
})

t.test('report counts such pages and sends them; off does not check', async (t) => {
  for (const [mode, counted] of [['report', ['order GET /v1/rows 500']] as const, ['off', []] as const]) {
    const { app } = await appWith(() => rows, { mode })
    t.equal((await app.inject('/v1/rows?before_id=3')).statusCode, 200, mode)
    const { observations } = app.conventions.report()
    const found = observations.map(({ rule, route, status }) => `${rule} ${route} ${status}`)
    t.strictSame(found, counted, mode)
  }
})

t.test('a handler that fetches page.limit rows sends no Link: one warning for each list', async (t) => {
  const table: readonly (readonly [about: string, (page: Page) => readonly object[], told: boolean])[] = [
    ['limit instead of fetch', ({ limit }) => rows.toReversed().slice(0, limit), true],
    ['fetch', ({ fetch }) => rows.toReversed().slice(0, fetch).slice(0, 2), false],
    ['limit + 1', ({ limit }) => rows.toReversed().slice(0, limit + 1), false],
    ['fewer', () => rows.toReversed().slice(0, 1), false],
  ]
  for (const [about, rowsOf, told] of table) {
    const { app, warnings } = await appWith(rowsOf)
    for (let times = 0; times < 2; times++) await app.inject('/v1/rows?limit=2')
    t.match(warnings(), told ? [/^lists: GET \/v1\/rows: .*page\.fetch/] : [], about)
    t.equal(warnings().length, told ? 1 : 0, about)
  }
})

t.test('a response schema without the items or the total is one finding per route at boot', async (t) => {
  const items = { type: 'array', items: { type: 'object', properties: { id: { type: 'integer' } } } }
  const schema = { response: { 200: { type: 'object', properties: { users: items } } } }
  const people = { url: '/v1/people', schema }
  const noMember = { code: 'FST_CONV_FINDINGS', message: /GET \/v1\/people +lists\.schema +.*no 'people'/ }
  await t.rejects(boot({}, people).catch(rethrowUnwrapped), noMember)
  const noTotal = { code: 'FST_CONV_FINDINGS', message: /1 breach of .*no 'total'/s }
  await t.rejects(boot({ member: 'users' }, people).catch(rethrowUnwrapped), noTotal)
  await t.resolves(boot({ member: 'users', total: false }, people))
  await t.resolves(boot({}, people, { mode: 'off' }))
  const own = { ...people, serializerCompiler: () => JSON.stringify }
  await t.resolves(boot({}, own), 'a serializer of the app may send more')
  await t.resolves(boot({}, { serializerCompiler: own.serializerCompiler }))
  const reported = await boot({}, people, { mode: 'report' })
  t.match(reported.conventions.report().findings, [
    { rule: 'schema', problem: /'people'/, instead: /lists\.member/, mode: 'report' },
    { rule: 'schema', problem: /'total'/, instead: /lists\.total: false/, mode: 'report' },
  ])
  t.equal(reported.conventions.report().findings.length, 2)
})

t.test('a hidden key that the Link would show is a finding at boot', async (t) => {
  const when = () => true
  const hiding = (hidden: object) => ({ config: { fields: { hidden } as never } })
  const rows: readonly (readonly [hidden: object, own: ListsRouteOptions, found: RegExp | null])[] = [
    [{ id: true }, {}, /id is hidden/],
    [{ id: when }, { by: ['time'] }, /id is hidden/],
    [{ created_at: true }, {}, /created_at is hidden/],
    [{ seen_at: when }, { time: 'seen_at' }, /seen_at is hidden/],
    [{ created_at: true }, { by: ['id'] }, null],
    [{ id: true, created_at: true }, { id: 'number', time: 'seen_at' }, null],
    [{ name: true }, {}, null],
  ]
  for (const [hidden, own, message] of rows) {
    if (message === null) await t.resolves(boot(own, hiding(hidden)))
    else await t.rejects(boot(own, hiding(hidden)), { code: 'FST_CONV_FINDINGS', message })
  }
  const app = await boot({}, hiding({ id: true, created_at: true }), { mode: 'report' })
  t.match(app.conventions.report().findings, [
    { rule: 'hidden', instead: 'config.lists.id of a field that is not hidden', mode: 'report' },
    { rule: 'hidden', instead: "config.lists.by: ['id']", mode: 'report' },
  ])
})

t.test('config.lists on a route that does not answer GET is a finding at boot', async (t) => {
  for (const method of [['DELETE'], ['POST', 'PUT']]) {
    const message = new RegExp(`lists\\.method .*config\\.lists on ${method.join(', ')}: `)
    await t.rejects(boot({}, { method }).catch(rethrowUnwrapped), { code: 'FST_CONV_FINDINGS', message })
  }
  for (const method of [['HEAD'], ['GET', 'POST']]) await t.resolves(boot({}, { method }))
  const app = await boot({}, { method: ['POST'] }, { mode: 'report' })
  t.match(app.conventions.report().findings, [{ rule: 'method', mode: 'report' }])
  t.equal((await app.inject({ method: 'POST', url: '/v1/rows' })).statusCode, 200, 'served as before')
})

async function appWith(rowsOf: (page: Page) => readonly object[], config: ListsRouteOptions = {}) {
  const logs = keepLogs('warn')
  const app = await withPlugins(Fastify({ logger: logs.logger }), problems, lists)
  app.get('/v1/rows', { config: { lists: config } }, async ({ page }, reply) =>
    reply.list(rowsOf(page as Page)),
  )
  const at = (level: number) => () => logs.lines.filter((line) => line.level === level)
  return {
    app,
    warnings: () => at(levels.warn)().map(({ msg }) => String(msg)),
    faults: () => at(levels.error)().map(({ err }) => String((err as Error).message)),
  }
}

/** An app with a list that answers nothing, after its boot. */
async function boot(own: ListsRouteOptions, route: Partial<RouteOptions> = {}, options: ListsOptions = {}) {
  const app = await appOf([lists, options])
  const config = { ...route.config, lists: own }
  app.route({ method: 'GET', url: '/v1/rows', handler: (_, reply) => reply.list([]), ...route, config })
  await app.ready()
  return app
}

t.test('a 200 of a list without reply.list() is counted', async (t) => {
  for (const [mode, counted] of [
    ['enforce', ['answer GET /v1/rows none 2']] as const,
    ['off', []] as const,
  ]) {
    const app = await appOf([lists, { mode }])
    app.get('/v1/rows', { config: { lists: {} } }, async () => ({ rows }))
    app.get('/v1/pages', { config: { lists: {} } }, async (_request, reply) => reply.list([]))
    app.get('/v1/gone', { config: { lists: {} } }, async (_request, reply) => reply.code(404).send({}))
    for (const path of ['rows', 'rows', 'pages', 'gone']) await app.inject(`/v1/${path}`)
    const { observations } = app.conventions.report()
    const found = observations.map(({ rule, route, effect, count }) => `${rule} ${route} ${effect} ${count}`)
    t.strictSame(found, counted, mode)
  }
})
