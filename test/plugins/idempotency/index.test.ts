/** Idempotency: what runs, and what a repeated request gets. */
import { setImmediate } from 'node:timers/promises'
import compress from '@fastify/compress'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import { caching } from '../../../src/plugins/caching/index.js'
import { cors } from '../../../src/plugins/cors/index.js'
import { fields } from '../../../src/plugins/fields/index.js'
import {
  type IdempotencyOptions,
  idempotency,
  memoryIdempotency,
} from '../../../src/plugins/idempotency/index.js'
import { methodOverride } from '../../../src/plugins/method-override/index.js'
import { operations } from '../../../src/plugins/operations/index.js'
import { problems } from '../../../src/plugins/problems/index.js'
import { rateLimit } from '../../../src/plugins/rate-limit/index.js'
import { securityHeaders } from '../../../src/plugins/security-headers/index.js'
import { ProblemError } from '../../../src/problem/problem-error.js'
import { conventionsReport } from '../../../src/report/report.js'
import { keepLogs, levels } from '../../support/logs.js'
import { manualClock } from '../../support/manual-clock.js'
import { injected, isProblem } from '../../support/problem.js'
import { deferred, payment, serviceWith } from './service.js'

const ofResponse = ['date', 'connection', 'content-length', 'transfer-encoding', 'idempotent-replayed']
const answerOf = ({ statusCode, headers, rawPayload }: Awaited<ReturnType<typeof inject>>) => ({
  statusCode,
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !ofResponse.includes(name))),
  bytes: rawPayload.toString('hex'),
})
async function inject(
  app: Awaited<ReturnType<typeof serviceWith>>['app'],
  ...request: Parameters<typeof payment>
) {
  return app.inject(payment(...request))
}

t.test('a request with a key runs once, and gets the same status, headers and bytes again', async (t) => {
  const { app, payments } = await serviceWith()
  const first = await inject(app, '"k"')
  t.equal(first.statusCode, 201)
  t.notOk(first.headers['idempotent-replayed'])
  for (const key of ['"k"', 'k']) {
    const again = await inject(app, key)
    t.strictSame(answerOf(again), answerOf(first))
    t.equal(again.headers['idempotent-replayed'], 'true')
    t.equal(again.headers['content-length'], first.headers['content-length'])
  }
  t.equal(payments(), 1)
  t.equal((await inject(app, 'other')).json().id, 2, 'another key runs')
  t.equal((await inject(app, null)).json().id, 3, 'no key runs')
  t.equal((await inject(app, null)).json().id, 4, 'no key runs again')
})

t.test('an answer is kept for its time', async (t) => {
  let time = 0
  const { app, payments } = await serviceWith({
    keepFor: '1 h',
    store: memoryIdempotency({ now: () => time }),
  })
  await inject(app, 'k')
  time = 3_599_999
  await inject(app, 'k')
  t.equal(payments(), 1)
  time = 3_600_000
  await inject(app, 'k')
  t.equal(payments(), 2)
})

t.test('while the first request runs, the same one is a 409 with Retry-After', async (t) => {
  const { app } = await serviceWith()
  const pending = deferred<string>()
  let runs = 0
  app.post('/v1/slow', () => {
    runs += 1
    return pending.promise
  })
  const first = inject(app, 'k', { url: '/v1/slow' })
  await setImmediate()
  const second = await inject(app, 'k', { url: '/v1/slow' })
  isProblem(t, injected(second), { status: 409, code: 'idempotency-in-progress' })
  t.equal(second.headers['retry-after'], '1')
  pending.resolve('done')
  t.equal((await first).body, 'done')
  t.equal((await inject(app, 'k', { url: '/v1/slow' })).body, 'done')
  t.equal(runs, 1)
})

t.test('another method, path, query or body with the key is a 422', async (t) => {
  const { app, payments } = await serviceWith()
  for (const method of ['PUT', 'PATCH', 'DELETE'] as const)
    app.route({ method, url: '/v1/payments', handler: async () => 'x' })
  app.post('/v1/other', async () => 'x')
  await inject(app, 'k')
  const others = [
    { url: '/v1/payments?x=1' },
    { url: '/v1/other' },
    { method: 'PUT' as const },
    { method: 'DELETE' as const },
    { payload: { amount: 6 } },
    { payload: '{ "amount":5}', headers: { 'content-type': 'application/json' } },
    { payload: '{"amount":5}', headers: { 'content-type': 'text/plain' } },
  ]
  for (const other of others) {
    isProblem(
      t,
      injected(await inject(app, 'k', other)),
      { status: 422, code: 'idempotency-key-reused' },
      JSON.stringify(other),
    )
  }
  t.equal(payments(), 1)
  t.equal((await inject(app, 'k')).headers['idempotent-replayed'], 'true', 'the first answer stays')
})

