import Fastify from 'fastify'
import t from 'tap'
import { caching, ProblemError, problems, serverOptions } from '../../../src/index.js'
import { isProblem } from '../../support/problem.js'
import { ask } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const withoutHost = 'GET /v1/users HTTP/1.1\r\nConnection: close\r\n\r\n'

t.test('a request without Host is refused where the route enforces, whatever the plugin', async (t) => {
  for (const mode of ['report', 'off'] as const) {
    const app = Fastify(serverOptions())
    await app.register(problems, { mode })
    app.get('/v1/users', async () => ({}))
    app.get('/v1/own', { config: { problems: { mode: 'enforce' } } }, async () => ({}))
    const { port } = await serve(t, app)
    t.equal((await ask(port, withoutHost)).status, 200, mode)
    const refused = await ask(port, withoutHost.replace('users', 'own'))
    isProblem(t, refused, { status: 400, code: 'request-malformed' }, mode)
  }
})

t.test('RFC 9112 §3.2: a second Host is refused, also after more fields than Node.js reads', async (t) => {
  const app = Fastify(serverOptions())
  await app.register(problems)
  app.get('/v1/users', async () => ({}))
  const { port } = await serve(t, app)
  for (const others of [0, 1_100]) {
    const fields = `Host: a\r\n${'A: b\r\n'.repeat(others)}Host: a\r\nConnection: close`
    const answer = await ask(port, `GET /v1/users HTTP/1.1\r\n${fields}\r\n\r\n`)
    isProblem(t, answer, { status: 400, code: 'request-malformed' }, `${others} fields between`)
  }
})

t.test('an app may answer an expectation by itself', async (t) => {
  const app = Fastify()
  app.server.on('checkExpectation', (_, response) => response.writeHead(418).end())
  await app.register(problems)
  app.get('/v1/users', async () => ({}))
  const { port } = await serve(t, app)
  const request = 'GET /v1/users HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: a-miracle\r\n\r\n'
  t.equal((await ask(port, request)).status, 418)
})

t.test('an unknown expectation is a problem, but not in report mode (RFC 9110 §10.1.1)', async (t) => {
  for (const mode of ['enforce', 'report'] as const) {
    const app = Fastify(serverOptions())
    await app.register(problems, { mode })
    app.get('/v1/users', async () => ({}))
    const { port } = await serve(t, app)
    const request = 'GET /v1/users HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: a-miracle\r\n\r\n'
    const answer = await ask(port, request)
    t.equal(answer.status, 417)
    const among = { expect: 'a-miracle, 100-continue' }
    t.equal((await app.inject({ url: '/v1/users', headers: among })).statusCode, 200)
    if (mode === 'enforce') isProblem(t, answer, { status: 417, code: 'expectation-failed' })
    else t.notOk('content-type' in answer.headers, 'as Node.js answers')
  }
})

t.test('RFC 9112 §6.1: after Transfer-Encoding in HTTP/1.0 the connection ends', async (t) => {
  const app = Fastify(serverOptions())
  await app.register(problems)
  app.post('/v1/users', async () => ({}))
  const { port } = await serve(t, app)
  for (const [host, status] of [
    ['a', 200],
    ['a b', 400],
  ] as const) {
    const fields = `Host: ${host}\r\nContent-Type: application/json\r\nConnection: keep-alive\r\n`
    const chunked = 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
    const answer = await ask(port, `POST /v1/users HTTP/1.0\r\n${fields}${chunked}`)
    t.strictSame([answer.status, answer.headers.connection], [status, 'close'], host)
  }
})

t.test('report mode counts what would be refused, by its rule', async (t) => {
  const app = Fastify(serverOptions())
  await app.register(problems, { mode: 'report' })
  const schema = { response: { 200: { type: 'object' } } }
  app.get('/v1/users', { schema }, async () => ({}))
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
  const app = Fastify()
  await app.register(problems)
  await app.register(caching)
  const ofFile = {
    'content-location': '/v1/files/1.csv',
    'content-disposition': 'attachment; filename="1.csv"',
    'repr-digest': 'sha-256=:AA==:',
    'accept-ranges': 'bytes',
    etag: '"v7"',
    'last-modified': 'Fri, 20 Nov 2026 10:00:00 GMT',
  }
  const others = { 'content-type': 'text/csv', 'content-language': 'de', 'x-request-cost': '3' }
  const link = '</v1/files?page=2>; rel="next", </v2>; rel="successor-version"'
  const file = { ...ofFile, ...others, link }
  app.get('/v1/files/1', (_, reply) => reply.headers(file).send('a,b'))
  app.get('/v1/files/2', async (_, reply) => {
    reply.headers(file)
    throw new ProblemError('not-found', { headers: { 'content-language': 'en' } })
  })
  for (const [url, status, language] of [
    ['/v1/files/1', 412, undefined],
    ['/v1/files/2', 404, 'en'],
  ] as const) {
    const { statusCode, headers } = await app.inject({ url, headers: { 'if-match': '"v6"' } })
    t.equal(statusCode, status)
    t.equal(headers['content-type'], 'application/problem+json')
    t.equal(headers['content-language'], language, 'the problem may have its own')
    for (const name of Object.keys(ofFile)) t.notOk(name in headers, `${status} ${name}`)
    t.equal(headers.link, '</v2>; rel="successor-version"', 'what is about the service stays')
    t.equal(headers['x-request-cost'], '3')
  }
})
