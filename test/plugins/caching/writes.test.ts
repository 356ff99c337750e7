/** Writes under preconditions: nothing is overwritten that the caller has not seen (RFC 9110 §13.1). */
import Fastify, { type FastifyReply, type FastifyRequest, type HTTPMethods } from 'fastify'
import t from 'tap'
import { type CachingRouteOptions, caching, problems } from '../../../src/index.js'
import { appOf } from '../../support/app.js'
import { injected, isProblem } from '../../support/problem.js'
import { rethrowUnwrapped } from '../../support/report-table.js'

const now = Date.UTC(2026, 10, 20, 12)
const modified = Date.UTC(2026, 10, 19, 8)
const modifiedText = 'Thu, 19 Nov 2026 08:00:00 GMT'
const before = 'Thu, 19 Nov 2026 07:59:59 GMT'
const writing = ['PUT', 'PATCH', 'DELETE', 'POST'] as const

/** An app, and what its handler got for `request.expectedVersion` since that was last asked. */
async function appWith(own: CachingRouteOptions, method: HTTPMethods | HTTPMethods[]) {
  const app = await appOf(problems, [caching, { now: () => now }])
  const expected: unknown[] = []
  app.route({ method, url: '/v1/users/:id', config: { caching: own }, handler: write })
  function write({ expectedVersion }: FastifyRequest) {
    expected.push(expectedVersion)
    return { updated_at: new Date(modified) }
  }
  return { app, expected: () => expected.splice(0) }
}

t.test('a write runs if its precondition holds; the handler gets the version that it expects', async (t) => {
  type Method = (typeof writing)[number]
  type Row = readonly [methods: readonly Method[], headers: Record<string, string>, status: 200 | 412]
  const existing: readonly Row[] = [
    [writing, { 'if-match': '"7"' }, 200],
    [writing, { 'if-match': '"6"' }, 412],
    [writing, { 'if-unmodified-since': modifiedText }, 200],
    [writing, { 'if-unmodified-since': before }, 412],
    [writing, { 'if-none-match': '*' }, 412],
    [writing, { 'if-none-match': '"6"' }, 200],
  ]
  const missing: readonly Row[] = [
    ...['"7"', '"7--gzip"', '*'].flatMap((tag): Row[] => [
      [['PUT', 'POST'], { 'if-match': tag }, 412],
      // The handler answers with 404.
      [['PATCH', 'DELETE'], { 'if-match': tag }, 200],
    ]),
    [['PUT'], { 'if-none-match': '*' }, 200],
    [['PUT'], { 'if-none-match': '"7"' }, 200],
  ]
  const without: readonly Row[] = [
    [writing, {}, 200],
    [writing, { 'if-modified-since': modifiedText }, 200],
  ]
  const unused = () => t.fail('validators run without a precondition') as never
  for (const [find, rows, version] of [
    [() => ({ version: 7, lastModified: modified }), existing, 7],
    // `null`, so that a statement that compares it changes nothing that somebody made in between.
    [() => null, missing, null],
    [unused, without, undefined],
  ] as const) {
    for (const validators of [find, async () => find()]) {
      const { app, expected } = await appWith({ validators }, [...writing])
      for (const [methods, headers, status] of rows) {
        for (const method of methods) {
          const answer = await app.inject({ method, url: '/v1/users/1', headers })
          const about = `${method} ${JSON.stringify(headers)} of ${version}`
          if (status === 412) isProblem(t, injected(answer), { status, code: 'precondition-failed' }, about)
          t.match(answer, { statusCode: status, headers: { 'cache-control': 'no-store' } }, about)
          t.strictSame(expected(), status === 200 ? [version] : [], `${about}: expectedVersion`)
        }
      }
    }
  }
})

