/** Requests as bytes over sockets: what Node.js and the router refuse before a hook runs, and what `serverOptions()` answers. */
import { once } from 'node:events'
import { METHODS } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import websocket from '@fastify/websocket'
import Fastify, { type FastifyHttpOptions, type RawServerDefault } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { problems, securityHeaders, serverOptions } from '../../src/index.js'
import { keepLogs, levels } from '../support/logs.js'
import { isProblem } from '../support/problem.js'
import { ask, exchange, openConnection, parseAnswers, requestBytes } from '../support/raw.js'
import { serve } from '../support/serve.js'

const host = 'Host: localhost\r\nConnection: close\r\n'
const malformed = { status: 400, code: 'request-malformed', title: 'Malformed request' }
const malformedUri = { status: 400, code: 'uri-malformed', title: 'Malformed URI' }
const tooLarge = {
  status: 431,
  code: 'header-fields-too-large',
  title: 'Request header fields too large',
  detail: 'The request target and header fields together are larger than this server accepts',
}

t.test('bytes that are not an HTTP/1.1 request get a 400 problem', async (t) => {
  const { port } = await service(t)
  const post = `POST /v1/users HTTP/1.1\r\n${host}Content-Type: application/json\r\n`
  for (const [about, bytes] of [
    ['no request line', 'GARBAGE\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a handshake of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['a space in the target', `GET /v1/users/a b HTTP/1.1\r\n${host}\r\n`],
    ['a control character in a field', `GET /v1/users HTTP/1.1\r\n${host}X: a\x01b\r\n\r\n`],
    ['two lengths, RFC 9112 §6.3', `${post}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
    ['a chunk size that is none', `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
  ] as const) {
    const answer = await ask(port, bytes)
    isProblem(t, answer, { ...malformed, detail: 'The received bytes are not an HTTP/1.1 request' }, about)
    t.equal(answer.reason, 'Bad Request', about)
    t.equal(answer.headers.connection, 'close', `${about}: the connection ends`)
    t.match(answer.headers.date, /GMT$/, `${about}: RFC 9110 §6.6.1`)
  }
})

t.test('a URL that the router refuses gets a problem', async (t) => {
  const { port } = await service(t)
  const long = { status: 414, code: 'uri-too-long', title: 'URI too long' }
  for (const [target, expected] of [
    ['/%zz', malformedUri],
    ['/v1/users/%c3%28', malformedUri],
    ['http://localhost/%zz', malformedUri],
    [`/v1/users/${'a'.repeat(5000)}`, long],
    [`/v1/users/${'a'.repeat(101)}?x=y`, long],
  ] as const) {
    const document = isProblem(t, await ask(port, requestBytes('GET', target)), expected, target.slice(0, 40))
    t.match(document.instance, /^urn:request:req-/, 'the occurrence')
  }
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
    t.equal((await app.inject({ method: 'OPTIONS', url: '/%zz', headers })).statusCode, 204)
    const lines = logs.lines.filter(({ reqId }) => reqId !== undefined)
    t.match(lines, { length: 1, 0: { msg: 'incoming request' } }, 'no line with what was not sent')
    t.equal((await app.inject('/%zz')).headers.vary, 'Origin', `maintenance: ${isInMaintenance}`)
  }
})

t.test('a missing, invalid or repeated Host is a 400; HTTP/1.0 needs none (RFC 9112 §3.2)', async (t) => {
  const { port } = await service(t)
  const missing = { ...malformed, detail: 'An HTTP/1.1 request must have a Host header' }
  const send = (target: string, fields: string, version = '1.1') =>
    ask(port, `GET ${target} HTTP/${version}\r\n${fields}Connection: close\r\n\r\n`)
  for (const target of ['/v1/users', '/v1/nothing']) {
    isProblem(t, await send(target, ''), missing, target)
    for (const value of ['a b', 'u@h', 'h:abc', 'a/b'])
      isProblem(t, await send(target, `Host: ${value}\r\n`), malformed, value)
    for (const version of ['1.0', '1.1'])
      isProblem(t, await send(target, 'Host: a\r\nhost: a\r\n', version), malformed, `twice in ${version}`)
  }
  t.equal((await send('/v1/users', '', '1.0')).status, 200, 'none in HTTP/1.0')
  for (const fields of ['Host:\r\n', 'Host: [::1]:80\r\n'])
    t.equal((await send('/v1/users', fields)).status, 200, fields)
})

t.test('targets in the other forms (RFC 9112 §3.2)', async (t) => {
  const { port } = await service(t)
  for (const [method, target, expected] of [
    ['GET', 'http://localhost/v1/users', { status: 200, body: '{"users":[]}' }],
    ['DELETE', 'http://localhost/v1/users', { status: 405, body: '"method-not-allowed"' }],
    ['OPTIONS', '*', { status: 204, body: /^$/ }],
    ['GET', 'http://a', { status: 404, body: '"There is nothing at /"' }],
    ['GET', 'http://a?secret=/B', { status: 404, body: /^[^B]+$/ }],
  ] as const)
    t.match(await ask(port, requestBytes(method, target)), expected, `${method} ${target}`)
})

t.test('methods that Node.js knows and the app does not are a 405, or a 404', async (t) => {
  const { port } = await service(t)
  for (const method of ['TRACE', 'PROPFIND', 'QUERY'].filter((name) => METHODS.includes(name))) {
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
  t.equal(
    (await ask(port, requestBytes('POST', '/v1/users', json, '{}'))).status,
    200,
    '100-continue is known',
  )
})

t.test('a request with an unknown expectation counts for maintenance, quota and log', async (t) => {
  const logs = keepLogs('info')
  const app = Fastify({ ...serverOptions(), logger: logs.logger })
  await app.register(conventions, { rateLimit: { max: 3 } })
  app.get('/v1/users', async () => ({ users: [] }))
  const { port } = await serve(t, app)
  const unmet = requestBytes('GET', '/v1/users', { expect: 'x' })
  app.maintenance.enable({})
  isProblem(t, await ask(port, unmet), { status: 503, code: 'maintenance' })
  app.maintenance.disable()
  for (const left of [2, 1, 0]) {
    const answer = await ask(port, unmet)
    isProblem(t, answer, { status: 417, code: 'expectation-failed' })
    t.match(answer.headers.ratelimit, `r=${left};`)
  }
  isProblem(t, await ask(port, unmet), { status: 429, code: 'quota-exceeded' })
  t.equal(logs.lines.filter(({ msg }) => msg === 'incoming request').length, 5)
})

t.test('typeBase is the prefix of the types: of serverOptions(), or of problems', async (t) => {
  const typeBase = 'https://errors.example/'
  const { port } = await serve(t, Fastify(serverOptions({ typeBase })))
  isProblem(t, await ask(port, 'GARBAGE\r\n\r\n'), { ...malformed, typeBase })
  isProblem(t, await ask(port, requestBytes('GET', '/%zz')), { ...malformedUri, typeBase })
  const app = Fastify()
  await app.register(problems, { typeBase })
  app.get('/', async () => ({}))
  const ofPlugin = await ask((await serve(t, app)).port, requestBytes('GET', '/', { expect: 'x' }))
  isProblem(t, ofPlugin, { status: 417, code: 'expectation-failed', typeBase })
})

t.test('an invalid option throws, with its name, the expected and the received value', async (t) => {
  t.throws(() => serverOptions({ typeBase: '' }), {
    code: 'FST_CONV_OPTION_INVALID',
    message: /^serverOptions\.typeBase: expected the beginning of a URI, such as '.*', received ''$/,
  })
  t.throws(() => serverOptions({ base: 'x' } as object), {
    code: 'FST_CONV_OPTION_UNKNOWN',
    message: 'serverOptions.base: there is no such option; expected one of fastTicks, typeBase',
  })
})

t.test('header fields of 300 kB get a 431 that the client receives (RFC 6585 §5)', async (t) => {
  const { port } = await service(t)
  const many = Array.from({ length: 10_000 }, (_, index) => [`x-field-${index}`, 'some value'])
  for (const [about, bytes] of [
    ['one field', requestBytes('GET', '/v1/users', { 'x-long': 'y'.repeat(300_000) })],
    ['many fields', requestBytes('GET', '/v1/users', Object.fromEntries(many))],
    ['the target', requestBytes('GET', `/${'y'.repeat(300_000)}`)],
  ] as const)
    isProblem(t, await ask(port, bytes), tooLarge, about)
})

t.test('the response reaches a client that continues to send before it reads', async (t) => {
  const { app, port } = await service(t)
  const failed = once(app.server, 'clientError')
  const connection = await openConnection(port)
  connection.socket.pause()
  connection.send(`GET /v1/users HTTP/1.1\r\nHost: localhost\r\nX: ${'y'.repeat(20_000)}`)
  await failed
  for (let part = 0; part < 10; part++)
    await new Promise<void>((resolve) => connection.socket.write('y'.repeat(20_000), () => resolve()))
  connection.socket.resume()
  await connection.received((bytes) => bytes.endsWith('}'))
  connection.socket.end()
  const [answer] = parseAnswers(await connection.ended())
  if (answer === undefined) throw new Error('there is no answer')
  isProblem(t, answer, tooLarge)
})

t.test('the extensions of a chunk have a limit too: 413', async (t) => {
  const { port } = await service(t)
  const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
  const bytes = `${requestBytes('POST', '/v1/users', headers)}2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`
  const expected = { status: 413, code: 'content-too-large', detail: /extensions of a chunk/ }
  isProblem(t, await ask(port, bytes), expected)
})

/** Node takes the shorter of the two for the header, so both are short. */
const inTime = (milliseconds: number) => ({
  requestTimeout: milliseconds,
  http: { ...serverOptions().http, headersTimeout: milliseconds, connectionsCheckingInterval: 20 },
})

t.test('a request that does not arrive completely in time is a 408 (RFC 9110 §15.5.9)', async (t) => {
  const { port } = await service(t, inTime(50))
  const json = 'Content-Type: application/json\r\nContent-Length: 9\r\n'
  const detail = 'The request was not received completely in time'
  for (const [bytes, about] of [
    ['GET /v1/us', 'a part of the request line'],
    ['GET /v1/users HTTP/1.1\r\nHost: localhost\r\nX', 'a part of the header'],
    [`POST /v1/users HTTP/1.1\r\nHost: localhost\r\n${json}\r\n{`, 'a part of the body'],
  ] as const)
    isProblem(t, await ask(port, bytes), { status: 408, code: 'request-timeout', detail }, about)
})

t.test('a slow body is cut off after the timeout, also after an early response', async (t) => {
  t.equal(serverOptions().requestTimeout, 60_000, 'no body takes for ever')
  const { port } = await service(t, inTime(100))
  const head = 'Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{'
  for (const target of ['/v1/users', '/v1/nothing', '/v1/Users']) {
    const connection = await openConnection(port)
    connection.send(`POST ${target} HTTP/1.1\r\n${head}`)
    const dripping = setInterval(() => connection.socket.writable && connection.send(' '), 20)
    const answers = parseAnswers(await connection.ended())
    clearInterval(dripping)
    t.equal(answers.length, 1, `${target}: one answer, and the connection ends`)
  }
})

t.test('a malformed request after a complete or pending one does not replace its response', async (t) => {
  const { port } = await service(t)
  const connection = await openConnection(port)
  connection.send('GET /v1/users HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await connection.received((bytes) => bytes.endsWith('{"users":[]}'))
  connection.send('GARBAGE\r\n\r\n')
  const [first, second] = parseAnswers(await connection.ended())
  t.equal(first?.status, 200)
  if (second === undefined) throw new Error('the broken request was not answered')
  isProblem(t, second, { status: 400, code: 'request-malformed' })

  const pending = await openConnection(port)
  pending.send('POST /v1/payments HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nGARBAGE\r\n\r\n')
  t.match(parseAnswers(await pending.ended())[0], { status: 200, body: '{"paid":true}' })
})

t.test('a malformed request after one with a started response does not change that response', async (t) => {
  const { app, port } = await service(t)
  const failed = once(app.server, 'clientError')
  const connection = await openConnection(port)
  connection.send('GET /v1/streams HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await connection.received((bytes) => bytes.includes('first part'))
  connection.send('GARBAGE\r\n\r\n')
  await failed
  const bytes = await connection.ended()
  t.equal(bytes.match(/HTTP\/1\.1 /g)?.length, 1, 'one status line')
  t.notMatch(bytes, 'problem')
})

t.test(
  'a client that disconnects, also while its request is handled, does not affect the server',
  async (t) => {
    const { app, port } = await service(t)
    const unfinished = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{'
    for (const bytes of ['', 'GET /v1/us', unfinished, requestBytes('GET', '/v1/delays')]) {
      const entered = bytes.includes('delays') ? once(app.server, 'delayed') : undefined
      const connection = await openConnection(port)
      connection.send(bytes)
      await entered
      connection.socket.resetAndDestroy()
      t.equal(await connection.ended().catch(() => ''), '', 'no response')
    }
    t.equal((await ask(port, requestBytes('GET', '/v1/users'))).status, 200)
  },
)

t.test('responses to invalid and slow requests have the security headers of the app', async (t) => {
  const { port } = await service(t, inTime(50))
  const known = ['content-security-policy', 'referrer-policy', 'x-content-type-options', 'x-frame-options']
  const reference = await ask(port, requestBytes('GET', '/v1/users'))
  for (const [bytes, status] of [
    ['GARBAGE\r\n\r\n', 400],
    [requestBytes('GET', '/v1/users', { x: 'y'.repeat(300_000) }), 431],
    ['GET /v1/us', 408],
    [requestBytes('GET', '/v1/users', { expect: 'x' }), 417],
    [requestBytes('GET', '/%zz'), 400],
    [requestBytes('GET', `/v1/users/${'a'.repeat(5000)}`), 414],
    [requestBytes('GET', '/v1/users', { host: 'a b' }), 400],
  ] as const) {
    const answer = await ask(port, bytes)
    t.strictSame([answer.status, answer.headers['cache-control']], [status, 'no-store'])
    for (const name of known) t.equal(answer.headers[name], reference.headers[name], `${status}: ${name}`)
    t.notOk('strict-transport-security' in answer.headers, 'not without TLS')
  }
})

t.test('over TLS there is Strict-Transport-Security, whatever the client says', async (t) => {
  const shared = { ciphers: 'PSK', maxVersion: 'TLSv1.2' } as const
  const psk = Buffer.alloc(16, 1)
  const app = Fastify({ https: { ...shared, pskCallback: () => psk } })
  await app.register(securityHeaders)
  app.get('/v1/users', () => ({}))
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const client: object = {
    checkServerIdentity: () => undefined,
    pskCallback: () => ({ psk, identity: 'test' }),
  }
  const headers = { 'x-forwarded-proto': 'http' }
  const request = httpsRequest(`https://127.0.0.1:${port}/v1/users`, {
    ...shared,
    ...client,
    headers,
    agent: false,
  })
  const [response] = await once(request.end(), 'response')
  t.equal(response.headers['strict-transport-security'], 'max-age=31536000; includeSubDomains')
  request.destroy()
})

t.test('the connection of a refused WebSocket handshake ends with the response', async (t) => {
  const app = Fastify(serverOptions())
  await app.register(conventions, { rateLimit: { max: 1 } })
  await app.register(websocket)
  app.get('/v1/events', { websocket: true }, (socket) => socket.close())
  const { port } = await serve(t, app)
  await app.inject('/v1/nothing')
  const connection = await openConnection(port)
  const fields = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  const key = { 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }
  connection.send(requestBytes('GET', '/v1/events', { ...fields, ...key }))
  t.match(await connection.ended(), /^HTTP\/1\.1 429 .*connection: close/s)
})

t.test('Transfer-Encoding in HTTP/1.0 ends the connection (RFC 9112 §6.1)', async (t) => {
  const { port } = await service(t)
  const fields = 'Host: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n'
  for (const target of ['/v1/nothing', '/%zz']) {
    const answer = await ask(port, `POST ${target} HTTP/1.0\r\n${fields}\r\n0\r\n\r\n`)
    t.equal(answer.headers.connection, 'close', target)
  }
  const kept = requestBytes('GET', '/%zz', { connection: 'keep-alive' })
  const answers = parseAnswers(await exchange(port, kept + requestBytes('GET', '/v1/users')))
  t.strictSame(
    answers.map(({ status }) => status),
    [400, 200],
    'a malformed target alone does not end it',
  )
})

t.test('no header field is dropped, of however many', async (t) => {
  const { port } = await service(t)
  for (const count of [998, 1001, 2500]) {
    const fields = `${'x:\r\n'.repeat(count - 3)}If-Match: "no"\r\n`
    const answer = await ask(port, `GET /v1/users HTTP/1.1\r\n${host}${fields}\r\n`)
    t.equal(answer.status, 412, `${count}: the last one is evaluated`)
  }
})

async function service(t: Test, options: FastifyHttpOptions<RawServerDefault> = {}) {
  const app = Fastify({ ...serverOptions(), ...options })
  await app.register(conventions)
  app.get('/v1/users', async () => ({ users: [] }))
  app.post('/v1/users', async () => ({}))
  app.get('/v1/users/:id', async () => ({}))
  app.post('/v1/payments', async () => new Promise((resolve) => setImmediate(resolve, { paid: true })))
  app.get('/v1/delays', async ({ raw }) => {
    app.server.emit('delayed')
    await once(raw, 'close')
    throw new Error('broken')
  })
  app.get('/v1/streams', async () => Readable.from(neverEnding()))
  const { port } = await serve(t, app)
  return { app, port }
}

async function* neverEnding(): AsyncGenerator<string> {
  yield 'first part'
  await new Promise(() => {})
}