t.test('a key that is malformed, too long or sent twice is a 400', async (t) => {
  const { app, payments } = await serviceWith()
  for (const key of ['', '""', 'a b', 'a, a', '"a', 'x'.repeat(256), '"ä"']) {
    isProblem(t, injected(await inject(app, key)), { status: 400, code: 'idempotency-key-invalid' }, key)
  }
  t.equal(payments(), 0)
})

t.test('a missing key is a 400 where one is required', async (t) => {
  const { app } = await serviceWith()
  app.post('/v1/transfers', { config: { idempotency: { required: true } } }, async () => 'done')
  app.post('/v1/free', { config: { idempotency: false } }, async () => 'done')
  const missing = await inject(app, null, { url: '/v1/transfers' })
  isProblem(t, injected(missing), { status: 400, code: 'idempotency-key-invalid', detail: /required/ })
  t.equal((await inject(app, 'k', { url: '/v1/transfers' })).body, 'done')
  for (const _ of [1, 2]) {
    const free = await inject(app, 'not a key', { url: '/v1/free' })
    t.equal(free.body, 'done', 'config.idempotency: false ignores keys')
    t.notOk(free.headers['idempotent-replayed'])
  }
})

t.test('what is refused before the handler is not kept', async (t) => {
  const { app, payments } = await serviceWith()
  const denied: Record<string, number> = { onRequest: 401, preHandler: 403 }
  let isDenied = true
  for (const phase of ['onRequest', 'preHandler'] as const) {
    app.addHook(phase, async ({ headers }) => {
      if (isDenied && headers['x-denied'] === phase)
        throw new ProblemError('denied', { status: denied[phase] ?? 0 })
    })
  }
  const schema = {
    body: { type: 'object', required: ['amount'], properties: { amount: { type: 'integer' } } },
  }
  let runs = 0
  app.post('/v1/checked', { schema }, async () => {
    runs += 1
    return 'done'
  })
  const attempts = [
    ...Object.keys(denied).map((phase) => ({ headers: { 'x-denied': phase }, url: '/v1/checked' })),
    { payload: { amount: 'x' }, url: '/v1/checked' },
    { payload: '{', headers: { 'content-type': 'application/json' }, url: '/v1/checked' },
    { payload: 'x', headers: { 'content-type': 'image/png' }, url: '/v1/checked' },
    { url: '/v1/nothing' },
    { method: 'GET' as const },
  ]
  const statuses: number[] = []
  for (const attempt of attempts) statuses.push((await inject(app, 'k', attempt)).statusCode)
  t.strictSame(statuses, [401, 403, 400, 400, 415, 404, 405])
  isDenied = false
  t.equal((await inject(app, 'k', { url: '/v1/checked' })).body, 'done')
  t.equal(runs, 1)
  t.equal(payments(), 0)
})

t.test('statuses that a handler sends are kept, unless they say that nothing was carried out', async (t) => {
  const { app } = await serviceWith()
  let runs = 0
  app.post('/v1/status', async ({ query }) => {
    runs += 1
    const { status, thrown } = query as { status: string; thrown?: string }
    if (thrown !== undefined) throw new ProblemError('thrown', { status: Number(status) })
  })
  app.post('/v1/sent', async ({ query }, reply) => {
    runs += 1
    return reply.code(Number((query as { status: string }).status)).send({ runs })
  })
  const ran = async (url: string) => {
    runs = 0
    const first = await inject(app, url.replace(/\W/g, '-'), { url })
    const second = await inject(app, url.replace(/\W/g, '-'), { url })
    if (runs === 1) t.equal(second.body, first.body, url)
    return runs
  }
  for (const status of [402, 409, 410, 422]) {
    t.equal(await ran(`/v1/status?thrown&status=${status}`), 1, `thrown ${status}`)
    t.equal(await ran(`/v1/sent?status=${status}`), 1, `sent ${status}`)
  }
  for (const status of [200, 201, 303]) t.equal(await ran(`/v1/sent?status=${status}`), 1, `sent ${status}`)
  for (const status of [400, 401, 403, 404, 429, 500, 503]) {
    t.equal(await ran(`/v1/status?thrown&status=${status}`), 2, `thrown ${status}`)
    t.equal(await ran(`/v1/sent?status=${status}`), 2, `sent ${status}`)
  }
})

