/** `GET /v1/operations`: the caller's own operations, page by page, with and without the plugin `lists`. */
import Fastify, { type InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { conventions, conventionsReport, serverOptions } from '../../../src/index.js'
import type { StatusDocument } from '../../../src/plugins/operations/index.js'
import { headerOf, injected, isProblem } from '../../support/problem.js'
import { openProcess, type ProcessOptions } from './process.js'

/** A process whose callers are known by the header `x-user`. */
async function service(t: Test, kind = 'alone', options: ProcessOptions = {}) {
  const process = await openProcess(t, {
    identify: ({ headers }) => (headers['x-user'] === undefined ? null : String(headers['x-user'])),
    isShared: false,
    preset: kind === 'preset' ? {} : null,
    work: async ({ input }) =>
      input === 'wait' ? new Promise(() => {}) : { result: { id: 9007199254740993n } },
    ...options,
  })
  const { app, clock } = process
  const ask = async (url: string, user: string | null = 'a', more: InjectOptions = {}) =>
    injected(await app.inject({ url, ...(user === null ? {} : { headers: { 'x-user': user } }), ...more }))
  return {
    app,
    clock,
    ask,
    /** Starts an operation and returns its id, a millisecond after the last one. */
    async begin(input = 'wait', owner: string | null = 'a') {
      await clock.advance(1)
      return process.begin({ owner }, input)
    },
    async list(query: string, user = 'a') {
      const answer = await ask(`/v1/operations${query}`, user)
      t.equal(answer.status, 200, answer.body)
      const documents = (JSON.parse(answer.body) as { operations: StatusDocument[] }).operations
      return { documents, ids: documents.map(({ id }) => id), link: headerOf(answer, 'link'), answer }
    },
  }
}

for (const kind of ['alone', 'preset']) {
  t.test(`${kind}: a caller gets their own operations alone, the newest first`, async (t) => {
    const { app, begin, list, ask } = await service(t, kind)
    const first = await begin('done')
    const second = await begin()
    await begin('wait', 'b')
    await begin('wait', null)
    await app.operations.start('work', 'wait')
    const { ids, documents, answer, link } = await list('')
    t.strictSame(ids, [second, first])
    const running = { status: 'In progress', link: { href: `/v1/operations/${second}` } }
    t.match(documents, [running, { status: 'Succeeded' }])
    t.match(answer.body, kind === 'preset' ? '"id_str":"9007199254740993"' : '"id":9007199254740993}')
    t.equal(headerOf(answer, 'cache-control'), 'no-store')
    t.equal(link, undefined)
    t.equal((await ask('/v1/operations', null)).body, '{"operations":[]}', 'also not those without owner')
  })

  t.test(`${kind}: the links lead through all pages, each operation once`, async (t) => {
    const { app, begin, list, clock } = await service(t, kind)
    const begun: string[] = []
    for (let number = 0; number < 7; number += 1) begun.push(await begin())
    clock.skip(5)
    const atOnce = () => app.operations.start('work', 'wait', { owner: 'a' })
    for (let number = 0; number < 4; number += 1) begun.push((await atOnce()).id)
    const seen: string[] = []
    let query: string | undefined = '?limit=3'
    let pages = 0
    while (query !== undefined) {
      const { ids, link } = await list(query)
      seen.push(...ids)
      pages += 1
      // Operations that are started meanwhile are on none of the later pages.
      await begin()
      query =
        link &&
        /^<\/v1\/operations(\?limit=3&before_time=[^&]*&before_id=[^>]*)>; rel="next"$/.exec(link)?.[1]
    }
    t.equal(pages, 4)
    t.strictSame(seen.toSorted(), begun.toSorted())
  })

  t.test(`${kind}: an invalid parameter is a 400, and a limit that is too large is lowered`, async (t) => {
    const { begin, list, ask } = await service(t, kind)
    for (let number = 0; number < 101; number += 1) await begin()
    const { ids, link } = await list('?limit=1000')
    t.equal(ids.length, 100)
    t.match(link, 'limit=1000')
    t.equal((await list('')).ids.length, 50)
    for (const query of [
      ...['limit=0', 'limit=x', 'limit=1&limit=2', 'before_time=yesterday', `before_id=${'0'.repeat(32)}`],
      'before_id=7&before_time=2026-11-20T08:00:00Z',
    ]) {
      const refused = await ask(`/v1/operations?${query}`)
      const { errors } = isProblem(t, refused, { status: 400, code: 'validation' }, query)
      t.match(errors, [{ in: 'query', name: query.split('=')[0] }])
    }
    t.strictSame((await list('?before_time=2026-11-20T08:00:00.001Z')).ids, [])
    t.equal((await list('?before_time=2026-11-20T08:00:00.002Z')).ids.length, 1)
  })
}

t.test('an operation whose result is deleted is not in the list', async (t) => {
  const { begin, list, clock } = await service(t, 'alone', { retention: '1 hour' })
  await begin('done')
  await clock.advance(1)
  clock.skip(3_600_000)
  const next = await begin()
  t.strictSame((await list('')).ids, [next])
})

t.test('`fields` narrows each operation; `lists` refuses what the list does not support', async (t) => {
  const { app, begin, ask } = await service(t, 'preset')
  const id = await begin()
  const narrow = await ask('/v1/operations?fields=id,status')
  t.strictSame(JSON.parse(narrow.body), { operations: [{ id, status: 'In progress' }] })
  t.strictSame(conventionsReport(app)?.observations, [], 'it keeps the conventions')
  isProblem(t, await ask('/v1/operations?include_total=true'), { status: 400, code: 'validation' })
})

t.test('a parameter that the list does not have is treated as the app treats others', async (t) => {
  for (const [status, removeAdditional] of [
    [200, true],
    [400, false],
  ] as const) {
    const app = Fastify({ ...serverOptions(), ajv: { customOptions: { removeAdditional } } })
    t.teardown(() => app.close())
    await app.register(conventions, { operations: { identify: () => '42' } })
    app.operations.define('work', async () => {})
    t.equal((await app.inject('/v1/operations?status=Failed')).statusCode, status)
  }
})

t.test('in camelCase, below another path and with a base URL', async (t) => {
  const { ask, post } = await openProcess(t, {
    path: '/v1/long-jobs',
    baseUrl: 'https://api.example.com/shop/',
    polls: false,
    identify: () => 7,
    preset: { responseRules: { keyStyle: 'camelCase' }, rateLimit: false },
  })
  const location = String(headerOf(await post(), 'location'))
  t.match(location, /^https:\/\/api\.example\.com\/shop\/v1\/long-jobs\/[0-9a-f]{32}$/)
  const url = `/v1/long-jobs/${location.slice(-32)}`
  for (let poll = 0; poll < 100; poll += 1)
    t.equal((await ask({ url })).status, 200, 'without a limit of polls')
  await post()
  const answer = await ask({ url: '/v1/long-jobs?limit=1' })
  t.match(JSON.parse(answer.body), { longJobs: [{ createdAt: /Z$/ }] })
  const next = /^<https:\/\/api\.example\.com\/shop\/v1\/long-jobs\?limit=1&before_time=/
  t.match(headerOf(answer, 'link'), next)
})
