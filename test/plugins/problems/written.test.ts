import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import { integerTwins, ProblemError, problems } from '../../../src/index.js'
import { fetched, isProblem } from '../../support/problem.js'
import { serve } from '../../support/serve.js'
import { appWith, refuses } from './support.js'

type Writes = Readonly<Record<string, (reply: FastifyReply) => unknown>>

const fixedText = 'The server failed to answer. The cause is in its log, under the request id.'

/** Error answers that a handler writes itself, without throwing. */
const written: Writes = {
  json: (reply) => reply.code(404).send({ message: 'no user 42' }),
  text: (reply) => reply.code(404).send('no user 42'),
  html: (reply) => reply.code(404).type('text/html').send('<h1>Not found</h1>'),
  buffer: (reply) => reply.code(404).type('application/json').send(Buffer.from('{"message":"no user 42"}')),
  bytes: (reply) => reply.code(404).send(new Uint8Array([0, 255])),
  empty: (reply) => reply.code(404).send(),
  returned: (reply) => {
    reply.code(404)
    return { message: 'no user 42' }
  },
  'not-json': (reply) => reply.code(404).type('application/json').send('{"message":'),
  'wrong-length': (reply) => reply.code(404).header('content-length', '3').send('abc'),
  'web-text': () => new Response('no user 42', { status: 404 }),
  'web-json': () => Response.json({ message: 'no user 42' }, { status: 404 }),
  'web-empty': () => new Response(null, { status: 404 }),
}

t.test('an error body that a handler sends becomes a problem, framed by its own length', async (t) => {
  const app = addRoutes(await appWith({}, { genReqId: ({ headers }) => `req-${headers['x-id']}` }), written)
  const { origin } = await serve(t, app)
  for (const name of Object.keys(written)) {
    const response = await fetch(`${origin}/v1/${name}`, { headers: { 'x-id': '1' } })
    const length = response.headers.get('content-length')
    const answer = await fetched(response)
    isProblem(t, answer, { status: 404, code: 'not-found', title: 'Not found' }, name)
    t.equal(length, String(Buffer.byteLength(answer.body)), name)
    const head = await app.inject({ method: 'HEAD', url: `/v1/${name}`, headers: { 'x-id': '2' } })
    t.strictSame([head.payload, head.headers['content-length']], ['', length], `${name}: HEAD`)
  }
})

const thrown = [new Error('broken'), Object.assign(new Error('x'), { statusCode: 409 }), 'text', { a: 1 }]
const throwing = thrown.map((error, index) => [`thrown-${index}`, async () => Promise.reject(error)])
const failing = async () => Promise.reject(new Error('fails on every response'))

t.test('with problems off, in report mode or beside an error handler, it is sent as before', async (t) => {
  const all: Writes = { ...written, ...Object.fromEntries(throwing), hook: (reply) => reply.send({}) }
  const bare = addRoutes(Fastify(), all)
  for (const [options, route, hasHandler] of [
    [{ mode: 'report' }, {}, false],
    [{ mode: 'off' }, {}, false],
    [{}, { mode: 'report' }, false],
    [{}, false, false],
    [{}, {}, true],
  ] as const) {
    const app = Fastify()
    if (hasHandler) app.setErrorHandler(async () => ({ own: true }))
    await app.register(problems, options)
    const names = Object.keys(hasHandler ? written : all)
    addRoutes(app, hasHandler ? written : all, { problems: route })
    for (const name of names) {
      const [expected, received] = [await bare.inject(`/v1/${name}`), await app.inject(`/v1/${name}`)]
      const about = `${name} ${JSON.stringify([options, route, hasHandler])}`
      t.strictSame(withoutDate(received), withoutDate(expected), about)
    }
    if (options.mode !== 'report') continue
    const { observations } = app.conventions.report()
    const seen = observations.filter(({ example }) => example === '404 without a problem document')
    const routes = Object.keys(written).map((name) => `GET /v1/${name}`)
    t.strictSame([seen.map(({ route }) => route), observations.length], [routes, names.length])
  }
})