t.test('the key of another caller has nothing to do with this one', async (t) => {
  const { app, payments } = await serviceWith()
  const ofAda = await inject(app, 'k')
  const ofBob = await inject(app, 'k', { headers: { 'x-user': 'bob' }, payload: { amount: 6 } })
  t.equal(ofBob.statusCode, 201)
  t.equal(payments(), 2)
  t.equal((await inject(app, 'k')).body, ofAda.body)
  t.equal((await inject(app, 'k', { headers: { 'x-user': 'bob' }, payload: { amount: 6 } })).body, ofBob.body)
})

t.test('callers whose id is not known never get the answer of other credentials', async (t) => {
  const { app, payments } = await serviceWith({ identify: () => null })
  const as = (authorization: string) => ({ headers: { authorization } })
  await inject(app, 'k', as('Bearer one'))
  isProblem(t, injected(await inject(app, 'k', as('Bearer two'))), {
    status: 422,
    code: 'idempotency-key-reused',
  })
  isProblem(t, injected(await inject(app, 'k', { headers: { cookie: 'session=2' } })), {
    status: 422,
    code: 'idempotency-key-reused',
  })
  t.equal((await inject(app, 'k')).statusCode, 422)
  t.equal((await inject(app, 'k', as('Bearer one'))).headers['idempotent-replayed'], 'true')
  t.equal(payments(), 1)
})

t.test(
  'callers whose id is not known are told apart by credentials in header fields of the app',
  async (t) => {
    for (const name of [
      'x-api-key',
      'x-auth',
      'session-id',
      'x-forwarded-client-cert',
      'x-tenant',
      'client_id',
    ]) {
      const { app, payments } = await serviceWith({ identify: () => null })
      const as = (value: string, more = {}) => ({ headers: { [name]: value, ...more } })
      await inject(app, 'k', as('one'))
      isProblem(t, injected(await inject(app, 'k', as('two'))), {
        status: 422,
        code: 'idempotency-key-reused',
      })
      t.equal((await inject(app, 'k')).statusCode, 422, name)
      // What differs at each attempt is no credential.
      const again = as('one', {
        'x-csrf-token': 'new',
        'user-agent': 'other',
        traceparent: '00-2',
        'x-request-id': '2',
      })
      t.equal((await inject(app, 'k', again)).headers['idempotent-replayed'], 'true', name)
      t.equal(payments(), 1)
    }
  },
)

t.test('an app whose callers are not known has a finding', async (t) => {
  const problemsOf = async (prepare: (app: FastifyInstance) => unknown) => {
    const app = Fastify()
    await app.register(problems)
    await prepare(app)
    await app.ready()
    return conventionsReport(app)?.findings.map(({ plugin, rule, effect }) => `${plugin} ${rule} ${effect}`)
  }
  const withRoute = async (app: FastifyInstance, options: IdempotencyOptions = {}) => {
    await app.register(idempotency, options)
    app.post('/v1/payments', async () => ({}))
  }
  t.strictSame(await problemsOf(withRoute), ['idempotency identify none'])
  t.strictSame(await problemsOf((app) => withRoute(app, { identify: () => null })), [])
  const caller = (app: FastifyInstance) => withRoute(app.decorateRequest('caller', null))
  t.strictSame(await problemsOf(caller), [])
  t.strictSame(
    await problemsOf(async (app) => void (await app.register(idempotency))),
    [],
    'no route has keys',
  )
})

t.test(
  'a route that hides fields is replayed, and never to a request that may see fewer fields',
  async (t) => {
    const app = Fastify()
    await app.register(problems)
    await app.register(fields)
    const identify: IdempotencyOptions['identify'] = ({ headers }) => String(headers['x-user'])
    await app.register(idempotency, { identify })
    let runs = 0
    const member = { type: ['string', 'integer'] }
    const properties = { id: member, email: member, secret: member }
    app.post(
      '/v1/users',
      {
        schema: { response: { 201: { type: 'object', properties } } },
        config: {
          fields: { hidden: { secret: true, email: ({ headers }) => headers['x-scope'] !== 'all' } },
        },
      },
      async (_request, reply) => {
        runs += 1
        return reply.code(201).send({ id: runs, email: 'ada@example', secret: 's' })
      },
    )
    const create = (key: string, scope: string) =>
      app.inject({
        method: 'POST',
        url: '/v1/users',
        headers: { 'x-user': 'ada', 'x-scope': scope, 'idempotency-key': key },
      })
    for (const [key, scope, body] of [
      ['one', 'few', { id: 1 }],
      ['two', 'all', { id: 2, email: 'ada@example' }],
    ] as const) {
      t.strictSame((await create(key, scope)).json(), body)
      const again = await create(key, scope)
      t.equal(again.statusCode, 201)
      t.equal(again.headers['idempotent-replayed'], 'true')
      t.strictSame(again.json(), body)
    }
    isProblem(t, injected(await create('two', 'few')), { status: 422, code: 'idempotency-key-reused' })
    t.equal(runs, 2)
  },
)

