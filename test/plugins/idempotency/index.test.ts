/** Idempotency: what runs, and what a repeated request gets. */
import { once } from 'node:events'
import { connect } from 'node:http2'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import compress from '@fastify/compress'
import swagger from '@fastify/swagger'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type LightMyRequestResponse,
} from 'fastify'
import t from 'tap'
import { caching } from '../../../src/plugins/caching/index.js'
import { cors } from '../../../src/plugins/cors/index.js'
import { fields } from '../../../src/plugins/fields/index.js'
import { idempotency, memoryIdempotency } from '../../../src/plugins/idempotency/index.js'
import { rateLimit } from '../../../src/plugins/rate-limit/index.js'
import { securityHeaders } from '../../../src/plugins/security-headers/index.js'
import { ProblemError } from '../../../src/problem/problem-error.js'
import { appOf } from '../../support/app.js'
import { keepLogs, levels } from '../../support/logs.js'
import { manualClock } from '../../support/manual-clock.js'
import { documentOf } from '../../support/openapi.js'
import { serve } from '../../support/serve.js'
import { deferred, payment, refused, serviceWith } from './service.js'

const ofResponse = ['date', 'connection', 'transfer-encoding', 'idempotent-replayed']
const answerOf = ({ statusCode, headers, rawPayload }: LightMyRequestResponse) => ({
  statusCode,
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !ofResponse.includes(name))),
  bytes: rawPayload.toString('hex'),
})
const inject = (app: FastifyInstance, ...request: Parameters<typeof payment>) =>
  app.inject(payment(...request))
const isReplay = ({ headers }: LightMyRequestResponse) => headers['idempotent-replayed'] === 'true'

t.test('a request with a key runs once, and gets the same status, headers and bytes again', async (t) => {
  const { app, payments } = await serviceWith()
  const first = await inject(app, '"k"')
  t.equal(first.statusCode, 201)
  t.notOk('idempotent-replayed' in first.headers)
  for (const key of ['"k"', 'k']) {
    const again = await inject(app, key)
    t.strictSame(answerOf(again), answerOf(first))
    t.ok(isReplay(again))
  }
  t.equal(payments(), 1)
  for (const key of ['other', null, null]) await inject(app, key)
  t.equal(payments(), 4)
})

t.test('HTTP/2: a request without content runs once, if a later frame ends it; a stream never', async (t) => {
  const app = Fastify({ http2: true })
  await app.register(idempotency, { identify: () => 'ann' })
  let runs = 0
  app.post('/v1/payments', async () => ({ runs: ++runs }))
  app.addContentTypeParser('text/csv', (_request, payload, done) => done(null, payload))
  const session = connect((await serve(t, app as unknown as FastifyInstance)).origin)
  t.teardown(() => session.close())
  for (const [type, replayed, body] of [
    [{}, undefined, '{"runs":1}'],
    [{}, 'true', '{"runs":1}'],
    [{ 'content-type': 'text/csv' }, undefined, /"idempotency-key-invalid"/],
  ] as const) {
    const headers = { ':method': 'POST', ':path': '/v1/payments', 'idempotency-key': 'k', ...type }
    const stream = session.request(headers, { endStream: false })
    stream.end()
    const [answered] = await once(stream, 'response')
    t.match(await text(stream), body)
    t.equal(answered['idempotent-replayed'], replayed)
  }
})

t.test('a running key stays claimed beyond the lease; its answer is kept for its time', async (t) => {
  const { now, schedule, advance, waiting } = manualClock('2026-11-22T12:00:00Z')
  const store = memoryIdempotency({ now })
  const { app } = await serviceWith({ lease: '3 s', keepFor: '1 h', schedule, store })
  const pending = deferred<string>()
  app.post('/v1/slow', () => pending.promise)
  const slow = { url: '/v1/slow' }
  const first = inject(app, 'k', slow)
  await setImmediate()
  for (let second = 0; second < 10; second += 1) await advance(1_000)
  t.equal((await refused(t, app, 'k', 'in-progress', slow)).headers['retry-after'], '1')
  pending.resolve('done')
  t.equal((await first).body, 'done')
  await advance(3_599_999)
  t.equal(waiting(1_000), 0, 'the renewals have ended')
  t.ok(isReplay(await inject(app, 'k', slow)))
  await advance(1)
  t.notOk(isReplay(await inject(app, 'k', slow)))
  await app.close()
  t.equal(waiting(60_000), 0, 'nor does the app remove old keys')
})

