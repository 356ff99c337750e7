import { once } from 'node:events'
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2'
import Fastify from 'fastify'
import t from 'tap'
import conventions, { serverOptions } from '../../../src/index.js'
import { type AnyAnswer, isProblem } from '../../support/problem.js'
import { exchange, parseAnswers, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const json = { schema: { response: { 200: { type: 'object' } } } }

t.test('HEAD has the headers of the problem and no body (RFC 9110 §9.3.2)', async (t) => {
  const app = Fastify(serverOptions())
  await app.register(conventions)
  app.get('/v1/users', json, async () => ({}))
  app.get('/v1/payments', async () => Promise.reject(new Error('broken')))
  app.post('/v1/orders', async () => ({}))
  const { port } = await serve(t, app)
  const table = [
    ['/v1/payments', 500],
    ['/nothing', 404],
    ['/v1/Users', 404],
    ['/v1/orders', 405],
    [`/${'x'.repeat(200)}`, 414],
    ['/%zz', 400],
  ] as const

  for (const [target, status] of table) {
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
  app.get('/v1/users', json, async () => ({ users: [] }))
  app.get('/v1/payments', async () => Promise.reject(new Error('broken')))
  app.post('/v1/orders', { schema: { body: { type: 'object', required: ['name'] } } }, async () => ({}))
  const session = connect((await serve(t, app)).origin)

  const orders = { ':path': '/v1/orders', ':method': 'POST', 'content-type': 'application/json' }
  const table: ReadonlyArray<readonly [IncomingHttpHeaders, body: string, status: number, code: string]> = [
    [{ ':path': '/v1/payments' }, '', 500, 'internal-server-error'],
    [{ ':path': '/nothing' }, '', 404, 'not-found'],
    [{ ':path': '/v1/Users' }, '', 404, 'path-uppercase'],
    [{ ':path': '/v1/us%65rs' }, '', 404, 'path-encoded'],
    [{ ':path': '/v1/users', ':method': 'DELETE' }, '', 405, 'method-not-allowed'],
    [{ ':path': '/v1/users', ':method': 'FOO' }, '', 405, 'method-not-allowed'],
    [{ ':path': '/nothing', ':method': 'FOO' }, '', 404, 'not-found'],
    [{ ':path': '/v1/users', accept: 'text/html' }, '', 406, 'not-acceptable'],
    [{ ':path': '/%zz' }, '', 400, 'uri-malformed'],
    [{ ':path': `/v1/${'x'.repeat(200)}` }, '', 414, 'uri-too-long'],
    [orders, '{', 400, 'body-malformed'],
    [orders, '{}', 400, 'validation'],
    [{ ...orders, 'content-type': 'text/html' }, 'x', 415, 'unsupported-media-type'],
  ]
  for (const [headers, body, status, code] of table) {
    isProblem(t, await over(session, headers, body), { status, code }, `${headers[':path']} ${code}`)
  }
  const served = await over(session, { ':path': '/v1/users' })
  t.equal(served.status, 200, 'HTTP/2 needs no Host header')
  const head = await over(session, { ':path': '/v1/payments', ':method': 'HEAD' })
  t.match(head, { status: 500, body: '' }, 'HEAD has no body over HTTP/2 either')
  const answer = await over(session, { ':path': '/v1/users', ':method': 'OPTIONS' })
  t.match(answer, { status: 204, body: '', headers: { allow: 'GET, HEAD, OPTIONS' } })
  const unknown = { ':path': '/v1/users', ':method': 'FOO' }
  const headers = { allow: 'GET, HEAD, OPTIONS', 'x-frame-options': 'DENY' }
  t.match(await over(session, unknown), { status: 405, headers }, 'no hook sees it, but the first steps do')
  await app.maintenance.enable()
  t.match(await over(session, unknown), { status: 503, headers: { 'retry-after': /./ } })
  session.close()
})

async function over(
  session: ClientHttp2Session,
  headers: IncomingHttpHeaders,
  sent = '',
): Promise<AnyAnswer> {
  const stream = session.request(headers, { endStream: sent === '' })
  if (sent !== '') stream.end(sent)
  let body = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    body += chunk
  })
  const [[received]] = await Promise.all([once(stream, 'response'), once(stream, 'close')])
  return { status: Number(received[':status']), headers: received, body }
}