t.test('request.caller is the caller by default', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(idempotency)
  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request) => {
    request.caller = { subject: String(request.headers['x-user']), scopes: [], claims: {} }
  })
  let runs = 0
  app.post('/v1/payments', async () => ({ runs: ++runs }))
  await app.inject(payment('k'))
  await app.inject(payment('k', { headers: { authorization: 'Bearer refreshed' } }))
  t.equal(runs, 1, 'the credentials may change')
  await app.inject(payment('k', { headers: { 'x-user': 'bob' } }))
  t.equal(runs, 2)
})

t.test('an answer is not sent again to a token with other scopes', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(idempotency)
  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request) => {
    const scopes = String(request.headers['x-scopes']).split(' ')
    request.caller = { subject: 'ada', scopes, claims: {} }
  })
  let runs = 0
  app.post('/v1/payments', async () => ({ runs: ++runs }))
  const as = (scopes: string) => app.inject(payment('k', { headers: { 'x-scopes': scopes } }))
  await as('write read')
  t.equal((await as('read write')).headers['idempotent-replayed'], 'true')
  isProblem(t, injected(await as('write')), { status: 422, code: 'idempotency-key-reused' })
  t.equal(runs, 1)
})

t.test('an id of a caller that is none is an error', async (t) => {
  const { app, payments } = await serviceWith({ identify: () => ({}) as string })
  t.equal((await inject(app, 'k')).statusCode, 500)
  t.equal(payments(), 0)
})

t.test('an empty answer, bytes and text are sent again as they were', async (t) => {
  const { app } = await serviceWith()
  const answers: Record<string, (reply: FastifyReply) => unknown> = {
    nothing: (reply) => reply.code(204).send(),
    empty: (reply) => reply.code(200).send(''),
    text: (reply) => reply.send('Größe'),
    html: (reply) => reply.type('text/html').send('<p>'),
    bytes: (reply) => reply.send(Buffer.from([0, 255, 254])),
    typed: (reply) => reply.type('image/png').send(new Uint8Array([1, 200])),
    json: (reply) => reply.type('application/json').send('{"a":1}'),
    number: (reply) => reply.send(7),
    null: (reply) => reply.send(null),
    redirect: (reply) => reply.redirect('/v1/payments', 303),
    headers: (reply) => reply.header('link', ['</a>; rel=a', '</b>; rel=b']).send({ a: 1 }),
  }
  for (const [name, answer] of Object.entries(answers)) {
    app.post(`/v1/${name}`, async (_request, reply) => answer(reply))
  }
  for (const name of Object.keys(answers)) {
    const first = await inject(app, name, { url: `/v1/${name}` })
    const again = await inject(app, name, { url: `/v1/${name}` })
    t.strictSame(answerOf(again), answerOf(first), name)
    t.equal(again.headers['idempotent-replayed'], 'true', name)
    t.equal(again.headers['content-length'], first.headers['content-length'], name)
  }
})

t.test('an answer that was compressed is sent again without its coding', async (t) => {
  const app = Fastify()
  await app.register(compress, { threshold: 0 })
  await app.register(idempotency, { identify: () => 'ada' })
  app.post('/v1/payments', async () => ({ text: 'x'.repeat(5_000) }))
  for (const coding of ['gzip', 'br', 'deflate']) {
    const headers = { 'accept-encoding': coding }
    const first = await app.inject(payment(coding, { headers }))
    t.equal(first.headers['content-encoding'], coding)
    for (const again of [payment(coding), payment(coding, { headers })]) {
      const { headers, body } = await app.inject(again)
      t.equal(headers['idempotent-replayed'], 'true')
      t.equal(headers['content-encoding'], undefined)
      t.equal(headers.vary, 'accept-encoding')
      t.equal(body, JSON.stringify({ text: 'x'.repeat(5_000) }))
    }
  }
})