t.test('no part of a 5xx body that a handler sends reaches the client', async (t) => {
  const secret = 'select * from passwords'
  const writes: Writes = {
    json: (reply) => reply.code(500).send({ message: secret, stack: secret, error: secret }),
    text: (reply) => reply.code(500).send(secret),
    html: (reply) => reply.code(500).type('text/html').send(`<pre>${secret}</pre>`),
    buffer: (reply) => reply.code(500).send(Buffer.from(secret)),
  }
  const app = addRoutes(await appWith(), writes)
  for (const name of Object.keys(writes)) {
    const expected = { status: 500, code: 'internal-server-error', detail: fixedText }
    t.notMatch((await refuses(t, app, `/v1/${name}`, expected, name)).body, secret, name)
  }
})

t.test('only a 503 gets a Retry-After, unless it has one; other headers stay', async (t) => {
  const login = { 'www-authenticate': 'Bearer', 'set-cookie': ['a=1', 'b=2'] }
  const later = { 'retry-after': '60' }
  const app = addRoutes(await appWith(), {
    written: (reply) => reply.code(500).send(),
    'stream-503': (reply) => reply.code(503).send(Readable.from([])),
    'stream-later': (reply) => reply.code(503).headers(later).send(Readable.from([])),
    closed: (reply) => reply.code(503).headers(later).send(),
    'web-closed': () => new Response('later', { status: 503, headers: later }),
    'too-many': (reply) => reply.code(429).send(),
    login: (reply) => reply.code(401).headers(login).send(),
  })
  const expected = { written: undefined, 'stream-503': '5', 'stream-later': '60', closed: '60' }
  for (const [name, seconds] of Object.entries({ ...expected, 'web-closed': '60', 'too-many': undefined }))
    t.equal((await app.inject(`/v1/${name}`)).headers['retry-after'], seconds, name)
  t.match((await app.inject('/v1/login')).headers, login)
})

t.test('headers of a web Response stay, except those that frame its body (RFC 9112 §6)', async (t) => {
  const headers = new Headers({ 'www-authenticate': 'Bearer', 'x-a': '1', 'transfer-encoding': 'chunked' })
  for (const cookie of ['a=1', 'b=2']) headers.append('set-cookie', cookie)
  headers.set('content-encoding', 'gzip')
  headers.set('content-script-type', 'text/plain')
  headers.set('connection', 'close')
  const app = addRoutes(await appWith(), { login: () => new Response('no', { status: 401, headers }) })
  const response = await refuses(t, app, '/v1/login', { status: 401, code: 'unauthorized' })
  t.match(response.headers, { 'www-authenticate': 'Bearer', 'x-a': '1', 'set-cookie': ['a=1', 'b=2'] })
  for (const name of ['content-encoding', 'content-script-type', 'transfer-encoding'])
    t.notOk(name in response.headers, name)
  t.equal(response.headers.connection, 'keep-alive')
})

t.test('a problem document that a handler sends is not changed', async (t) => {
  const own = '{"type":"https://errors.example/poor","title":"Not enough money"}'
  const type = 'application/problem+json'
  const web = (status: number, headers = {}) =>
    new Response(own, { status, headers: { 'content-type': `${type}; charset=utf-8`, ...headers } })
  const app = addRoutes(await appWith(), {
    object: (reply) => reply.code(402).type(type).send(JSON.parse(own)),
    string: (reply) => reply.code(402).type(`${type}; charset=utf-8`).send(own),
    cacheable: (reply) => reply.code(402).type(type).header('cache-control', 'max-age=5').send(own),
    web: () => web(402),
    'web-closed': () => web(503),
    'web-cacheable': () => web(404, { 'cache-control': 'max-age=5' }),
  })
  for (const [name, status, cacheControl, retryAfter] of [
    ['object', 402, 'no-store'],
    ['string', 402, 'no-store'],
    ['cacheable', 402, 'max-age=5'],
    ['web', 402, 'no-store'],
    ['web-closed', 503, 'no-store', '5'],
    ['web-cacheable', 404, 'max-age=5'],
  ] as const) {
    const { statusCode, payload, headers } = await app.inject(`/v1/${name}`)
    const sent = [statusCode, payload, headers['cache-control'], headers['retry-after']]
    t.strictSame(sent, [status, own, cacheControl, retryAfter], name)
  }
})

