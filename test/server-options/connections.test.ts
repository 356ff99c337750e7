import { once } from 'node:events'
import { METHODS } from 'node:http'
import { Readable } from 'node:stream'
import Fastify, { type FastifyHttpOptions, type RawServerDefault } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { serverOptions } from '../../src/index.js'
import { keepLogs } from '../support/logs.js'
import { isProblem } from '../support/problem.js'
import { ask, openConnection, parseAnswers, requestBytes } from '../support/raw.js'
import { serve } from '../support/serve.js'

const tooLarge = {
  status: 431,
  code: 'header-fields-too-large',
  title: 'Request header fields too large',
  detail: 'The request target and header fields together are larger than this server accepts',
}

t.test('header fields of 300 kB get a 431 that the client receives (RFC 6585 §5)', async (t) => {
  const { port } = await service(t)
  const many = Array.from({ length: 10_000 }, (_, index) => [`x-field-${index}`, 'some value'])
  const table: ReadonlyArray<readonly [about: string, bytes: string]> = [
    ['one field', requestBytes('GET', '/v1/users', { 'x-long': 'y'.repeat(300_000) })],
    ['many fields', requestBytes('GET', '/v1/users', Object.fromEntries(many))],
    ['the target', requestBytes('GET', `/${'y'.repeat(300_000)}`)],
    ['the query', requestBytes('GET', `/v1/users?q=${'y'.repeat(300_000)}`)],
  ]
  for (const [about, bytes] of table) isProblem(t, await ask(port, bytes), tooLarge, about)
})

