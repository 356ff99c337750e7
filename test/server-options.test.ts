import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { type ConventionServerOptions, serverOptions } from '../src/index.js'
import { keepLogs, levels } from './support/logs.js'
import { injected, isProblem } from './support/problem.js'
import { ask, requestBytes } from './support/raw.js'
import { serve } from './support/serve.js'

const host = 'Host: localhost\r\nConnection: close\r\n'
const malformed = { status: 400, code: 'request-malformed', title: 'Malformed request' }
const noRequest = 'The received bytes are not an HTTP/1.1 request'

t.test('bytes that are not an HTTP/1.1 request get a 400 problem', async (t) => {
  const { port } = await service(t)
  const table: ReadonlyArray<readonly [about: string, bytes: string]> = [
    ['no request line', 'GARBAGE\r\n\r\n'],

    ['a method that is none', `FETCH /v1/users HTTP/1.1\r\n${host}\r\n`],

    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a handshake of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['a space in the target', `GET /v1/users/a b HTTP/1.1\r\n${host}\r\n`],
    ['a target that is relative', `GET v1/users HTTP/1.1\r\n${host}\r\n`],
    ['a byte above 127 in the target', `GET /v1/\xe4 HTTP/1.1\r\n${host}\r\n`],
    ['a field without a colon', `GET /v1/users HTTP/1.1\r\n${host}Bad\r\n\r\n`],
    ['a space before the colon, RFC 9112 §5.1', `GET /v1/users HTTP/1.1\r\n${host}X : y\r\n\r\n`],
    ['a folded field, RFC 9112 §5.2', `GET /v1/users HTTP/1.1\r\n${host}X: a\r\n b\r\n\r\n`],
    ['a control character in a field', `GET /v1/users HTTP/1.1\r\n${host}X: a\x01b\r\n\r\n`],
    ['two lengths, RFC 9112 §6.3', post('Content-Length: 1\r\nContent-Length: 2', 'ab')],
    ['a length and chunks, RFC 9112 §6.1', post('Content-Length: 1\r\nTransfer-Encoding: chunked', '0')],
    ['a length that is none', post('Content-Length: -1', '')],
    ['a chunk size that is none', post('Transfer-Encoding: chunked', 'zz\r\n')],
  ]
  for (const [about, bytes] of table) {
    const answer = await ask(port, bytes)
    isProblem(t, answer, { ...malformed, detail: noRequest }, about)
    t.equal(answer.reason, 'Bad Request', about)
    t.equal(answer.headers.connection, 'close', `${about}: the connection ends`)
    t.match(answer.headers.date, /GMT$/, `${about}: RFC 9110 §6.6.1`)
  }
})

t.test('a URL that the router refuses gets a problem', async (t) => {
  const { app, port } = await service(t)
  const uri = { status: 400, code: 'uri-malformed', title: 'Malformed URI' }
  const long = { status: 414, code: 'uri-too-long', title: 'URI too long' }
  const table = [
    ['/%zz', uri],
    ['/v1/users/%', uri],
    ['/v1/users/%c3%28', uri],
    ['http://localhost/%zz', uri],
    [`/v1/users/${'a'.repeat(5000)}`, long],
    [`/v1/users/${'a'.repeat(101)}?x=y`, long],
  ] as const
  for (const [target, expected] of table) {
    const document = isProblem(t, await ask(port, requestBytes('GET', target)), expected, target.slice(0, 40))
    t.match(document.instance, /^urn:request:req-/, 'the occurrence')
  }
  isProblem(t, injected(await app.inject('/%zz')), uri, 'through inject')
})

t.test('problems of malformed URLs are logged with the request id', async (t) => {
  const logs = keepLogs('info')
  const app = Fastify({ ...serverOptions(), logger: logs.logger })
  const { instance } = (await app.inject('/%zz')).json()

  const line = logs.lines.find(({ err }) => err !== undefined)
  t.match(line, { level: levels.info, err: { code: 'FST_ERR_BAD_URL' }, res: { statusCode: 400 } })
  t.equal(instance, `urn:request:${line?.reqId}`)
})

t.test('the preflight of a malformed URL is a 204, and the log has no error', async (t) => {
  const logs = keepLogs('info')
  const app = Fastify({ ...serverOptions(), logger: logs.logger })
  await app.register(conventions, { cors: { origin: ['https://app.example'] } })
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'PUT' }
  for (const isInMaintenance of [false, true]) {
    if (isInMaintenance) app.maintenance.enable({})
    logs.lines.length = 0
    const { statusCode } = await app.inject({ method: 'OPTIONS', url: '/%zz', headers })
    t.equal(statusCode, 204)
    const lines = logs.lines.filter(({ reqId }) => reqId !== undefined)
    t.match(lines, { length: 1, 0: { msg: 'incoming request' } }, 'no line with what was not sent')
    t.equal((await app.inject('/%zz')).headers.vary, 'Origin', `maintenance: ${isInMaintenance}`)
  }
})

