import { once } from 'node:events'
import { Readable } from 'node:stream'
import Fastify, { type FastifyHttpOptions, type FastifyInstance, type RawServerDefault } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { serverOptions } from '../../src/index.js'
import { isProblem } from '../support/problem.js'
import { ask, openConnection, parseAnswers, requestBytes } from '../support/raw.js'
import { serve } from '../support/serve.js'

const tooLarge = {
  status: 431,
  code: 'header-fields-too-large',
  title: 'Request header fields too large',
  detail: 'The request target and header fields together are larger than this server takes',
}

t.test('header fields of 300 kB are a 431 that arrives (decisions §1, RFC 6585 §5)', async (t) => {
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

t.test('the answer reaches a client that goes on sending before it reads', async (t) => {
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

  isProblem(t, await ask(port, bytes), {
    status: 413,
    code: 'content-too-large',
    detail: /extensions of a chunk/,
  })
})

t.test('a request that does not arrive whole in time is a 408 (RFC 9110 §15.5.9)', async (t) => {
  // Node takes the shorter of the two for the header, so both are short.
  const http = { ...serverOptions().http, headersTimeout: 50, connectionsCheckingInterval: 20 }
  const { port } = await service(t, {
    requestTimeout: 50,
    http,
  })
  const parts = [
    ['GET /v1/us', 'a part of the request line'],
    ['GET /v1/users HTTP/1.1\r\nHost: localhost\r\nX', 'a part of the header'],
    [
      'POST /v1/users HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
      'a part of the body',
    ],
  ] as const

  for (const [bytes, about] of parts) {
    const expected = {
      status: 408,
      code: 'request-timeout',
      detail: 'The request did not arrive whole in time',
    }
    isProblem(t, await ask(port, bytes), expected, about)
  }
})

t.test('a broken request on a connection that was used before is answered', async (t) => {
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

t.test('a broken request behind one whose answer has begun puts no bytes into that answer', async (t) => {
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

t.test('a client that goes away takes nothing with it', async (t) => {
  const { port } = await service(t)
  for (const bytes of [
    '',
    'GET /v1/us',
    'POST /v1/users HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{',
  ]) {
    const connection = await openConnection(port)
    connection.send(bytes)
    connection.socket.resetAndDestroy()
    await connection.ended().catch(() => {})
  }

  t.equal((await ask(port, requestBytes('GET', '/v1/users'))).status, 200)
})

t.test('requests one behind another are answered in their order', async (t) => {
  const { port } = await service(t)
  const connection = await openConnection(port)
  connection.send('GET /v1/users HTTP/1.1\r\nHost: localhost\r\n\r\n')
  connection.send('GET /v1/Users HTTP/1.1\r\nHost: localhost\r\n\r\n')
  connection.send(requestBytes('DELETE', '/v1/users'))

  const answers = parseAnswers(await connection.ended())
  t.strictSame(
    answers.map(({ status }) => status),
    [200, 404, 405],
  )
})

async function service(
  t: Test,
  options: FastifyHttpOptions<RawServerDefault> = {},
): Promise<{ app: FastifyInstance; port: number }> {
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