t.test('a handler that never ends loses its key after a day; a later answer is logged', async (t) => {
  const { now, schedule, advance } = manualClock('2026-11-22T12:00:00Z')
  const logs = keepLogs('error')
  const store = memoryIdempotency({ now })
  const { app } = await serviceWith({ lease: '6 h', schedule, store }, { logger: logs.logger })
  const pending = deferred<void>()
  let runs = 0
  app.post('/v1/slow', async () => {
    if (++runs === 1) await pending.promise
    return String(runs)
  })
  const slow = { url: '/v1/slow' }
  const first = inject(app, 'k', slow)
  await setImmediate()
  await advance(24 * 3_600_000)
  await refused(t, app, 'k', 'in-progress', slow)
  await advance(7 * 3_600_000)
  t.equal((await inject(app, 'k', slow)).body, '2')
  pending.resolve()
  await first
  t.match(logs.lines, { length: 1, 0: { msg: /ran longer than its lease, and twice/, token: /./ } })
  t.ok(isReplay(await inject(app, 'k', slow)), 'the second answer stays')
})

t.test('another method, path, query or body with the key is a 422', async (t) => {
  const { app, payments } = await serviceWith()
  app.route({ method: ['PUT', 'DELETE'], url: '/v1/payments', handler: async () => 'x' })
  app.post('/v1/other', async () => 'x')
  await inject(app, 'k')
  for (const other of [
    { url: '/v1/payments?x=1' },
    { url: '/v1/other' },
    { method: 'PUT' as const },
    { method: 'DELETE' as const },
    { payload: { amount: 6 } },
    { payload: '{ "amount":5}', headers: { 'content-type': 'application/json' } },
    { payload: '{"amount":5}', headers: { 'content-type': 'text/plain' } },
  ])
    await refused(t, app, 'k', 'key-reused', other)
  t.equal(payments(), 1)
  t.ok(isReplay(await inject(app, 'k')), 'the first answer stays')
})

