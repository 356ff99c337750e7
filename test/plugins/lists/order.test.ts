/** A list never loops and never hides a row without a word: what the handler gives has to lie beyond the cursor. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import {
  conventionsReport,
  type ListsOptions,
  type ListsRouteOptions,
  lists,
  type Page,
  problems,
  responseRules,
} from '../../../src/index.js'
import { nextLink } from '../../support/links.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'
import { rethrowUnwrapped } from '../../support/report-table.js'

const time = (second: number): string => `2026-01-01T00:00:0${second}Z`
const rows = [1, 2, 3, 4, 5].map((id) => ({ id, created_at: time(id) }))

t.test('a handler that ignores a cursor is a 500, with the reason in the log', async (t) => {
  const newest = ({ fetch, beforeId }: Page) =>
    rows
      .filter(({ id }) => beforeId === undefined || id < beforeId)
      .reverse()
      .slice(0, fetch)
  const { app, faults } = await appWith(newest)
  const walked: number[] = []
  for (let target: string | null = '/v1/rows?limit=2'; target !== null; ) {
    const response = await app.inject(target)
    walked.push(...response.json().rows.map(({ id }: { id: number }) => id))
    target = nextLink(response.headers.link)
  }
  t.strictSame(walked, [5, 4, 3, 2, 1], 'the cursor that it heeds')
  t.strictSame(faults(), [])
  for (const query of [
    'after_id=0',
    'after_id=3',
    `before_time=${time(3)}`,
    `before_time=${time(9)}&before_id=3`,
  ]) {
    const answer = injected(await app.inject(`/v1/rows?limit=2&${query}`))
    if (query.startsWith(`before_time=${time(9)}`)) t.equal(answer.status, 200, 'rows that lie before both')
    else isProblem(t, answer, { status: 500, code: 'internal-server-error' }, query)
  }
  t.match(faults(), [
    /row 2 does not lie beyond the row before it; .* oldest first by id$/,
    /row 1|row 2/,
    /row 1 does not lie beyond the cursor; .* newest first by time$/,
  ])
})

t.test('rows beyond the cursor, in order, are sent; other rows are a 500', async (t) => {
  const texts = ['b', 'c', 'a'].map((id) => ({ id }))
  const micro = (id: number, fraction: string) => ({ id, created_at: `2026-01-01T00:00:00.${fraction}Z` })
  const dates = [3, 9, 1].map((id) => ({ id, created_at: new Date('2026-01-01T00:00:00.123Z') }))
  const table: readonly (readonly [
    about: string,
    given: readonly object[],
    query: string,
    fault: RegExp | null,
    config?: ListsRouteOptions,
  ])[] = [
    ['newest first', rows.toReversed(), 'before_id=6', null],
    ['oldest first', rows, 'after_id=0', null],
    ['nothing', [], 'after_id=0', null],
    ['the cursor itself', rows.toReversed(), 'before_id=5', /row 1 does not lie beyond the cursor/],
    ['the wrong way round', rows, 'before_id=9', /row 2 does not lie beyond the row before it/],
    ['twice the same', [rows[1] ?? {}, rows[1] ?? {}], 'after_id=0', /row 2/],
    ['one page, no cursor', rows, 'limit=5', null],
    [
      'a page with a next one, the wrong way round',
      rows,
      'limit=3',
      /row 2 does not lie beyond the row before it; .*newest first by id/,
    ],
    ['ids as text that drivers give', ['10', '9', '8'].map((id) => ({ id })), 'before_id=11', null],
    ['such ids, sorted as text', ['9', '8', '10'].map((id) => ({ id })), 'before_id=11', /row 3/],
    [
      'beyond 2^53',
      [{ id: '9007199254740993' }, { id: '9007199254740992' }],
      'before_id=9007199254740994',
      null,
    ],
    ['no id', [{}], 'before_id=5', /row 1 has no valid id/],
    ['an id that is not an integer', [{ id: 'x' }], 'before_id=5', /row 1 has no valid id/],
    ['before a time', rows.toReversed(), `before_time=${time(6)}`, null],
    ['at that time', rows.toReversed(), `before_time=${time(5)}`, /row 1 does not lie beyond the cursor/],
    [
      'at that time, before the id',
      [{ id: 4, created_at: time(5) }],
      `before_time=${time(5)}&before_id=5`,
      null,
    ],
    [
      'by digits of a second',
      [micro(1, '5'), micro(2, '123456'), micro(1, '123456')],
      `before_time=${time(6)}`,
      null,
    ],
    ['digits the wrong way round', [micro(9, '12'), micro(8, '123')], `before_time=${time(6)}`, /row 2/],
    [
      'another offset',
      [{ id: 1, created_at: '2026-01-01T01:00:00+01:00' }],
      `before_time=${time(0)}&before_id=2`,
      null,
    ],
    ['dates end at milliseconds: ties cannot be told', dates, `before_time=${time(6)}`, null],
    ['a date at the time of the cursor', [dates[0] ?? {}], 'before_time=2026-01-01T00:00:00.123Z', /row 1 /],
    [
      'a date after one that was not cut at milliseconds',
      [{ id: 3, created_at: '2026-01-01T00:00:00.123Z' }, dates[1] ?? {}],
      `before_time=${time(6)}`,
      /row 2/,
    ],
    [
      'a date at the time of the cursor, beyond its id',
      [dates[1] ?? {}],
      'before_time=2026-01-01T00:00:00.123Z&before_id=5',
      /row 1 does not lie beyond the cursor/,
    ],
    ...['x2026-01-01T00:00:00Z', '2026-01-01T00:00:00Zx', 'today', 5].map(
      (created_at) =>
        [
          `the time ${created_at}`,
          [{ id: 1, created_at }],
          `before_time=${time(6)}`,
          /row 1 has no valid created_at/,
        ] as const,
    ),
    [
      'text ids, at the time of the cursor',
      [{ id: 'a', created_at: time(5) }],
      `before_time=${time(5)}`,
      /row 1 does not lie beyond the cursor/,
      { idFormat: 'text' },
    ],
    ['text ids', texts, 'after_id=x', null, { idFormat: 'text' }],
    [
      'text ids, the cursor in the last row',
      texts,
      'after_id=a',
      /row 3 does not lie beyond the cursor/,
      { idFormat: 'text' },
    ],
    [
      'text ids, one of them twice',
      [...texts, { id: 'b' }],
      'after_id=x',
      /row 4 has the id of a row before it/,
      { idFormat: 'text' },
    ],
    ['text ids, no id', [{ id: {} }], 'after_id=b', /row 1 has no valid id/, { idFormat: 'text' }],
    ['negative ids as text', ['2', '-3', '-12'].map((id) => ({ id })), 'before_id=11', null],
    ['an id in another notation', [{ id: '1e0' }], 'before_id=5', /row 1 has no valid id/],
    ['a text that ends like an id', [{ id: 'a1' }], 'before_id=5', /row 1 has no valid id/],
    [
      'dates do not count in pages by id',
      dates,
      'before_id=11',
      /row 2 does not lie beyond the row before it/,
    ],
    ['no time', [{ id: 1 }], `before_time=${time(6)}`, /row 1 has no valid created_at/],
    [
      'no date',
      [{ id: 1, created_at: new Date(Number.NaN) }],
      `before_time=${time(6)}`,
      /row 1 has no valid created_at/,
    ],
    ['text ids, in the order of the store', texts, 'after_id=z', null, { idFormat: 'text' }],
    [
      'text ids, the cursor itself',
      texts,
      'after_id=b',
      /row 1 does not lie beyond the cursor/,
      { idFormat: 'text' },
    ],
    ['by time from the start', rows.toReversed(), 'limit=2', null, { by: ['time'] }],
    [
      'by time from the start, by id instead',
      rows.map(({ id }) => ({ id: 9 - id, created_at: time(id) })),
      'limit=2',
      /newest first by time/,
      { by: ['time'] },
    ],
  ]
  for (const [about, given, query, fault, config] of table) {
    const { app, faults } = await appWith(() => given, config)
    const { statusCode } = await app.inject(`/v1/rows?${query}`)
    t.equal(statusCode, fault === null ? 200 : 500, about)
    t.match(faults(), fault === null ? [] : [fault], about)
  }
})

t.test('report counts such pages and sends them; off does not check', async (t) => {
  for (const [mode, count] of [
    ['report', 1],
    ['off', 0],
  ] as const) {
    const { app } = await appWith(() => rows, { mode })
    t.equal((await app.inject('/v1/rows?before_id=3')).statusCode, 200, mode)
    const { observations } = app.conventions.report()
    t.equal(observations.length, count)
    if (count === 1)
      t.match(observations[0], { plugin: 'lists', rule: 'order', route: 'GET /v1/rows', status: 500 })
  }
})

t.test('a cursor that the list does not support is a 400 with its name', async (t) => {
  const { app } = await appWith(() => [], { by: ['id'], total: false })
  for (const query of [`before_time=${time(1)}`, 'include_total=true']) {
    const answer = injected(await app.inject(`/v1/rows?${query}`))
    const errors = [{ in: 'query', name: query.split('=')[0], message: 'is not served by this list' }]
    isProblem(t, answer, { status: 400, code: 'validation', errors }, query)
  }
})

t.test('a handler that fetches page.limit rows sends no Link: one warning for each list', async (t) => {
  const table: readonly (readonly [
    about: string,
    rowsOf: (page: Page) => readonly object[],
    told: boolean,
  ])[] = [
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
  const boot = async (config: ListsRouteOptions, mode?: 'report' | 'off'): Promise<FastifyInstance> => {
    const app = Fastify()
    await app.register(lists, mode === undefined ? {} : { mode })
    app.get('/v1/people', { schema, config: { lists: config } }, (_, reply) => reply.list([]))
    return app.ready() as unknown as Promise<FastifyInstance>
  }
  await t.rejects(boot({}).catch(rethrowUnwrapped), {
    code: 'FST_CONV_FINDINGS',
    message: /GET \/v1\/people +lists\.schema +.*no 'people'/,
  })
  await t.rejects(boot({ member: 'users' }).catch(rethrowUnwrapped), {
    code: 'FST_CONV_FINDINGS',
    message: /1 breach of .*no 'total'/s,
  })
  await t.resolves(boot({ member: 'users', total: false }))
  await t.resolves(boot({}, 'off'))
  const reported = Fastify()
  await reported.register(lists, { mode: 'report' })
  reported.get('/v1/people', { schema, config: { lists: {} } }, (_, reply) => reply.list([]))
  await reported.ready()
  t.match(reported.conventions.report().findings, [
    { plugin: 'lists', rule: 'schema', problem: /'people'/, mode: 'report' },
    { plugin: 'lists', rule: 'schema', problem: /'total'/, mode: 'report' },
  ])
  t.equal(reported.conventions.report().findings.length, 2)
})

t.test('a hidden key that the Link would show is a finding at boot', async (t) => {
  const when = () => true
  const boot = async (hidden: object, own: ListsRouteOptions = {}, options: ListsOptions = {}) => {
    const app = Fastify()
    await app.register(lists, options)
    app.get('/v1/rows', { config: { lists: own, fields: { hidden } as never } }, (_, reply) => reply.list([]))
    await app.ready()
    return app.conventions.report().findings
  }
  const rows: readonly (readonly [hidden: object, own: ListsRouteOptions, found: RegExp | null])[] = [
    [{ id: true }, {}, /id is hidden/],
    [{ id: when }, { by: ['time'] }, /id is hidden/],
    [{ created_at: true }, {}, /created_at is hidden/],
    [{ seen_at: when }, { time: 'seen_at' }, /seen_at is hidden/],
    [{ created_at: true }, { by: ['id'] }, null],
    [{ id: true, created_at: true }, { id: 'number', time: 'seen_at' }, null],
    [{ name: true }, {}, null],
  ]
  for (const [hidden, own, found] of rows) {
    if (found === null) t.strictSame(await boot(hidden, own), [])
    else await t.rejects(boot(hidden, own), { code: 'FST_CONV_FINDINGS', message: found })
  }
  t.match(await boot({ id: true }, {}, { mode: 'report' }), [
    { plugin: 'lists', rule: 'hidden', mode: 'report' },
  ])
})

t.test('in camelCase the time of a list is createdAt', async (t) => {
  const app = Fastify()
  await app.register(responseRules, { keyStyle: 'camelCase' })
  await app.register(lists)
  const items = [3, 2].map((id) => ({ id, createdAt: `2026-11-2${id}T08:00:00Z` }))
  app.get('/v1/rows', { config: { lists: {} } }, (_, reply) => reply.list(items))
  const { headers } = await app.inject('/v1/rows?limit=1&before_time=2026-11-25T08:00:00Z')
  t.match(headers.link, /before_time=2026-11-23T08/)
})

async function appWith(rowsOf: (page: Page) => readonly object[], config: ListsRouteOptions = {}) {
  const logs = keepLogs('warn')
  const app = Fastify({ logger: logs.logger })
  await app.register(problems)
  await app.register(lists)
  app.get('/v1/rows', { config: { lists: config } }, async ({ page }, reply) =>
    reply.list(rowsOf(page as Page)),
  )
  const at = (level: number) => () => logs.lines.filter((line) => line.level === level).map((line) => line)
  return {
    app,
    warnings: () => at(levels.warn)().map(({ msg }) => String(msg)),
    faults: () => at(levels.error)().map(({ err }) => String((err as Error).message)),
  }
}

t.test('a 200 of a list without reply.list() is counted', async (t) => {
  for (const mode of ['enforce', 'report', 'off'] as const) {
    const app = Fastify()
    await app.register(lists, { mode })
    app.get('/v1/rows', { config: { lists: {} } }, async () => ({ rows }))
    app.get('/v1/pages', { config: { lists: {} } }, async (_request, reply) => reply.list([]))
    app.get('/v1/gone', { config: { lists: {} } }, async (_request, reply) => reply.code(404).send({}))
    for (const path of ['rows', 'rows', 'pages', 'gone']) await app.inject(`/v1/${path}`)
    const counted = { plugin: 'lists', rule: 'answer', route: 'GET /v1/rows', effect: 'none', count: 2 }
    const observations = conventionsReport(app)?.observations ?? []
    t.match(observations, mode === 'off' ? [] : [counted], mode)
    t.equal(observations.length, mode === 'off' ? 0 : 1, mode)
  }
})