t.test('a replay has the headers of its own response, and no cookies', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(cors, { origin: ['https://a.example', 'https://b.example'] })
  await app.register(securityHeaders)
  await app.register(rateLimit)
  await app.register(idempotency, { identify: () => 'ada' })
  let count = 0
  app.addHook('onSend', async (_request, reply) => {
    count += 1
    reply.headers({ 'x-count': String(count), 'x-request-id': String(count) })
    if (count === 2) reply.header('x-late', 'yes')
  })
  app.post('/v1/payments', async (_request, reply) => reply.header('set-cookie', 'session=secret').send({}))
  const first = await app.inject(payment('k', { headers: { origin: 'https://a.example' } }))
  const again = await app.inject(payment('k', { headers: { origin: 'https://b.example' } }))
  t.equal(first.headers['set-cookie'], 'session=secret')
  t.equal(again.headers['set-cookie'], undefined)
  t.equal(again.headers['access-control-allow-origin'], 'https://b.example')
  t.match(again.headers['access-control-expose-headers'], /Idempotent-Replayed/)
  t.ok(again.headers['strict-transport-security'] ?? again.headers['x-content-type-options'])
  t.match(again.headers.ratelimit, /r=998/, 'a replay counts')
  t.equal(again.headers['x-request-id'], '2')
  t.equal(again.headers['x-count'], '1', 'other headers are those of the answer')
  t.notOk('x-late' in again.headers)
})

t.test('a hook that fails after a replay has begun is not hidden', async (t) => {
  const { app } = await serviceWith()
  await inject(app, 'k')
  t.equal((await inject(app, 'k')).statusCode, 201)
  const failing = await serviceWith()
  let sends = 0
  failing.app.addHook('onSend', async () => {
    sends += 1
    if (sends === 2) throw new Error('broken')
  })
  await inject(failing.app, 'k')
  const broken = await inject(failing.app, 'k')
  t.equal(broken.statusCode, 500)
  t.notOk(broken.headers['idempotent-replayed'])
})

t.test('the replay of a PUT with If-Match is no 412, and a 412 is not kept', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(caching)
  await app.register(idempotency, { identify: () => 'ada' })
  let version = 1
  const validators = () => ({ version: `v${version}` })
  app.put(
    '/v1/payments',
    { config: { caching: { validators, validatorsOf: (row: { version: string }) => row } } },
    async () => {
      version += 1
      return { version: `v${version}` }
    },
  )
  const put = (key: string, match: string) =>
    app.inject(payment(key, { method: 'PUT', headers: { 'if-match': match } }))
  const stale = await put('a', '"v0"')
  t.equal(stale.statusCode, 412)
  const first = await put('a', '"v1"')
  t.equal(first.statusCode, 200, 'the key is free after the 412')
  const again = await put('a', '"v1"')
  t.strictSame(answerOf(again), answerOf(first))
  t.equal(first.headers.etag, '"v2"')
  t.equal(version, 2)
})

t.test('with an overridden method, the effective method counts', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(methodOverride)
  await app.register(idempotency, { identify: () => 'ada' })
  let runs = 0
  app.delete('/v1/payments', async () => ({ runs: ++runs }))
  app.post('/v1/payments', async () => ({ runs: ++runs }))
  const override = { headers: { 'x-http-method-override': 'DELETE' } }
  const first = await app.inject(payment('k', override))
  t.equal((await app.inject(payment('k', override))).body, first.body)
  t.equal(runs, 1)
  t.equal((await app.inject(payment('k'))).statusCode, 422, 'a POST is another request')
})

t.test('a start of an operation again is the same operation', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(operations)
  await app.register(idempotency, { identify: () => 'ada' })
  let runs = 0
  app.operations.define('work', async () => {
    runs += 1
  })
  app.post('/v1/payments', async (_request, reply) => reply.startOperation('work'))
  const first = await app.inject(payment('k'))
  const again = await app.inject(payment('k'))
  t.equal(again.statusCode, 202)
  t.match(first.headers.location, /^\/v1\/operations\//)
  t.strictSame(answerOf(again), answerOf(first))
  await app.close()
  t.equal(runs, 1)
})