t.test('bodies that are no text are told apart by their bytes', async (t) => {
  const { app } = await serviceWith()
  app.addContentTypeParser('image/png', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  const image = (byte: number) => ({ payload: Buffer.from([byte]), headers: { 'content-type': 'image/png' } })
  await inject(app, 'k', image(0xff))
  t.ok(isReplay(await inject(app, 'k', image(0xff))))
  await refused(t, app, 'k', 'key-reused', image(0xfe))
})

t.test('a malformed key is a 400, and so is a missing one where it is required', async (t) => {
  const { app, payments } = await serviceWith()
  app.post('/v1/transfers', { config: { idempotency: { required: true } } }, async () => 'done')
  app.post('/v1/free', { config: { idempotency: false } }, async () => 'done')
  for (const key of ['', 'a b', 'x'.repeat(256)]) await refused(t, app, key, 'key-invalid')
  t.equal(payments(), 0)
  await refused(t, app, null, 'key-invalid', { url: '/v1/transfers' }, /required/)
  t.equal((await inject(app, 'k', { url: '/v1/transfers' })).body, 'done')
  for (const _ of [1, 2]) {
    const free = await inject(app, 'not a key', { url: '/v1/free' })
    t.strictSame([free.body, isReplay(free)], ['done', false], 'config.idempotency: false ignores keys')
  }
})

t.test('what is refused before the handler is not kept', async (t) => {
  const { app, payments } = await serviceWith()
  const deny = (status: number) => async (request: FastifyRequest) => {
    if (request.headers['x-denied'] === String(status)) throw new ProblemError('denied', { status })
  }
  app.addHook('onRequest', deny(401))
  app.addHook('preHandler', deny(403))
  const body = { type: 'object', properties: { amount: { type: 'integer' } } }
  const url = '/v1/checked'
  let runs = 0
  app.post(url, { schema: { body } }, async () => ({ runs: ++runs }))
  const statuses: number[] = []
  for (const attempt of [
    { url, headers: { 'x-denied': '401' } },
    { url, headers: { 'x-denied': '403' } },
    { url, payload: { amount: 'x' } },
    { url, payload: '{', headers: { 'content-type': 'application/json' } },
    { url, payload: 'x', headers: { 'content-type': 'image/png' } },
    { url: '/v1/nothing' },
    { method: 'GET' as const },
  ])
    statuses.push((await inject(app, 'k', attempt)).statusCode)
  t.strictSame(statuses, [401, 403, 400, 400, 415, 404, 405])
  t.equal((await inject(app, 'k', { url })).body, '{"runs":1}')
  t.equal(payments(), 0)
})

t.test('statuses that a handler sends are kept, unless they say that nothing was carried out', async (t) => {
  const { app } = await serviceWith()
  let runs = 0
  app.post<{ Params: { how: string; status: number } }>('/v1/:how/:status', async ({ params }, reply) => {
    runs += 1
    if (params.how === 'thrown') throw new ProblemError('thrown', { status: Number(params.status) })
    return reply.code(Number(params.status)).send({ runs })
  })
  const kept = [200, 204, 303, 402, 409, 410, 418, 422, 451]
  const not = [400, 401, 403, 404, 405, 406, 408, 412, 413, 414, 415, 428, 429, 431, 500, 502, 503]
  for (const status of [...kept, ...not]) {
    for (const how of status < 400 ? ['sent'] : ['sent', 'thrown']) {
      runs = 0
      const twice = () => inject(app, `${how}-${status}`, { url: `/v1/${how}/${status}` })
      const [first, second] = [await twice(), await twice()]
      t.equal(runs, kept.includes(status) ? 1 : 2, `${how} ${status}`)
      if (runs === 1) t.equal(second.body, first.body, `${how} ${status}`)
    }
  }
})

t.test('callers whose id is not known are told apart by header fields with credentials', async (t) => {
  for (const name of ['authorization', 'cookie', 'x-api-key', 'session-id', 'client_id']) {
    const { app, payments } = await serviceWith({ identify: () => null })
    const as = (value: string, more = {}) => ({ headers: { [name]: value, ...more } })
    await inject(app, 'k', as('one'))
    await refused(t, app, 'k', 'key-reused', as('two'))
    await refused(t, app, 'k', 'key-reused')
    // What differs at each attempt is no credential.
    const more = { 'x-csrf-token': 'new', 'user-agent': 'other', traceparent: '00-2', 'x-request-id': '2' }
    t.ok(isReplay(await inject(app, 'k', as('one', more))), name)
    t.equal(payments(), 1)
  }
})

t.test('an app whose callers are not known has a finding', async (t) => {
  for (const [options, hasCallers, hasRoute, isFound] of [
    [{}, false, true, true],
    [{ identify: () => null }, false, true, false],
    [{}, true, true, false],
    [{}, false, false, false],
  ] as const) {
    const app = await appOf([idempotency, options])
    if (hasCallers) app.decorateRequest('caller', null)
    if (hasRoute) app.post('/v1/payments', async () => ({}))
    await app.ready()
    const found = app.conventions.report().findings.map(({ rule, effect }) => `${rule} ${effect}`)
    t.strictSame(found, isFound ? ['identify none'] : [])
  }
})

t.test('a route that hides fields is replayed, never to a request that may see fewer fields', async (t) => {
  const { app } = await serviceWith({}, {}, (app) => app.register(fields))
  let runs = 0
  const properties = { id: { type: 'integer' }, email: { type: 'string' }, secret: { type: 'string' } }
  const schema = { response: { 200: { type: 'object', properties } } }
  const isFew = ({ headers }: FastifyRequest) => headers['x-scope'] !== 'all'
  const config = { fields: { hidden: { secret: true as const, email: isFew } } }
  app.post('/v1/users', { schema, config }, async () => ({ id: ++runs, email: 'a@example', secret: 's' }))
  const as = (scope: string) => ({ url: '/v1/users', headers: { 'x-scope': scope } })
  for (const [scope, body] of Object.entries({ few: { id: 1 }, all: { id: 2, email: 'a@example' } })) {
    for (const isAgain of [false, true]) {
      const answer = await inject(app, scope, as(scope))
      t.strictSame([answer.json(), isReplay(answer)], [body, isAgain])
    }
  }
  await refused(t, app, 'all', 'key-reused', as('few'))
  t.equal(runs, 2)
})

t.test('request.caller is the caller by default; an answer is not for other scopes of theirs', async (t) => {
  const { app, payments } = await serviceWith({ identify: undefined } as never, {}, (app) => {
    app.decorateRequest('caller', null)
    app.addHook('onRequest', async (request) => {
      const { 'x-user': subject, 'x-scopes': scopes } = request.headers as Record<string, string>
      request.caller = { subject, scopes: scopes?.split(' '), claims: {} } as never
    })
  })
  const as = (scopes: string, more = {}) => ({ headers: { 'x-scopes': scopes, ...more } })
  await inject(app, 'k', as('write read'))
  const again = await inject(app, 'k', as('read write', { authorization: 'Bearer refreshed' }))
  t.ok(isReplay(again), 'the credentials may change')
  await refused(t, app, 'k', 'key-reused', as('write'))
  t.equal(payments(), 1)
  await inject(app, 'k', as('write', { 'x-user': 'bob' }))
  t.equal(payments(), 2)
})

t.test('an identify that fails, or gives no id, is a 500, and nothing runs', async (t) => {
  const fails = () => {
    throw undefined
  }
  for (const identify of [() => ({}) as string, fails, () => Promise.reject()]) {
    const { app, payments } = await serviceWith({ identify })
    t.equal((await inject(app, 'k')).statusCode, 500)
    t.equal(payments(), 0)
  }
})

t.test('an empty answer, bytes and text are sent again as they were', async (t) => {
  const { app } = await serviceWith()
  const answers: Record<string, (reply: FastifyReply) => unknown> = {
    nothing: (reply) => reply.code(204).send(),
    empty: (reply) => reply.code(200).send(''),
    text: (reply) => reply.send('Größe'),
    bytes: (reply) => reply.send(Buffer.from([0, 255, 254])),
    typed: (reply) => reply.type('image/png').send(new Uint8Array([1, 200])),
    null: (reply) => reply.send(null),
    redirect: (reply) => reply.redirect('/v1/payments', 303),
    headers: (reply) => reply.header('link', ['</a>; rel=a', '</b>; rel=b']).send({ a: 1 }),
  }
  for (const [name, answer] of Object.entries(answers))
    app.post(`/v1/${name}`, async (_, reply) => answer(reply))
  for (const name of Object.keys(answers)) {
    const url = `/v1/${name}`
    const [first, again] = [await inject(app, name, { url }), await inject(app, name, { url })]
    t.strictSame(answerOf(again), answerOf(first), name)
    t.ok(isReplay(again), name)
  }
})

t.test('an answer that was compressed is sent again without its coding', async (t) => {
  const { app } = await serviceWith({}, {}, (app) => app.register(compress, { threshold: 0 }))
  const text = 'x'.repeat(5_000)
  app.post('/v1/texts', async () => ({ text }))
  const request = { url: '/v1/texts', headers: { 'accept-encoding': 'gzip' } }
  t.equal((await inject(app, 'k', request)).headers['content-encoding'], 'gzip')
  for (const again of [await inject(app, 'k', { url: '/v1/texts' }), await inject(app, 'k', request)]) {
    t.ok(isReplay(again))
    t.equal(again.headers['content-encoding'], undefined)
    t.equal(again.headers.vary, 'accept-encoding')
    t.equal(again.body, JSON.stringify({ text }))
  }
})

t.test('a replay has the headers of its own response, and no cookies', async (t) => {
  const { app } = await serviceWith({}, {}, async (app) => {
    await app.register(cors, { origin: ['https://a.example', 'https://b.example'] })
    await app.register(securityHeaders)
    await app.register(rateLimit)
  })
  let count = 0
  app.addHook('onSend', async (_request, reply, payload) => {
    count += 1
    t.equal(payload, '{}', 'hooks see what is sent')
    reply.headers({ 'x-count': String(count), 'x-request-id': String(count) })
    if (count === 2) reply.header('x-late', 'yes')
  })
  app.post('/v1/sessions', async (_request, reply) => reply.header('set-cookie', 'session=secret').send({}))
  const from = (origin: string) => inject(app, 'k', { url: '/v1/sessions', headers: { origin } })
  await from('https://a.example')
  t.match((await from('https://b.example')).headers, {
    'access-control-allow-origin': 'https://b.example',
    'access-control-expose-headers': /Idempotent-Replayed/,
    'x-content-type-options': 'nosniff',
    // A replay counts.
    ratelimit: /r=998/,
    'x-request-id': '2',
    // Other headers are those of the answer.
    'x-count': '1',
    'x-late': undefined,
    'set-cookie': undefined,
  })
})

t.test('a hook that fails after a replay has begun is not hidden', async (t) => {
  for (const isOwn of [false, true]) {
    const { app } = await serviceWith()
    if (isOwn) app.setErrorHandler((_error, _request, reply) => reply.code(500).send({}))
    let sends = 0
    app.addHook('onSend', async () => {
      if (++sends === 2) throw new Error('broken')
    })
    await inject(app, 'k')
    const broken = await inject(app, 'k')
    t.strictSame([broken.statusCode, isReplay(broken)], [500, false])
  }
})

t.test('the replay of a PUT with If-Match is no 412, and a 412 is not kept', async (t) => {
  const { app } = await serviceWith({}, {}, (app) => app.register(caching))
  let version = 1
  const validators = () => ({ version: `v${version}` })
  const config = { caching: { validators, validatorsOf: (row: { version: string }) => row } }
  app.put('/v1/payments', { config }, async () => {
    version += 1
    return { version: `v${version}` }
  })
  const put = (match: string) => inject(app, 'a', { method: 'PUT', headers: { 'if-match': match } })
  t.equal((await put('"v0"')).statusCode, 412)
  const first = await put('"v1"')
  t.equal(first.statusCode, 200, 'the key is free after the 412')
  t.strictSame(answerOf(await put('"v1"')), answerOf(first))
  t.equal(first.headers.etag, '"v2"')
  t.equal(version, 2)
})

t.test('an answer longer than maxBytes is sent, is not run again, and is a 409 then', async (t) => {
  const logs = keepLogs('warn')
  const { app } = await serviceWith({ maxBytes: 100 }, { logger: logs.logger })
  app.post('/v1/reports', async (_request, reply) =>
    reply.code(201).header('location', '/v1/reports/1').send('ü'.repeat(51)),
  )
  app.post('/v1/short', async () => 'ü'.repeat(50))
  app.post('/v1/coded', async (_request, reply) => reply.header('content-encoding', 'gzip').send('no gzip'))
  const reports = { url: '/v1/reports' }
  t.equal((await inject(app, 'k', reports)).body, 'ü'.repeat(51))
  const again = await refused(t, app, 'k', 'answer-not-kept', reports, /201.*100 bytes/)
  t.equal(again.json().location, '/v1/reports/1')
  const warnings = logs.lines.filter(({ level }) => level === levels.warn)
  t.match(warnings, [{ msg: /maxBytes/ }])
  await inject(app, 'coded', { url: '/v1/coded' })
  await refused(t, app, 'coded', 'answer-not-kept', { url: '/v1/coded' })
  await inject(app, 'short', { url: '/v1/short' })
  t.ok(isReplay(await inject(app, 'short', { url: '/v1/short' })))
})

t.test('request.idempotency has the key; `keep` needs one, and a store with transactions', async (t) => {
  const { app } = await serviceWith()
  const handler = async ({ idempotency: { key } }: FastifyRequest) => ({ key })
  app.route({ method: ['GET', 'POST'], url: '/v1/keys', handler })
  app.post('/v1/kept', async ({ idempotency }) => {
    await idempotency.keep({ query: () => {} }, { body: {} })
    return 'done'
  })
  const keyOf = async (key: string | null, method: 'GET' | 'POST' = 'POST') =>
    (await inject(app, key, { method, url: '/v1/keys' })).json().key
  t.strictSame([await keyOf('"a b"'), await keyOf(null), await keyOf('k', 'GET')], ['a b', null, null])
  t.equal((await inject(app, 'k', { url: '/v1/kept' })).statusCode, 500)
  t.equal((await inject(app, null, { url: '/v1/kept' })).body, 'done')
})

t.test('bad options throw, with their names', async (t) => {
  for (const options of [{ keepFor: 10 }, { store: {} }, { maxBytes: -1 }, { nonsense: 1 }])
    await t.rejects(serviceWith(options as never), { message: `idempotency.${Object.keys(options)}` })
  const { app } = await serviceWith()
  const config = { idempotency: { keepFor: '1 ms' } }
  t.throws(() => app.post('/v1/x', { config }, async () => ''), /config\.idempotency\.keepFor/)
  app.get('/v1/users', { config: { idempotency: { required: true } } }, async () => ({}))
  const method = { code: 'FST_CONV_FINDINGS', message: /idempotency\.method/ }
  await t.rejects(async () => app.ready(), method, 'a route without unsafe methods')
})

t.test('mode `report` changes no response, and counts the keys that would be refused', async (t) => {
  const store = { ...memoryIdempotency(), claim: () => Promise.reject(new Error('not asked')) }
  const { app, payments } = await serviceWith({ mode: 'report', required: true, store })
  for (const key of ['k', 'k', '', null]) {
    const { statusCode, headers } = await inject(app, key)
    t.strictSame([statusCode, headers['idempotent-replayed']], [201, undefined], `${key}`)
  }
  t.equal(payments(), 4, 'all run')
  const off = await serviceWith({ mode: 'off' })
  for (const key of ['k', 'k', 'not a key']) t.equal((await inject(off.app, key)).statusCode, 201)
  t.equal(off.payments(), 3, 'off reads no key')
  const counted = app.conventions.report().observations
  t.match(counted, [{ rule: 'key-invalid', route: 'POST /v1/payments', status: 400, count: 2 }])
})

t.test('the OpenAPI document has the header, its responses and Idempotent-Replayed', async (t) => {
  const app = await appOf([swagger, { openapi: {} }], idempotency)
  const response = { 200: { type: 'object', properties: { id: { type: 'integer' } } } }
  const headers = { type: 'object', properties: { 'x-a': { type: 'string' } } }
  app.post('/v1/payments', { schema: { response } }, async () => ({ id: 1 }))
  const config = { idempotency: { required: true } }
  const failed = { '4xx': response[200], '5xx': response[200] }
  app.put(
    '/v1/payments',
    { schema: { response: { ...response, ...failed }, headers }, config },
    async () => ({}),
  )
  app.patch('/v1/payments', { schema: { response }, config: { idempotency: false } }, async () => ({}))
  app.get('/v1/payments', { schema: { response } }, async () => ({}))
  const { post, put, patch, get } = (await documentOf(app)).paths?.['/v1/payments'] ?? {}
  const name = 'Idempotency-Key'
  t.match(post?.parameters, [{ in: 'header', name, schema: { type: 'string', maxLength: 257 } }])
  t.match(put?.parameters, [{ name: 'x-a' }, { in: 'header', name, required: true }])
  t.strictSame(Object.keys(post?.responses ?? {}), ['200', '400', '409', '422', '503'])
  t.match(post?.responses, {
    200: { headers: { 'Idempotent-Replayed': { schema: { enum: ['true'] } } } },
    409: { headers: { 'Retry-After': { schema: { type: 'integer' } }, Location: {} } },
  })
  const replayed = (responses = {}) =>
    Object.keys(responses).filter(
      (status) => 'Idempotent-Replayed' in { ...Reflect.get(responses, status).headers },
    )
  t.strictSame(
    replayed(post?.responses),
    ['200', '409', '422'],
    'what is never kept is not shown as replayed',
  )
  t.strictSame(replayed(put?.responses), ['200', '4XX'])
  for (const other of [patch, get]) {
    t.equal(other?.parameters, undefined)
    t.strictSame(Object.keys(other?.responses ?? {}), ['200'])
  }
  const withoutKey = await app.inject({ method: 'POST', url: '/v1/payments' })
  t.equal(withoutKey.statusCode, 200, 'the key is not validated')
})
