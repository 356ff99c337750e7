import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t from 'tap'
import { type ListsOptions, lists, type Page, problems } from '../../../src/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { nextLink } from '../../support/links.js'
import { keepLogs, levels } from '../../support/logs.js'
import { ask, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

interface Row {
  readonly id: bigint
  readonly created_at: string
}

/** Ids beyond 2^53, and times that several rows share. */
const base = 9_007_199_254_740_993n
const rows: readonly Row[] = Array.from({ length: 23 }, (_, index) => ({
  id: base + BigInt(index * 2),
  created_at: `2026-01-0${1 + Math.floor(index / 9)}T00:00:00.${String(Math.floor(index / 4)).padStart(6, '0')}Z`,
}))

const second = 'before_time=2026-01-01T00:00:00.000001Z'
const starts: ReadonlyArray<readonly [about: string, query: string, expected: readonly Row[]]> = [
  ['newest first', 'limit=5', rows.toReversed()],
  ['before an id', `limit=5&before_id=${base + 20n}`, rows.slice(0, 10).toReversed()],
  ['before an id that is none', `limit=5&before_id=${base + 21n}`, rows.slice(0, 11).toReversed()],
  ['before a time', `limit=5&before_time=2026-01-03T00:00:00Z`, rows.slice(0, 18).toReversed()],
  ['before a time and an id', `limit=2&${second}&before_id=${base + 12n}`, rows.slice(0, 6).toReversed()],
  ['after an id, oldest first', `limit=5&after_id=${base + 20n}`, rows.slice(11)],
  ['after nothing', 'limit=4&after_id=0', rows],
  ['one by one', 'limit=1', rows.toReversed()],
]

t.test('the links return every row once, also with equal times; the last page has none', async (t) => {
  const app = await appWithRows(() => rows)
  for (const [about, query, expected] of starts)
    t.strictSame(await walk(app, `/v1/users?${query}`), expected.map(idOf), about)
  for (const query of ['', 'limit=23', 'limit=24', `before_id=${base}`])
    t.notOk('link' in (await app.inject(`/v1/users?${query}`)).headers, query)
  const answers = await Promise.all(
    (['GET', 'HEAD'] as const).map((method) => app.inject({ method, url: '/v1/users?limit=22' })),
  )
  const [ofGet, ofHead] = answers.map(({ headers }) => headers.link)
  t.match(ofGet, /rel="next"/)
  t.equal(ofHead, ofGet, 'HEAD has the Link of its GET')
})

t.test('rows that are added or removed between pages do not hide or repeat others', async (t) => {
  for (const query of ['limit=3', 'limit=3&before_time=2027-01-01T00:00:00Z', 'limit=3&after_id=0']) {
    let present = [...rows]
    const app = await appWithRows(() => present)
    const seen: string[] = []
    for (let target: string | null = `/v1/users?${query}`; target !== null; ) {
      const response = await app.inject(target)
      const ids: string[] = response.json().users
      seen.push(...ids)
      target = nextLink(response.headers.link)
      // What has been seen goes, the last row included, and a row comes where the walk has been.
      present = present.filter(({ id }) => !ids.includes(String(id)))
      const forward = query.includes('after_id')
      const id = BigInt(ids.at(-1) ?? 0) + (forward ? -1n : 1n)
      present.push({ id, created_at: forward ? '2025-01-01T00:00:00Z' : '2026-12-31T00:00:00Z' })
    }

    t.strictSame(seen.toSorted(), rows.map(idOf).toSorted(), query)
  }
})

t.test('Link has the other parameters, repeated ones too (RFC 8288)', async (t) => {
  const app = await appWithRows(() => rows)
  const query = 'tag=a&limit=3&tag=b%26c&before_id=9223372036854775807&q=%C3%A4+x&flag&include_total=true'
  const { headers } = await app.inject(`/v1/users?${query}`)

  const link = nextLink(headers.link) ?? ''
  const [path, next = ''] = link.split('?')
  t.equal(path, '/v1/users')
  const parameters = [...new URLSearchParams(next)].map((pair) => pair.join('='))
  const before = `before_id=${rows.at(-3)?.id}`
  t.strictSame(parameters, ['tag=a', 'limit=3', 'tag=b&c', 'q=ä x', 'flag=', 'include_total=true', before])
  t.equal(headers.link, `<${link}>; rel="next"`)
})

const two = [{ id: 2 }, { id: 1 }]

t.test('Link has the path that the client has sent, also below a prefix or with rewriteUrl', async (t) => {
  const rewriteUrl = ({ url = '' }) => url.replace('/api/', '/').replace('tag=', 'label=')
  const app = await appWithList(() => two, {}, { rewriteUrl })
  const inChild = async (child: FastifyInstance) => {
    child.get('/orders', { config: { lists: {} } }, async (_request, reply) => reply.list(two))
  }
  app.register(inChild, { prefix: '/v1/users/:id' })
  for (const path of ['/v1/users/7/orders', '/api/v1/users']) {
    const { headers } = await app.inject(`${path}?limit=1&tag=a`)
    t.equal(nextLink(headers.link), `${path}?limit=1&tag=a&before_id=2`)
  }
})

t.test('Link never refers to another host (RFC 3986 §4.2)', async (t) => {
  const app = await appWithList(() => two, {}, { routerOptions: { ignoreDuplicateSlashes: true } })
  const { port, origin } = await serve(t, app)
  for (const target of ['//v1/users', '///v1/users', '/v1//users', `${origin}//v1/users`]) {
    const answer = await ask(port, requestBytes('GET', `${target}?limit=1`))
    t.equal(answer.status, 200, target)
    const link = nextLink(answer.headers.link) ?? ''
    t.equal(new URL(link, origin).origin, origin, `${target}: ${link}`)
  }
})

t.test('a Link of the handler is kept', async (t) => {
  const app = await appWithList(() => two)
  app.addHook('preHandler', async (_request, reply) => void reply.header('link', '</docs>; rel="help"'))
  const { headers } = await app.inject('/v1/users?limit=1')
  t.equal(headers.link, '</docs>; rel="help", </v1/users?limit=1&before_id=2>; rel="next"')
})

t.test('id and time are read from the fields in the options, in the types of all drivers', async (t) => {
  const made = new Date('2026-01-01T00:00:00.5Z')
  for (const key of [7, 7n, '9007199254740993']) {
    const app = await appWithList(() => [{ key, made }, { key: 1 }], { id: 'key', time: 'made' })
    app.addHook('preSerialization', async () => ({}))
    const { headers } = await app.inject('/v1/users?limit=1&before_time=2027-01-01T00:00:00Z')
    const next = new URLSearchParams(nextLink(headers.link)?.split('?')[1])
    t.equal(next.get('before_id'), String(key))
    t.equal(next.get('before_time'), '2026-01-01T00:00:00.500Z')
  }
})

t.test('a last row that cannot be the next cursor is a 500, with the reason in the log', async (t) => {
  const id = 'x'.repeat(201)
  const cursor = 'lists: the last row cannot be the cursor of the next page: its '
  const noText = `${cursor}id is not a text of 1 to 200 characters, without control characters`
  const noInt64 = `${cursor}id is not an int64 of at least 0`
  const noTime = `${cursor}created_at is not an RFC 3339 date-time`
  const byTime = '&before_time=2027-01-01T00:00:00Z'
  const cases: ReadonlyArray<readonly [options: ListsOptions, row: object, query: string, fault: string]> = [
    [{ idFormat: 'text' }, { id }, '', noText],
    [{ idFormat: 'text' }, { id: 'a\nb' }, '', noText],
    [{}, { id: -1 }, '', noInt64],
    [{}, { id: 2n ** 63n }, '&after_id=0', noInt64],
    [{}, { id: 7, created_at: '2026-01-01 00:00:00+00' }, byTime, noTime],
    [{}, { name: 'a' }, '', 'lists: the last row has no id for the link to the next page'],
  ]
  for (const [options, row, query, fault] of cases) {
    const app = await appWithList(() => [row, row], options)
    const errors: unknown[] = []
    app.addHook('onError', async (_request, _reply, error) => void errors.push(error.message))
    t.equal((await app.inject(`/v1/users?limit=1${query}`)).statusCode, 500, fault)
    t.strictSame(errors, [fault])
  }
})

t.test('a time that is a Date: one warning for each list, because it has no microseconds', async (t) => {
  const logs = keepLogs('warn')
  const app = await withPlugins(Fastify({ logger: logs.logger }), lists)
  const made = new Date('2026-01-01T00:00:00.123Z')
  const list = (path: string, created_at: unknown) =>
    app.get(path, { config: { lists: {} } }, async (_, reply) => reply.list([{ id: 7, created_at }, {}]))
  list('/v1/dates', made)
  list('/v1/texts', made.toISOString())
  for (const path of ['/v1/dates', '/v1/texts']) await app.inject(`${path}?limit=1`)
  t.strictSame(logs.lines, [], 'where the walk does not go by time')
  for (const path of ['/v1/dates', '/v1/texts', '/v1/dates'])
    await app.inject(`${path}?limit=1&before_time=2027-01-01T00:00:00Z`)
  t.match(logs.lines, [{ level: levels.warn, msg: /^lists: GET \/v1\/dates: created_at is a Date/ }])
  t.equal(logs.lines.length, 1)
})

t.test('total is sent only if the handler returns it', async (t) => {
  const app = await appOf(lists)
  const counts = [23, 10n, BigInt(Number.MAX_SAFE_INTEGER)]
  app.get('/v1/users', { config: { lists: {} } }, async ({ page }, reply) =>
    page.includeTotal ? reply.list([], counts.shift()) : reply.list([]),
  )
  for (const query of ['', '?include_total=false'])
    t.strictSame((await app.inject(`/v1/users${query}`)).json(), { users: [] })
  for (const total of [23, 10, Number.MAX_SAFE_INTEGER])
    t.strictSame((await app.inject('/v1/users?include_total=true')).json(), { users: [], total })
})

async function appWithList(
  rowsOf: (page: Page) => readonly object[],
  options: ListsOptions = {},
  serverOptions: FastifyServerOptions = {},
): Promise<FastifyInstance> {
  const app = await withPlugins(Fastify(serverOptions), problems, [lists, options])
  app.get('/v1/users', { config: { lists: {} } }, async ({ page }, reply) => reply.list(rowsOf(page)))
  return app
}

/** A list route over an array, read as a database would; the items are answered as their ids. */
async function appWithRows(read: () => readonly Row[]): Promise<FastifyInstance> {
  const app = await appOf(lists)
  app.get('/v1/users', { config: { lists: {} } }, async ({ page }, reply) => {
    const { users } = reply.list(fetchRows(read(), page)) as { users: Row[] }
    return { users: users.map(idOf) }
  })
  return app
}

function fetchRows(all: readonly Row[], { fetch, beforeId, beforeTime, afterId }: Page): Row[] {
  if (afterId !== undefined) {
    const later = all.filter(({ id }) => id > afterId)
    return later.sort((a, b) => Number(a.id - b.id)).slice(0, fetch)
  }
  if (beforeTime === undefined) {
    const earlier = all.filter(({ id }) => beforeId === undefined || id < beforeId)
    return earlier.sort((a, b) => Number(b.id - a.id)).slice(0, fetch)
  }
  const at = instant(beforeTime)
  const isEarlier = ({ id, created_at }: Row): boolean =>
    instant(created_at) < at || (beforeId !== undefined && instant(created_at) === at && id < beforeId)
  return all.filter(isEarlier).sort(byTimeDescending).slice(0, fetch)
}

function byTimeDescending(a: Row, b: Row): number {
  const [left, right] = [instant(a.created_at), instant(b.created_at)]
  return left < right ? 1 : left > right ? -1 : Number(b.id - a.id)
}

/** A time in UTC in a form that sorts as text. */
function instant(time: string): string {
  return time.slice(0, 19) + time.slice(20, -1).padEnd(9, '0')
}

async function walk(app: FastifyInstance, first: string): Promise<string[]> {
  const ids: string[] = []
  for (let target: string | null = first; target !== null; ) {
    const response = await app.inject(target)
    ids.push(...response.json().users)
    target = nextLink(response.headers.link)
  }
  return ids
}

function idOf({ id }: Row): string {
  return String(id)
}