t.test('preconditions: required is a 428 without an evaluated precondition, but to OPTIONS', async (t) => {
  const junk = { 'if-unmodified-since': 'junk' }
  const since = { 'if-unmodified-since': modifiedText }
  for (const [found, ignored] of [
    [{ version: 7 }, [{}, { 'if-modified-since': modifiedText }, junk, since]],
    [{ version: 7, lastModified: modified }, [{}, junk]],
  ] as const) {
    const own = { validators: () => found, preconditions: 'required' } as const
    const { app, expected } = await appWith(own, [...writing, 'OPTIONS'])
    for (const method of writing) {
      for (const headers of ignored) {
        const answer = await app.inject({ method, url: '/v1/users/1', headers })
        const problem = { status: 428, code: 'precondition-required', detail: /If-Match/ }
        isProblem(t, injected(answer), problem, `${method} ${JSON.stringify(headers)}`)
        t.equal(answer.headers['cache-control'], 'no-store', method)
        t.strictSame(expected(), [], 'the handler does not run')
      }
      const evaluated = 'lastModified' in found ? since : { 'if-match': '"7"', ...junk }
      t.equal((await app.inject({ method, url: '/v1/users/1', headers: evaluated })).statusCode, 200)
      expected()
    }
    for (const headers of [{}, { 'if-match': '"6"' }])
      t.equal((await app.inject({ method: 'OPTIONS', url: '/v1/users/1', headers })).statusCode, 200)
  }
})

t.test('a route for reads and writes evaluates those of its writes if it has validators', async (t) => {
  for (const own of [{}, { validators: () => ({ version: 7 }), preconditions: 'required' }] as const) {
    const { app, expected } = await appWith(own, ['GET', 'POST'])
    const get = await app.inject('/v1/users/1')
    t.match(get.headers, { 'cache-control': 'no-cache', etag: /^".+"$/ })
    for (const [method, headers, status] of [
      ['GET', { 'if-none-match': String(get.headers.etag) }, 304],
      ['GET', { 'if-match': '"old"' }, 412],
      ['POST', {}, 'validators' in own ? 428 : 200],
      ['POST', { 'if-match': '"old"' }, 'validators' in own ? 412 : 200],
    ] as const) {
      expected()
      const answer = await app.inject({ method, url: '/v1/users/1', headers })
      t.equal(answer.statusCode, status, `${method} ${JSON.stringify([headers, own])}`)
      if (method === 'GET') continue
      t.match(answer.headers, { 'cache-control': 'no-store', etag: undefined, 'last-modified': undefined })
      t.strictSame(expected(), status === 200 ? [undefined] : [], 'expectedVersion')
    }
  }
})

t.test('a route with validators does not boot beside an expectedVersion of the app', async (t) => {
  const app = Fastify()
  app.decorateRequest('expectedVersion' as never, 'own' as never)
  await app.register(caching)
  app.put('/v1/users', { config: { caching: { validators: () => null } } }, () => ({}))
  const message = /caching\.decorators +relies on request\.expectedVersion/
  await t.rejects(async () => app.ready().then(undefined, rethrowUnwrapped), { message })
})