t.test('the response reaches a client that continues to send before it reads', async (t) => {
  const { app, port } = await service(t)
  const failed = once(app.server, 'clientError')
  const connection = await openConnection(port)
  connection.socket.pause()
  connection.send(`GET /v1/users HTTP/1.1\r\nHost: localhost\r\nX: ${'y'.repeat(20_000)}`)
  await failed
  for (let part = 0; part < 10; part++) {
    await new Promise<void>((resolve) => connection.socket.write('y'.repeat(20_000), () => resolve()))
  }
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

t.test('a request that does not arrive completely in time is a 408 (RFC 9110 §15.5.9)', async (t) => {
  // Node takes the shorter of the two for the header, so both are short.
  const http = { ...serverOptions().http, headersTimeout: 50, connectionsCheckingInterval: 20 }
  const { port } = await service(t, { requestTimeout: 50, http })
  const json = 'Content-Type: application/json\r\nContent-Length: 9\r\n'
  const parts = [
    ['GET /v1/us', 'a part of the request line'],
    ['GET /v1/users HTTP/1.1\r\nHost: localhost\r\nX', 'a part of the header'],
    [`POST /v1/users HTTP/1.1\r\nHost: localhost\r\n${json}\r\n{`, 'a part of the body'],
  ] as const
  const detail = 'The request was not received completely in time'
  for (const [bytes, about] of parts)
    isProblem(t, await ask(port, bytes), { status: 408, code: 'request-timeout', detail }, about)
})

t.test('a malformed request on a reused connection gets a response', async (t) => {
  const { port } = await service(t)
  const connection = await openConnection(port)
  connection.send('GET /v1/users HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await connection.received((bytes) => bytes.endsWith('{"users":[]}'))
  connection.send('GARBAGE\r\n\r\n')

  const [first, second] = parseAnswers(await connection.ended())
  t.equal(first?.status, 200)
  if (second === undefined) throw new Error('the broken request was not answered')
  isProblem(t, second, { status: 400, code: 'request-malformed' })
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

t.test('a client that disconnects does not affect the server', async (t) => {
  const { port } = await service(t)
  for (const bytes of ['', 'GET /v1/us', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{']) {
    const connection = await openConnection(port)
    connection.send(bytes)
    connection.socket.resetAndDestroy()
    await connection.ended().catch(() => {})
  }

  t.equal((await ask(port, requestBytes('GET', '/v1/users'))).status, 200)
})

t.test('pipelined requests get their responses in order', async (t) => {
  const { port } = await service(t)
  const connection = await openConnection(port)
  connection.send('GET /v1/users HTTP/1.1\r\nHost: localhost\r\n\r\n')
  connection.send('GET /v1/Users HTTP/1.1\r\nHost: localhost\r\n\r\n')
  connection.send(requestBytes('DELETE', '/v1/users'))

  const answers = parseAnswers(await connection.ended())
  t.match(answers, [{ status: 200 }, { status: 404 }, { status: 405 }])
})

t.test('a slow body is cut off after the timeout, also after an early response', async (t) => {
  t.equal(serverOptions().requestTimeout, 60_000, 'no body takes for ever')
  const http = { ...serverOptions().http, headersTimeout: 100, connectionsCheckingInterval: 20 }
  const { port } = await service(t, { requestTimeout: 100, http })
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

t.test('responses to invalid and slow requests have the security headers of the app', async (t) => {
  const http = { ...serverOptions().http, connectionsCheckingInterval: 20, headersTimeout: 50 }
  const { port } = await service(t, { requestTimeout: 50, http })
  const known = ['content-security-policy', 'referrer-policy', 'x-content-type-options', 'x-frame-options']
  const reference = await ask(port, requestBytes('GET', '/v1/users'))
  const table: readonly (readonly [bytes: string, status: number])[] = [
    ['GARBAGE\r\n\r\n', 400],
    [requestBytes('GET', '/v1/users', { x: 'y'.repeat(300_000) }), 431],
    ['GET /v1/us', 408],
    [requestBytes('GET', '/v1/users', { expect: 'x' }), 417],
    [requestBytes('GET', '/%zz'), 400],
    [requestBytes('GET', `/v1/users/${'a'.repeat(5000)}`), 414],
    [requestBytes('GET', '/v1/users', { host: 'a b' }), 400],
  ]
  for (const [bytes, status] of table) {
    const answer = await ask(port, bytes)
    t.strictSame([answer.status, answer.headers['cache-control']], [status, 'no-store'])
    for (const name of known) t.equal(answer.headers[name], reference.headers[name], `${status}: ${name}`)
    t.notOk('strict-transport-security' in answer.headers, 'not without TLS')
  }
})

t.test('an invalid or repeated Host is a 400 (RFC 9112 §3.2)', async (t) => {
  const { port } = await service(t)
  const malformed = { status: 400, code: 'request-malformed' }
  for (const target of ['/v1/users', '/v1/nothing']) {
    for (const host of ['a b', 'u@h', 'h:abc', 'a/b']) {
      isProblem(t, await ask(port, requestBytes('GET', target, { host })), malformed, host)
    }
    for (const version of ['1.0', '1.1']) {
      const twice = `GET ${target} HTTP/${version}\r\nHost: a\r\nhost: a\r\nConnection: close\r\n\r\n`
      isProblem(t, await ask(port, twice), malformed, `two lines in HTTP/${version}`)
    }
  }
  t.equal((await ask(port, requestBytes('GET', '/v1/users', { host: '[::1]:80' }))).status, 200)
})

t.test('Transfer-Encoding in HTTP/1.0 ends the connection (RFC 9112 §6.1)', async (t) => {
  const { port } = await service(t)
  const fields =
    'Host: a\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
  for (const target of ['/v1/users', '/v1/nothing', '/%zz']) {
    const bytes = `POST ${target} HTTP/1.0\r\n${fields}2\r\n{}\r\n0\r\n\r\n`
    const answer = await ask(port, bytes + requestBytes('GET', '/v1/users'))
    t.equal(answer.headers.connection, 'close', target)
  }
})

t.test('no header field is dropped, of however many', async (t) => {
  const { port } = await service(t)
  const withLines = (count: number) =>
    `GET /v1/users HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${'x:\r\n'.repeat(count - 3)}If-Match: "no"\r\n\r\n`
  for (const count of [998, 1001, 2500]) {
    t.equal((await ask(port, withLines(count))).status, 412, `${count}: the last one is evaluated`)
  }
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

t.test('QUERY without Content-Type is a 405, or a 404 (RFC 9110 §15.5.6)', async (t) => {
  const { port } = await service(t)
  if (!METHODS.includes('QUERY')) return
  const refused = { status: 405, code: 'method-not-allowed' }
  isProblem(t, await ask(port, requestBytes('QUERY', '/v1/users')), refused)
  isProblem(t, await ask(port, requestBytes('QUERY', '/v1/nothing')), { status: 404, code: 'not-found' })
})

async function service(t: Test, options: FastifyHttpOptions<RawServerDefault> = {}) {
  const app = Fastify({ ...serverOptions(), ...options })
  await app.register(conventions)
  app.get('/v1/users', async () => ({ users: [] }))
  app.post('/v1/users', async () => ({}))
  app.get('/v1/streams', async () => Readable.from(neverEnding()))
  const { port } = await serve(t, app)
  return { app, port }
}

async function* neverEnding(): AsyncGenerator<string> {
  yield 'first part'
  await new Promise(() => {})
}
