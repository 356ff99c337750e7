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

t.test('an unknown expectation is a problem, but not in report mode (RFC 9110 §10.1.1)', async (t) => {
  for (const mode of ['enforce', 'report'] as const) {
    const app = Fastify(serverOptions())
    await app.register(problems, { mode })
    app.get('/v1/users', async () => ({}))
    const { port } = await serve(t, app)
    const request = 'GET /v1/users HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: a-miracle\r\n\r\n'
    const answer = await ask(port, request)
    t.equal(answer.status, 417)
    if (mode === 'enforce') isProblem(t, answer, { status: 417, code: 'expectation-failed' })
    else t.notOk('content-type' in answer.headers, 'as Node.js answers')
  }
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
