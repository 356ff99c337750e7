import { EventEmitter, once } from 'node:events'
import { connect } from 'node:http2'
import Fastify, { type FastifyInstance, type RouteShorthandOptions } from 'fastify'
import t, { type Test } from 'tap'
import conventions, {
  caching,
  ProblemError,
  type ProblemsOptions,
  problems,
  serverOptions,
} from '../../../src/index.js'
import { askOver } from '../../support/http2.js'
import { injected, isProblem } from '../../support/problem.js'
import { ask, openConnection, parseAnswers, type RawAnswer, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { appWith } from './support.js'

const withoutHost = (path: string) => `GET ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`
const expecting = requestBytes('GET', '/v1/users', { expect: 'a-miracle' })
const object = { type: 'object' }
const json = { schema: { response: { 200: object } } }
const malformed = { status: 400, code: 'request-malformed' }

function addRoutes(app: FastifyInstance): FastifyInstance {
  app.route({ method: ['GET', 'POST'], url: '/v1/users', ...json, handler: async () => ({}) })
  app.get('/v1/own', { config: { problems: { mode: 'enforce' } } }, async () => ({}))
  return app
}

t.test('a missing Host and an unknown expectation are refused where the route enforces', async (t) => {
  for (const [mode, ofHost, ofExpect] of [
    ['enforce', 400, 417],
    ['report', 200, 417],
    ['off', 200, 417],
  ] as const) {
    const app = addRoutes(await appWith({ mode }, serverOptions()))
    const { port } = await serve(t, app)
    t.equal((await ask(port, withoutHost('/v1/users'))).status, ofHost, mode)
    isProblem(t, await ask(port, withoutHost('/v1/own')), malformed, mode)
    const unknown = await ask(port, expecting)
    if (mode === 'enforce') isProblem(t, unknown, { status: ofExpect, code: 'expectation-failed' })
    else t.strictSame([unknown.status, unknown.headers['content-type']], [ofExpect, undefined], 'of Node.js')
    const among = { expect: 'a-miracle, 100-continue' }
    t.equal((await app.inject({ url: '/v1/users', headers: among })).statusCode, 200)
  }
})

t.test('an app may answer an expectation by itself', async (t) => {
  const app = Fastify()
  app.server.on('checkExpectation', (_, response) => response.writeHead(418).end())
  await app.register(problems)
  const { port } = await serve(t, addRoutes(app))
  t.equal((await ask(port, expecting)).status, 418)
})

t.test('RFC 9112 §3.2, §6.1: a second Host is refused; Transfer-Encoding in HTTP/1.0 ends it', async (t) => {
  const { port } = await serve(t, addRoutes(await appWith({}, serverOptions())))
  // Node.js reads 1,000 fields.
  for (const others of [0, 1_100]) {
    const fields = `Host: a\r\n${'A: b\r\n'.repeat(others)}Host: a\r\nConnection: close`
    const answer = await ask(port, `GET /v1/users HTTP/1.1\r\n${fields}\r\n\r\n`)
    isProblem(t, answer, malformed, `${others} fields between`)
  }
  for (const [host, status] of [
    ['Host: a\r\n', 200],
    ['Host: a b\r\n', 400],
    ['', 200],
  ] as const) {
    const fields = `${host}Content-Type: application/json\r\nConnection: keep-alive\r\n`
    const chunked = 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
    const answer = await ask(port, `POST /v1/users HTTP/1.0\r\n${fields}${chunked}`)
    t.strictSame([answer.status, answer.headers.connection], [status, 'close'], host)
  }
})

t.test('report mode counts what would be refused, by its rule', async (t) => {
  const app = addRoutes(await appWith({ mode: 'report' }, serverOptions()))
  for (const headers of [{ expect: 'a-miracle' }, { host: 'a b' }, { accept: 'text/html' }])
    t.equal((await app.inject({ url: '/v1/users', headers })).statusCode, 200)
  const told = app.conventions.report().observations.map(({ rule, status }) => [rule, status])
  t.strictSame(told, [
    ['header-fields', 417],
    ['header-fields', 400],
    ['accept', 406],
  ])
})

t.test('a problem after the handler keeps no header of the response that it replaces', async (t) => {
  const app = await appWith()
  await app.register(caching)
  const ofFile = { 'content-location': '/v1/files/1.csv', 'accept-ranges': 'bytes', etag: '"v7"' }
  const others = { 'content-type': 'text/csv', 'content-language': 'de', 'x-request-cost': '3' }
  const link = '</v1/files?page=2>; rel="next", </v2>; rel="successor-version"'
  const file = { ...ofFile, ...others, link }
  app.get('/v1/files/1', (_, reply) => reply.headers(file).send('a,b'))
  app.get('/v1/files/2', async (_, reply) => {
    reply.headers(file)
    throw new ProblemError('not-found', { headers: { 'content-language': 'en' } })
  })
  const kept = { 'x-request-cost': '3', link: '</v2>; rel="successor-version"' }
  for (const [url, status, language] of [
    ['/v1/files/1', 412, undefined],
    ['/v1/files/2', 404, 'en'],
  ] as const) {
    const { statusCode, headers } = await app.inject({ url, headers: { 'if-match': '"v6"' } })
    t.equal(statusCode, status)
    t.match(headers, { ...kept, 'content-type': 'application/problem+json' }, 'what is about the service')
    t.equal(headers['content-language'], language, 'the problem may have its own')
    for (const name of Object.keys(ofFile)) t.notOk(name in headers, `${status} ${name}`)
  }
})

t.test('406 if Accept has no media type of the route (RFC 9110 §12.5.1, §15.5.7)', async (t) => {
  let runs = 0
  const app = await appWith()
  app.get('/v1/users', json, async () => ({ runs: ++runs }))
  const expected = { status: 406, code: 'not-acceptable', title: 'Not acceptable' }
  const detail = 'The resource is available as application/json'
  for (const [headers, status] of [
    [{}, 200],
    [{ accept: 'application/json' }, 200],
    [{ accept: '' }, 200],
    [{ accept: 'text/html, APPLICATION/JSON;q=0.1' }, 200],
    [{ accept: '*/*, application/json;q=0' }, 406],
    [{ accept: '*/*' }, 200],
    [{ accept: 'application/problem+json' }, 406],
  ] as const) {
    const about = JSON.stringify(headers)
    const response = await app.inject({ url: '/v1/users', headers })
    if (status === 406) isProblem(t, injected(response), { ...expected, detail }, about)
    t.equal(response.headers.vary, status === 406 ? 'accept' : undefined, 'RFC 9110 §12.5.5')
    const head = await app.inject({ method: 'HEAD', url: '/v1/users', headers })
    t.strictSame([response.statusCode, head.statusCode, head.payload], [status, status, ''], about)
    t.equal(runs, status === 406 ? 0 : 2, `${about}: the handler`)
    runs = 0
  }
})

t.test('the media types of a route are those of its response schema', async (t) => {
  const csv = { content: { 'text/csv': { schema: object } } }
  for (const [options, accept, status] of [
    [{}, 'text/html', 200],
    [{ schema: { response: { 404: object } } }, 'text/html', 200],
    [{ schema: { response: { 200: object, 201: csv } } }, 'text/csv', 200],
    [{ schema: { response: { 200: csv } } }, 'application/json', 406],
    [{ ...json, config: { problems: false } }, 'text/html', 200],
  ] as [RouteShorthandOptions, string, number][]) {
    const app = await appWith()
    app.get('/v1/users', options, async (_request, reply) => reply.type('application/json').send('{}'))
    const { statusCode } = await app.inject({ url: '/v1/users', headers: { accept } })
    t.equal(statusCode, status, `${JSON.stringify(options)}, Accept: ${accept}`)
  }
})

const alive = { connection: 'keep-alive' }

t.test('while the server closes, an open connection gets 503 with Retry-After, and ends', async (t) => {
  for (const [options, path, status, connection, idle] of [
    [{}, '/v1/users', 503, 'close', 1_000],
    [{}, '/nothing', 503, 'close', 1_000],
    [{ whileClosing: 'serve' }, '/v1/users', 200, 'close', 1_000],
    [{ whileClosing: 'serve' }, '/v1/written', 409, 'close', 1_000],
    [{ mode: 'report' }, '/v1/users', 200, 'keep-alive', 72_000],
  ] as const) {
    const about = `${JSON.stringify(options)} ${path}`
    const { during, before, keepAliveTimeout, counted } = await requestWhileClosing(t, options, path)
    t.match(before, { status: 200, headers: { connection } }, `${about}: the request in flight finishes`)
    t.equal(during.status, status, about)
    t.equal(during.headers['retry-after'], status === 503 ? '5' : undefined, about)
    t.equal(keepAliveTimeout, idle, `${about}: how long a connection may be idle`)
    if (connection === 'close') t.equal(during.headers.connection, 'close', about)
    t.strictSame(counted, options.mode === 'report' ? ['header added', 'changed', 'refused'] : [], about)
    const detail = 'The server is closing; try again'
    if (status === 503) isProblem(t, during, { status, code: 'server-closing', detail }, about)
  }
})

t.test('while the server closes, a session of HTTP/2 ends with its last stream', async (t) => {
  const options: object = serverOptions()
  const app = Fastify({ ...options, http2: true }) as unknown as FastifyInstance
  await app.register(problems)
  const { entered, release, closing } = addHeldRoute(app)
  const { origin } = await serve(t, app)
  const [idle, busy] = [connect(origin), connect(origin)]
  t.teardown(() => {
    idle.destroy()
    busy.destroy()
  })
  await Promise.all([once(idle, 'connect'), once(busy, 'connect')])
  const stream = busy.request({ ':path': '/v1/users' })
  await entered

  const ends = Promise.all([once(idle, 'close'), once(busy, 'close')])
  const closed = app.close()
  await closing
  const response = once(stream, 'response')
  release()
  t.match((await response)[0], { ':status': 200 }, 'the request in flight finishes')
  stream.resume()
  await ends
  await closed
})

t.test('errors are the same problems over HTTP/2', async (t) => {
  const options: object = serverOptions()
  const app = Fastify({ ...options, http2: true })
  await app.register(conventions)
  app.get('/v1/users', async () => ({ users: [] }))
  app.post('/v1/orders', async () => ({}))
  const session = connect((await serve(t, app)).origin)
  const isJson = { 'content-type': 'application/json' }
  for (const [method, path, status, code, body, fields] of [
    ['DELETE', '/v1/users', 405, 'method-not-allowed'],
    ['FOO', '/nothing', 404, 'not-found'],
    ['GET', '/%zz', 400, 'uri-malformed'],
    ['POST', '/v1/orders', 400, 'body-malformed', ['{'], isJson],
  ] as const) {
    const answer = await askOver(session, { ':path': path, ':method': method, ...fields }, body)
    isProblem(t, answer, { status, code }, `${method} ${path}`)
  }
  const served = await askOver(session, { ':path': '/v1/users' })
  t.equal(served.status, 200, 'HTTP/2 needs no Host header')
  const head = await askOver(session, { ':path': '/nothing', ':method': 'HEAD' })
  t.match(head, { status: 404, body: '' }, 'HEAD has no body over HTTP/2 either')
  const answer = await askOver(session, { ':path': '/v1/users', ':method': 'OPTIONS' })
  t.match(answer, { status: 204, body: '', headers: { allow: 'GET, HEAD, OPTIONS' } })
  const unknown = { ':path': '/v1/users', ':method': 'FOO' }
  const headers = { allow: 'GET, HEAD, OPTIONS', 'x-frame-options': 'DENY' }
  t.match(await askOver(session, unknown), { status: 405, headers }, 'no hook sees it, the first steps do')
  await app.maintenance.enable()
  t.match(await askOver(session, unknown), { status: 503, headers: { 'retry-after': /./ } })
  session.close()
})

/** Holds a request back, begins to close the server, and sends a second one on a connection that was accepted before. */
async function requestWhileClosing(t: Test, options: ProblemsOptions, path: string) {
  const app = await appWith(options, serverOptions())
  const { entered, release, closing } = addHeldRoute(app)
  app.get('/v1/written', async (_, reply) => reply.code(409).send({ message: 'no' }))
  const { port } = await serve(t, app)

  const held = await openConnection(port)
  const accepted = once(app.server, 'connection')
  const other = await openConnection(port)
  await accepted
  held.send(requestBytes('GET', '/v1/users', alive))
  await entered
  const closed = app.close()
  await closing
  const arrived = once(app.server, 'request')
  other.send(requestBytes('GET', path, alive))
  await arrived
  release()
  const { keepAliveTimeout } = app.server
  // The connections of the report mode stay.
  if (options.mode === 'report') app.server.keepAliveTimeout = 1
  const answers = [...parseAnswers(await held.ended()), ...parseAnswers(await other.ended())]
  await closed
  const [before, during] = answers as RawAnswer[] as [RawAnswer, RawAnswer]
  const ofServer = app.conventions.report().observations.filter(({ rule }) => rule === 'server')
  return { before, during, keepAliveTimeout, counted: ofServer.map(({ effect }) => effect) }
}

/** A route that answers once it is released. */
function addHeldRoute(app: FastifyInstance) {
  const events = new EventEmitter()
  const [entered, released, closing] = ['entered', 'released', 'closing'].map((name) => once(events, name))
  app.addHook('preClose', async () => void events.emit('closing'))
  app.get('/v1/users', async () => {
    events.emit('entered')
    await released
    return {}
  })
  return { entered, release: () => events.emit('released'), closing }
}