t.test('an answer longer than maxBytes is sent, is not run again, and is a 409 then', async (t) => {
  const logs = keepLogs('warn')
  const { app } = await serviceWith({ maxBytes: 100 }, { logger: logs.logger })
  let runs = 0
  app.post('/v1/reports', async (_request, reply) => {
    runs += 1
    return reply.code(201).header('location', '/v1/reports/1').send('ü'.repeat(51))
  })
  app.post('/v1/short', async () => 'ü'.repeat(50))
  const first = await inject(app, 'k', { url: '/v1/reports' })
  t.equal(first.body, 'ü'.repeat(51))
  const again = await inject(app, 'k', { url: '/v1/reports' })
  const problem = isProblem(t, injected(again), {
    status: 409,
    code: 'idempotency-answer-not-kept',
    detail: /201.*100 bytes/,
  })
  t.equal(problem.location, '/v1/reports/1')
  t.equal(runs, 1)
  t.match(
    logs.lines.filter(({ level }) => level === levels.warn),
    [{ msg: /maxBytes/ }],
  )
  await inject(app, 'short', { url: '/v1/short' })
  t.equal((await inject(app, 'short', { url: '/v1/short' })).headers['idempotent-replayed'], 'true')
})

t.test('request.idempotency has the key', async (t) => {
  const { app } = await serviceWith()
  app.post('/v1/keys', async ({ idempotency }) => ({ key: idempotency.key }))
  app.get('/v1/keys', async ({ idempotency }) => ({ key: idempotency.key }))
  t.strictSame((await inject(app, '"a b"', { url: '/v1/keys' })).json(), { key: 'a b' })
  t.strictSame((await inject(app, null, { url: '/v1/keys' })).json(), { key: null })
  t.strictSame((await app.inject({ url: '/v1/keys', headers: { 'idempotency-key': 'k' } })).json(), {
    key: null,
  })
})

t.test(
  '`keep` throws if the store takes part in no transactions, and does nothing without a key',
  async (t) => {
    const { app } = await serviceWith()
    app.post('/v1/kept', async ({ idempotency }) => {
      await idempotency.keep({ query: () => {} }, { body: {} })
      return 'done'
    })
    t.equal((await inject(app, 'k', { url: '/v1/kept' })).statusCode, 500)
    t.equal((await inject(app, null, { url: '/v1/kept' })).body, 'done')
  },
)

t.test('an identify that fails without an error fails the request, and nothing runs', async (t) => {
  const failing = [
    () => {
      throw undefined
    },
    () => Promise.reject(),
  ]
  for (const identify of failing) {
    const { app, payments } = await serviceWith({ identify })
    t.equal((await app.inject(payment('k'))).statusCode, 500)
    t.equal(payments(), 0)
  }
})

t.test('a key whose handler runs longer than the lease stays claimed', async (t) => {
  const clock = manualClock('2026-11-22T12:00:00Z')
  const { app } = await serviceWith({
    lease: '3 s',
    schedule: clock.schedule,
    store: memoryIdempotency({ now: clock.now }),
  })
  const pending = deferred<string>()
  app.post('/v1/slow', () => pending.promise)
  const first = inject(app, 'k', { url: '/v1/slow' })
  await setImmediate()
  for (let second = 0; second < 10; second += 1) await clock.advance(1_000)
  t.equal((await inject(app, 'k', { url: '/v1/slow' })).statusCode, 409)
  pending.resolve('done')
  t.equal((await first).body, 'done')
  await clock.advance(1_000)
  t.equal(clock.waiting(1_000), 0, 'the renewals have ended')
})

t.test('config.idempotency on a route without unsafe methods fails the boot', async (t) => {
  const app = Fastify()
  await app.register(idempotency)
  app.get('/v1/users', { config: { idempotency: { required: true } } }, async () => ({}))
  await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS', message: /idempotency\.method/ })
})

t.test('bad options throw, with their names', async (t) => {
  const bad: readonly [object, RegExp][] = [
    [{ keepFor: 10 }, /idempotency\.keepFor/],
    [{ store: {} }, /idempotency\.store/],
    [{ maxBytes: -1 }, /idempotency\.maxBytes/],
    [{ nonsense: 1 }, /idempotency\.nonsense/],
  ]
  for (const [options, message] of bad) await t.rejects(serviceWith(options), { message })
  const { app } = await serviceWith()
  t.throws(
    () => app.post('/v1/x', { config: { idempotency: { keepFor: '1 ms' } } }, async () => ''),
    /keepFor/,
  )
  t.throws(
    () => app.post('/v1/y', { config: { idempotency: true as unknown as false } }, async () => ''),
    /idempotency/,
  )
})

t.test('mode `off` does nothing', async (t) => {
  const { app, payments } = await serviceWith({ mode: 'off' })
  for (const _ of [1, 2]) await inject(app, 'k')
  t.equal(payments(), 2)
})