t.test('a missing Host is a 400 in HTTP/1.1 and allowed in HTTP/1.0 (RFC 9112 §3.2)', async (t) => {
  const { port } = await service(t)
  const expected = { ...malformed, detail: 'An HTTP/1.1 request must have a Host header' }

  for (const target of ['/v1/users', '/nothing']) {
    const answer = await ask(port, `GET ${target} HTTP/1.1\r\nConnection: close\r\n\r\n`)
    isProblem(t, answer, expected, target)
  }
  t.equal((await ask(port, 'GET /v1/users HTTP/1.0\r\n\r\n')).status, 200)
  const empty = 'GET /v1/users HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'
  t.equal((await ask(port, empty)).status, 200, 'an empty one')
})

t.test('targets in the other forms (RFC 9112 §3.2)', async (t) => {
  const { port } = await service(t)
  const whole = await ask(port, requestBytes('GET', 'http://localhost/v1/users'))
  t.equal(whole.body, '{"users":[]}', 'absolute form')
  const absolute = await ask(port, requestBytes('DELETE', 'http://localhost/v1/users'))
  isProblem(t, absolute, { status: 405, code: 'method-not-allowed' }, 'absolute form, another method')

  const server = await ask(port, requestBytes('OPTIONS', '*'))
  t.match({ status: server.status, body: server.body }, { status: 204, body: '' }, 'asterisk form')
})

t.test('methods that Node.js knows and the app does not', async (t) => {
  const { port } = await service(t)
  for (const method of ['TRACE', 'PROPFIND', 'M-SEARCH']) {
    const known = await ask(port, requestBytes(method, '/v1/users'))
    isProblem(t, known, { status: 405, code: 'method-not-allowed' }, `${method} on a known path`)
    t.equal(known.headers.allow, 'GET, HEAD, OPTIONS, POST', method)
    const unknown = await ask(port, requestBytes(method, '/nothing'))
    isProblem(t, unknown, { status: 404, code: 'not-found' }, `${method} on an unknown path`)
  }
})

t.test('an unknown expectation is a 417 (RFC 9110 §10.1.1)', async (t) => {
  const { port } = await service(t)
  for (const expect of ['x', '200-ok']) {
    const answer = await ask(port, requestBytes('GET', '/v1/users', { expect }))
    isProblem(t, answer, { status: 417, code: 'expectation-failed', title: 'Expectation failed' }, expect)
  }
  const unknown = await ask(port, requestBytes('GET', '/nothing', { expect: 'x' }))
  isProblem(t, unknown, { status: 404, code: 'not-found' })
  const json = { 'content-type': 'application/json', expect: '100-continue' }
  const expected = await ask(port, requestBytes('POST', '/v1/users', json, '{}'))
  t.equal(expected.status, 200, '100-continue is known')
})

t.test('without a plugin, typeBase is the prefix of the types', async (t) => {
  const typeBase = 'https://errors.example/'
  const app = Fastify(serverOptions({ typeBase }))
  const { port } = await serve(t, app)

  isProblem(t, await ask(port, 'GARBAGE\r\n\r\n'), { ...malformed, typeBase })
  isProblem(t, await ask(port, requestBytes('GET', '/%zz')), { status: 400, code: 'uri-malformed', typeBase })
})

t.test('an invalid option throws, with its name, the expected and the received value', async (t) => {
  t.throws(() => serverOptions({ typeBase: '' }), {
    code: 'FST_CONV_OPTION_INVALID',
    message:
      "serverOptions.typeBase: expected the beginning of a URI, such as 'https://api.example/problems#', received ''",
  })
  t.throws(() => serverOptions({ base: 'x' } as object), {
    code: 'FST_CONV_OPTION_UNKNOWN',
    message: 'serverOptions.base: there is no such option; expected one of fastTicks, typeBase',
  })
})

t.test('options after the spread replace those of serverOptions()', async (t) => {
  const options: ConventionServerOptions = serverOptions()
  const app = Fastify({
    ...options,
    frameworkErrors: ({ code }: FastifyError, _request: unknown, reply: FastifyReply) =>
      void reply.code(418).send({ own: code }),
  })
  const response = await app.inject('/%zz')
  t.equal(response.statusCode, 418)
  t.strictSame(response.json(), { own: 'FST_ERR_BAD_URL' })
})

async function service(t: Test): Promise<{ app: FastifyInstance; port: number }> {
  const app = Fastify(serverOptions())
  await app.register(conventions)
  app.get('/v1/users', async () => ({ users: [] }))
  app.post('/v1/users', async () => ({}))
  app.get('/v1/users/:id', async () => ({}))
  const { port } = await serve(t, app)
  return { app, port }
}

function post(fields: string, body: string): string {
  return `POST /v1/users HTTP/1.1\r\n${host}Content-Type: application/json\r\n${fields}\r\n\r\n${body}`
}