t.test('the response to a write has the new tag, so the next If-Match needs no GET', async (t) => {
  const app = await appOf(problems, [caching, { now: () => now }])
  let stored = { version: 7, updated_at: new Date(modified) }
  const validatorsOf = ({ version, updated_at }: typeof stored) => ({ version, lastModified: updated_at })
  const own = { validators: async () => validatorsOf(stored), validatorsOf }
  const write = () => {
    stored = { version: stored.version + 1, updated_at: new Date(modified + stored.version * 1000) }
    return stored
  }
  const schema = { response: { 200: { type: 'object', properties: { name: { type: 'string' } } } } }
  const route = { url: '/v1/users/:id', schema, config: { caching: own } }
  app.route({ ...route, method: 'GET', handler: () => stored })
  app.route({ ...route, method: ['PUT', 'PATCH', 'POST'], handler: change })
  async function change({ headers }: FastifyRequest, reply: FastifyReply) {
    const answer = write()
    // Somebody else is faster: the tag is of what is answered, not of what is there by now.
    if (headers['x-race'] !== undefined) write()
    return reply.code(Number(headers['x-status'] ?? 200)).send(answer)
  }
  const asked = (method: 'GET' | 'PUT' | 'PATCH' | 'POST', headers: Record<string, string> = {}) =>
    app.inject({ method, url: '/v1/users/1', headers })
  for (const method of ['PUT', 'PATCH', 'POST'] as const) {
    for (const status of ['200', '201']) {
      const { etag } = (await asked('GET')).headers
      const answer = await asked(method, { 'if-match': String(etag), 'x-status': status })
      t.equal(answer.statusCode, Number(status), method)
      t.not(answer.headers.etag, etag)
      const { headers } = await asked('GET')
      const sent = { etag: headers.etag, 'last-modified': headers['last-modified'] }
      t.match(answer.headers, { ...sent, 'cache-control': 'no-store' }, `${method} ${status}: as a GET`)
    }
    const raced = await asked(method, { 'x-race': '1' })
    const next = await asked(method, { 'if-match': String(raced.headers.etag) })
    t.equal(next.statusCode, 412, `${method}: a write in between is noticed`)
  }
  for (const status of ['202', '207', '409', '500']) {
    const { headers } = await asked('PUT', { 'x-status': status })
    t.notOk('etag' in headers || 'last-modified' in headers, `${status} does not show what is stored`)
  }
})

t.test('the tag of a write is that of the handler, else of validatorsOf, else missing', async (t) => {
  const app = await appOf(caching)
  const one = () => ({ version: 1 })
  type ValidatorsOf = CachingRouteOptions['validatorsOf']
  const rows: readonly (readonly [ValidatorsOf, answer: unknown, tag: string | null, sent?: string])[] = [
    [one, {}, 'own', '"own"'],
    [one, {}, null, '"1"'],
    [() => null, {}, null],
    [() => undefined, {}, null],
    [one, 'text', null],
    [one, [], null],
    [undefined, {}, null],
    [(async () => one()) as never, {}, null, 'promise is loud'],
    [() => ({ etag: 'a b' }), {}, null, 'broken is loud'],
  ]
  for (const [index, [validatorsOf, answer, tag]] of rows.entries())
    app.put(`/v1/${index}`, { config: { caching: validatorsOf ? { validatorsOf } : {} } }, (_, reply) =>
      reply.caching(tag === null ? {} : { etag: tag }).send(answer),
    )
  for (const [index, [, , , sent]] of rows.entries()) {
    const { statusCode, headers } = await app.inject({ method: 'PUT', url: `/v1/${index}` })
    if (sent?.endsWith('loud')) t.equal(statusCode, 500, sent)
    else t.strictSame([statusCode, headers.etag], [200, sent], `row ${index}`)
  }
})

t.test('on a route that reads, validatorsOf replaces the tag of the bytes', async (t) => {
  const validatorsOf = () => ({ version: 7, lastModified: modified })
  const { app } = await appWith({ validatorsOf }, 'GET')
  app.get('/v1/own', { config: { caching: { validatorsOf } } }, (_, reply) =>
    reply.caching({ etag: 'own' }).header('last-modified', before).send({}),
  )
  app.get('/v1/undated', { config: { caching: { validatorsOf: () => ({ version: 7 }) } } }, () => ({}))
  t.match((await app.inject('/v1/own')).headers, { etag: '"own"', 'last-modified': before })
  const { headers } = await app.inject('/v1/users/1')
  t.match(headers, { etag: '"7"', 'last-modified': modifiedText })
  for (const condition of [{ 'if-none-match': '"7"' }, { 'if-modified-since': modifiedText }])
    t.equal((await app.inject({ url: '/v1/users/1', headers: condition })).statusCode, 304)
  t.equal((await app.inject('/v1/undated')).headers.etag, '"7"', 'without a date')
})
