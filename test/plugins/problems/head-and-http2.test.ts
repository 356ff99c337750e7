import { connect } from 'node:http2'
import Fastify from 'fastify'
import t from 'tap'
import conventions, { serverOptions } from '../../../src/index.js'
import { askOver } from '../../support/http2.js'
import { isProblem } from '../../support/problem.js'
import { exchange, parseAnswers, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

t.test('HEAD has the headers of the problem and no body (RFC 9110 §9.3.2)', async (t) => {
  const app = Fastify(serverOptions())
  await app.register(conventions)
  app.get('/v1/payments', async () => Promise.reject(new Error('broken')))
  app.post('/v1/orders', async () => ({}))
  const { port } = await serve(t, app)
  for (const [target, status] of [
    ['/v1/payments', 500],
    ['/v1/orders', 405],
    ['/%zz', 400],
  ] as const) {
    const bytes = await exchange(port, requestBytes('HEAD', target))
    const end = bytes.indexOf('\r\n\r\n')
    t.equal(bytes.slice(end + 4), '', `${target}: nothing after the headers`)
    const [answer] = parseAnswers(bytes)
    t.equal(answer?.status, status, target)
    t.equal(answer?.headers['content-type'], 'application/problem+json', target)
    if (status === 405) t.equal(answer?.headers.allow, 'OPTIONS, POST')
  }
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
  t.match(
    await askOver(session, unknown),
    { status: 405, headers },
    'no hook sees it, but the first steps do',
  )
  await app.maintenance.enable()
  t.match(await askOver(session, unknown), { status: 503, headers: { 'retry-after': /./ } })
  session.close()
})