t.test('streams, encoded bytes, hijacked replies and responses below 400 are not changed', async (t) => {
  const app = addRoutes(await appWith(), {
    stream: (reply) => reply.code(502).send(Readable.from(['behind'])),
    web: (reply) => reply.code(502).send(new Blob(['behind']).stream()),
    coded: (reply) => reply.code(502).header('content-encoding', 'br').send(Buffer.from('behind')),
    hijacked: (reply) => void reply.hijack().raw.writeHead(502).end('behind'),
    text: (reply) => reply.send('hello'),
    html: (reply) => reply.type('text/html').send('<h1>Hello</h1>'),
    none: (reply) => reply.code(204).send(),
    moved: (reply) => reply.redirect('/v1/text'),
    fresh: (reply) => reply.code(304).send(),
  })
  for (const [name, status, body, type] of [
    ['stream', 502, 'behind', undefined],
    ['web', 502, 'behind', undefined],
    ['coded', 502, 'behind', 'application/octet-stream'],
    ['hijacked', 502, 'behind', undefined],
    ['text', 200, 'hello', 'text/plain; charset=utf-8'],
    ['html', 200, '<h1>Hello</h1>', 'text/html'],
    ['none', 204, '', undefined],
    ['moved', 302, '', undefined],
    ['fresh', 304, '', undefined],
  ] as const) {
    const { statusCode, payload, headers } = await app.inject(`/v1/${name}`)
    t.strictSame([statusCode, payload, headers['content-type']], [status, body, type], name)
  }
})

t.test('what a hook of the app changes on a problem is put right', async (t) => {
  const changes: Writes = {
    type: (reply) => reply.type('application/json'),
    directives: (reply) => reply.removeHeader('cache-control'),
    waiting: (reply) => reply.code(503),
  }
  for (const [name, change] of Object.entries(changes)) {
    const app = Fastify()
    // Before the hook of this package.
    app.addHook('onSend', async (_request, reply) => void change(reply))
    await app.register(problems)
    const { headers } = await app.inject('/v1/nothing')
    const sent = [headers['content-type'], headers['cache-control'], headers['retry-after']]
    t.strictSame(sent, ['application/problem+json', 'no-store', name === 'waiting' ? '5' : undefined], name)
  }
})

t.test('long integers in what an app sends or throws are kept, at any depth and in strings', async (t) => {
  const long = 9007199254740993n
  const numbers = `"debt":-${long},"most":18446744073709551615,"count":9000000000000001`
  const kept = `"orders":[{"id":${long}}],"__proto__":{"id":${long}},"note":"id ${long}, not",${numbers}`
  const app = await appWith()
  await app.register(integerTwins)
  const error = new ProblemError('conflict', { status: 409, extensions: { order_id: long, n: 5n } })
  addRoutes(app, {
    sent: (reply) => reply.code(409).type('application/json').send(`{${kept}}`),
    thrown: () => Promise.reject(error),
  })
  for (const [url, members] of [
    ['/v1/sent', kept],
    ['/v1/thrown', `"order_id":${long},"n":5`],
  ] as const) {
    const response = await refuses(t, app, url, { status: 409, code: 'conflict' }, url)
    t.match(response.payload, members)
    t.equal(response.headers['content-length'], String(response.rawPayload.length))
  }
})

function addRoutes(app: FastifyInstance, writes: Writes, config = {}): FastifyInstance {
  for (const [name, write] of Object.entries(writes)) {
    const onSend = name === 'hook' ? failing : []
    app.get(`/v1/${name}`, { config, onSend }, async (_, reply) => write(reply))
  }
  return app
}

function withoutDate({ statusCode, payload, headers }: Awaited<ReturnType<FastifyInstance['inject']>>) {
  const { date: _, ...others } = headers
  return { statusCode, payload, headers: others }
}
