import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type ClientHttp2Session, connect, constants } from 'node:http2'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { methodOverride } from '../../../src/plugins/method-override/index.js'
import { problems } from '../../../src/plugins/problems/index.js'
import { serverOptions } from '../../../src/server-options.js'
import type { LogLine } from '../../support/logs.js'
import { isProblem } from '../../support/problem.js'
import { ask, openConnection, parseAnswers, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const formType = { 'content-type': 'application/x-www-form-urlencoded' }
const chunked = { 'transfer-encoding': 'chunked' }

// RFC 9113 §6, RFC 7541 §6.2.2.
const frameTypes = { data: 0, headers: 1, reset: 3, settings: 4 } as const
const endOfHeaders = 4
const headerBlock = Buffer.concat(
  Object.entries({
    ':method': 'POST',
    ':path': '/v1/users/7',
    ':scheme': 'http',
    ':authority': 'a',
    ...formType,
  }).map(([name, value]) => Buffer.from(`\0${sized(name)}${sized(value)}`)),
)

// Node.js warns once per process.
const warnings: Error[] = []
process.on('warning', (warning) => warnings.push(warning))

function chunksOf(...pieces: readonly string[]): string {
  return `${pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')}0\r\n\r\n`
}

function addRoutes(app: FastifyInstance, ran: string[] = []): void {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    app.route({
      method,
      url: '/v1/users/:id',
      ...(method === 'PATCH'
        ? { schema: { body: { type: 'object', properties: { age: { type: 'integer' } } } } }
        : {}),
      handler: (request) => {
        ran.push(method)
        return { route: method, method: request.method, body: request.body ?? null }
      },
    })
  }
}

/** A log that tells when a line with a certain message has come. */
function awaitedLog() {
  const lines: LogLine[] = []
  const waiting: { readonly msg: string; readonly tell: (line: LogLine) => void }[] = []
  return {
    lines,
    logger: {
      level: 'info',
      stream: {
        write(text: string) {
          const line = JSON.parse(text) as LogLine
          lines.push(line)
          for (const { msg, tell } of waiting) if (line.msg === msg) tell(line)
        },
      },
    },
    logged: (msg: string) => new Promise<LogLine>((tell) => void waiting.push({ msg, tell })),
  }
}

async function usualServer(t: Test, ran?: string[]): Promise<number> {
  const app = Fastify({ ...serverOptions(), bodyLimit: 100_000 })
  await app.register(problems)
  await app.register(methodOverride)
  addRoutes(app, ran)
  return (await serve(t, app)).port
}

t.test('HTTP/1.1: header and form, in one chunk and in several', async (t) => {
  const port = await usualServer(t)
  const json = { 'content-type': 'application/json' }
  const override = (method: string) => ({ 'X-HTTP-Method-Override': method })
  const cases: readonly (readonly [about: string, bytes: string, expected: unknown])[] = [
    ['header', requestBytes('POST', '/v1/users/7', override('delete')), { route: 'DELETE', body: null }],
    [
      'header, JSON without content',
      requestBytes('POST', '/v1/users/7', { ...override('DELETE'), ...json, 'content-length': '0' }),
      { route: 'DELETE', body: null },
    ],
    [
      'header, JSON in chunks without content',
      requestBytes('POST', '/v1/users/7', { ...override('DELETE'), ...json, ...chunked }) + chunksOf(),
      { route: 'DELETE', body: null },
    ],
    [
      'header, JSON in chunks',
      requestBytes('POST', '/v1/users/7', { ...override('DELETE'), ...json, ...chunked }) +
        chunksOf('{"a"', ':1}'),
      { route: 'DELETE', body: { a: 1 } },
    ],
    [
      'header, JSON',
      requestBytes('POST', '/v1/users/7', { ...override('PATCH'), ...json }, '{"age":31}'),
      { route: 'PATCH', body: { age: 31 } },
    ],
    [
      'form',
      requestBytes('POST', '/v1/users/7', formType, '_method=PATCH&age=31'),
      { route: 'PATCH', body: { age: 31 } },
    ],
    [
      'form in chunks',
      requestBytes('POST', '/v1/users/7', { ...formType, ...chunked }) +
        chunksOf('_met', 'hod=PATCH&', 'age=31'),
      { route: 'PATCH', body: { age: 31 } },
    ],
    [
      'form, DELETE alone, in chunks',
      requestBytes('POST', '/v1/users/7', { ...formType, ...chunked }) + chunksOf('_method=DELETE'),
      { route: 'DELETE', body: null },
    ],
    [
      'form larger than what a stream holds back',
      requestBytes('POST', '/v1/users/7', formType, `_method=PUT&a=${'x'.repeat(90_000)}`),
      { route: 'PUT', body: { a: 'x'.repeat(90_000) } },
    ],
    [
      'a header on a GET',
      requestBytes('GET', '/v1/users/7?_method=DELETE', override('DELETE')),
      { route: 'GET', body: null },
    ],
  ]
  for (const [about, bytes, expected] of cases) {
    const { status, body } = await ask(port, bytes)
    t.equal(status, 200, about)
    t.match(JSON.parse(body), expected as object, about)
  }
})

t.test('HTTP/1.1: repeated header lines are refused, even if they are equal', async (t) => {
  const ran: string[] = []
  const port = await usualServer(t, ran)
  for (const lines of [
    ['X-HTTP-Method-Override: DELETE', 'x-http-method-override: DELETE'],
    ['X-HTTP-Method-Override: DELETE', 'X-HTTP-Method-Override: PUT'],
    ['X-HTTP-Method-Override: DELETE,PUT'],
    ['X-HTTP-Method-Override:'],
    ['X-HTTP-Method-Override: TRACE'],
    ['X-HTTP-Method-Override: CONNECT'],
    ['X-HTTP-Method-Override: D\xc9LETE'],
  ]) {
    const head = ['POST /v1/users/7 HTTP/1.1', 'Host: a', 'Connection: close', 'Content-Length: 0', ...lines]
    const answer = await ask(port, `${head.join('\r\n')}\r\n\r\n`)
    isProblem(t, answer, { status: 400, code: 'method-override-invalid' }, lines.join())
  }
  t.strictSame(ran, [])
})

t.test('HTTP/1.1: a form from another origin is refused, and the next request is served', async (t) => {
  const ran: string[] = []
  const port = await usualServer(t, ran)
  const from: readonly (readonly [fields: Readonly<Record<string, string>>, status: number])[] = [
    [{ 'Sec-Fetch-Site': 'cross-site', Origin: 'https://other.example' }, 400],
    [{ 'Sec-Fetch-Site': 'same-site' }, 400],
    [{ Origin: 'null' }, 400],
    [{ Origin: 'http://localhost:3000' }, 400],
    [{ Host: 'api.example', Origin: 'http://localhost' }, 400],
    [{ Host: 'inner', 'X-Forwarded-Host': 'api.example', Origin: 'https://inner' }, 400],
    [{ 'Sec-Fetch-Site': 'same-origin', Origin: 'null' }, 200],
    [{ Origin: 'http://localhost' }, 200],
    [{ Host: 'API.example:8080', Origin: 'http://api.example:8080' }, 200],
    [{ Host: 'inner', 'X-Forwarded-Host': 'api.example', Origin: 'https://api.example' }, 200],
  ]
  const connection = await openConnection(port)
  const alive = { connection: 'keep-alive' }
  for (const [fields] of from) {
    const { Host: host = 'localhost', ...others } = fields
    connection.send(
      requestBytes('POST', '/v1/users/7', { host, ...others, ...alive, ...formType }, '_method=DELETE'),
    )
  }
  connection.send(requestBytes('GET', '/v1/users/7'))
  const answers = parseAnswers(await connection.ended())
  for (const [index, [fields, status]] of from.entries()) {
    const about = JSON.stringify(fields)
    const answer = answers[index] ?? { status: 0, headers: {}, body: '' }
    if (status === 200) t.match(JSON.parse(answer.body), { route: 'DELETE' }, about)
    else isProblem(t, answer, { status, code: 'method-override-invalid' }, about)
  }
  t.equal(answers.length, from.length + 1)
  t.strictSame(ran, ['DELETE', 'DELETE', 'DELETE', 'DELETE', 'GET'])
})

t.test('HTTP/1.1: one connection serves overridden, refused and other requests in turn', async (t) => {
  const port = await usualServer(t)
  const connection = await openConnection(port)
  const alive = { connection: 'keep-alive' }
  const requests = [
    requestBytes('POST', '/v1/users/7', { ...alive, ...formType }, '_method=PATCH&age=31'),
    requestBytes('POST', '/v1/users/7', { ...alive, ...formType }, '_method=TRACE&age=31'),
    requestBytes('POST', '/v1/users/7', { ...alive, ...formType }, '_method=DELETE'),
    requestBytes('GET', '/v1/users/7', alive),
    requestBytes('POST', '/v1/nothing', { ...alive, ...formType }, `_method=PATCH&a=${'x'.repeat(50_000)}`),
    requestBytes('POST', '/v1/users/7', formType, '_method=PUT&a=1'),
  ]
  connection.send(requests.join(''))
  const answers = parseAnswers(await connection.ended())
  t.strictSame(
    answers.map(({ status, body }) => [status, JSON.parse(body).route ?? JSON.parse(body).code]),
    [
      [200, 'PATCH'],
      [400, 'method-override-invalid'],
      [200, 'DELETE'],
      [200, 'GET'],
      [404, 'not-found'],
      [200, 'PUT'],
    ],
  )
})

t.test('HTTP/1.1: a hook that responds before the body is read does not block the connection', async (t) => {
  const app = Fastify()
  await app.register(methodOverride)
  app.addHook('onRequest', async (_request, reply) => reply.code(401).send('who are you?'))
  addRoutes(app)
  const { port } = await serve(t, app)
  const alive = { connection: 'keep-alive' }
  const large = JSON.stringify('x'.repeat(500_000))
  const json = { 'X-HTTP-Method-Override': 'DELETE', 'content-type': 'application/json' }
  for (const bytes of [
    requestBytes('POST', '/v1/users/7', { ...alive, ...formType }, `_method=DELETE&a=${large}`),
    requestBytes('POST', '/v1/users/7', { ...alive, ...json, ...chunked }) + chunksOf('"a', large),
  ]) {
    const connection = await openConnection(port)
    connection.send(bytes + requestBytes('GET', '/v1/users/7'))
    const answers = parseAnswers(await connection.ended())
    t.strictSame(
      answers.map(({ status }) => status),
      [401, 401],
    )
  }
})

t.test('HTTP/1.1: AsyncLocalStorage works after a form was read', async (t) => {
  const storage = new AsyncLocalStorage<string>()
  const app = Fastify({
    serverFactory: (handle) => createServer((raw, response) => storage.run('here', handle, raw, response)),
  })
  await app.register(methodOverride)
  app.put('/v1/users/:id', () => ({ held: storage.getStore() ?? null }))
  const { port } = await serve(t, app)
  const connection = await openConnection(port)
  const body = '_method=PUT&a=1'
  const headers = { ...formType, expect: '100-continue', 'content-length': String(body.length) }
  connection.send(requestBytes('POST', '/v1/users/7', headers))
  await connection.received((bytes) => bytes.startsWith('HTTP/1.1 100 '))
  connection.send(body)
  const [answer] = parseAnswers(await connection.ended())
  t.strictSame(JSON.parse(answer?.body ?? ''), { held: 'here' })
})

t.test('HTTP/1.1: a client that waits for 100 Continue gets it, and its form is performed', async (t) => {
  const port = await usualServer(t)
  const connection = await openConnection(port)
  const body = '_method=PATCH&age=31'
  const headers = { ...formType, expect: '100-continue', 'content-length': String(body.length) }
  connection.send(requestBytes('POST', '/v1/users/7', headers))
  await connection.received((bytes) => bytes.startsWith('HTTP/1.1 100 '))
  connection.send(body)
  const [answer] = parseAnswers(await connection.ended())
  t.equal(answer?.status, 200)
  t.match(JSON.parse(answer?.body ?? ''), { route: 'PATCH', body: { age: 31 } })
})

t.test('HTTP/1.1: a form over the limit is a 413, with and without Content-Length', async (t) => {
  const ran: string[] = []
  const port = await usualServer(t, ran)
  const large = `_method=DELETE&a=${'x'.repeat(150_000)}`
  const announced = await ask(port, requestBytes('POST', '/v1/users/7', formType, large))
  isProblem(t, announced, { status: 413, code: 'content-too-large' })

  const connection = await openConnection(port)
  connection.send(requestBytes('POST', '/v1/users/7', { ...formType, ...chunked, connection: 'keep-alive' }))
  connection.send(`${large.length.toString(16)}\r\n${large}\r\n`)
  const [endless] = parseAnswers(await connection.ended())
  isProblem(t, endless ?? { status: 0, headers: {}, body: '' }, { status: 413, code: 'content-too-large' })
  t.strictSame(ran, [])
})

t.test('HTTP/1.1: a form that does not arrive is a 408 after requestTimeout', async (t) => {
  const ran: string[] = []
  const options = serverOptions()
  const app = Fastify({
    ...options,
    requestTimeout: 100,
    http: { ...options.http, connectionsCheckingInterval: 20, headersTimeout: 100 },
  })
  await app.register(problems)
  await app.register(methodOverride)
  addRoutes(app, ran)
  const { port } = await serve(t, app)
  const connection = await openConnection(port)
  connection.send(requestBytes('POST', '/v1/users/7', { ...formType, 'content-length': '50' }))
  connection.send('_method=DELETE&')
  const [answer] = parseAnswers(await connection.ended())
  isProblem(t, answer ?? { status: 0, headers: {}, body: '' }, { status: 408, code: 'request-timeout' })
  t.strictSame(ran, [])
})

t.test('HTTP/1.1: the form of an aborted request is not performed, and is logged', async (t) => {
  const ran: string[] = []
  const { logger, lines, logged } = awaitedLog()
  const app = Fastify({ logger })
  await app.register(methodOverride)
  addRoutes(app, ran)
  const { port } = await serve(t, app)
  for (const [headers, body] of [
    [{ ...formType, 'content-length': '50' }, '_method=DELETE&'],
    [{ ...formType, ...chunked }, 'f\r\n_method=DELETE&\r\n'],
    [{ ...formType, 'content-length': '50' }, ''],
    [{ 'X-HTTP-Method-Override': 'DELETE', 'content-type': 'application/json', ...chunked }, ''],
  ] as const) {
    const line = logged('the client aborted the request before its form had arrived')
    const connection = await openConnection(port)
    connection.send(requestBytes('POST', '/v1/users/7', headers))
    connection.send(body)
    connection.socket.end()
    connection.socket.destroySoon()
    t.match(await line, { url: '/v1/users/7' })
  }
  t.strictSame(ran, [])
  t.notOk(lines.some(({ msg }) => msg === 'incoming request'))
})

t.test(
  'HTTP/1.1: of too many stalled forms the oldest is a 408, and a complete form is performed',
  async (t) => {
    const app = Fastify({ ...serverOptions(), bodyLimit: 1000 })
    await app.register(problems)
    await app.register(methodOverride)
    addRoutes(app)
    const { port } = await serve(t, app)
    const stalled = `POST /v1/users/7 HTTP/1.1\r\nHost: a\r\nContent-Type: ${formType['content-type']}\r\nContent-Length: 1000\r\n\r\n`
    const oldest = await openConnection(port)
    oldest.send(`${stalled}_method=PATCH&a=${'x'.repeat(970)}`)
    for (let count = 0; count < 17; count++) {
      const { socket, send } = await openConnection(port)
      t.teardown(() => socket.destroy())
      send(`${stalled}_method=PATCH&a=${'x'.repeat(970)}`)
    }
    const [answer] = parseAnswers(await oldest.ended())
    isProblem(t, answer ?? { status: 0, headers: {}, body: '' }, { status: 408, code: 'request-timeout' })
    t.equal(answer?.headers.connection, 'close')

    const prompt = await ask(port, requestBytes('POST', '/v1/users/7', formType, '_method=PATCH&age=31'))
    t.match(JSON.parse(prompt.body), { route: 'PATCH' })
  },
)

t.test('a form that does not arrive within formTimeout is a 408, over HTTP/2 as well', async (t) => {
  for (const http2 of [false, true]) {
    const app = http2 ? (Fastify({ http2: true }) as unknown as FastifyInstance) : Fastify()
    await app.register(problems)
    await app.register(methodOverride, { formTimeout: 50 })
    const ran: string[] = []
    addRoutes(app, ran)
    app.addHook('onRequest', async (request) => void ran.push(`hook of ${request.method}`))
    const { port } = await serve(t, app)
    if (http2) {
      const session = connect(`http://127.0.0.1:${port}`)
      t.teardown(() => session.destroy())
      const stream = session.request({ ':method': 'POST', ':path': '/v1/users/7', ...formType })
      stream.write('_method=DEL')
      const [headers] = await once(stream, 'response')
      t.equal(headers[':status'], 408)
    } else {
      const connection = await openConnection(port)
      connection.send(
        `POST /v1/users/7 HTTP/1.1\r\nHost: a\r\nContent-Type: ${formType['content-type']}\r\nContent-Length: 14\r\n\r\n_method=DEL`,
      )
      const [answer] = parseAnswers(await connection.ended())
      isProblem(t, answer ?? { status: 0, headers: {}, body: '' }, { status: 408, code: 'request-timeout' })
    }
    t.strictSame(ran, [], 'neither a later hook nor a handler ran')
  }
})

t.test('HTTP/1.1: a DELETE by header without a content type is routed before its body arrives', async (t) => {
  const port = await usualServer(t)
  const headers = { 'X-HTTP-Method-Override': 'DELETE', ...chunked }
  const answer = await ask(port, requestBytes('POST', '/v1/users/7', headers))
  isProblem(t, answer, { status: 415, code: 'unsupported-media-type' })
})

t.test(
  'in report mode, a form that does not arrive within formTimeout is routed, and arrives whole',
  async (t) => {
    const app = Fastify()
    await app.register(methodOverride, { formTimeout: 50, mode: 'report' })
    app.addContentTypeParser(formType['content-type'], { parseAs: 'string' }, (_request, body, done) =>
      done(null, body),
    )
    addRoutes(app)
    const routed = new Promise<void>((resolve) => app.addHook('onRequest', async () => resolve()))
    const { port } = await serve(t, app)
    const connection = await openConnection(port)
    connection.send(requestBytes('POST', '/v1/users/7', { ...formType, 'content-length': '14' }))
    connection.send('_method=DEL')
    await routed
    connection.send('ETE')
    const [answer] = parseAnswers(await connection.ended())
    t.match(JSON.parse(answer?.body ?? ''), { route: 'POST', body: '_method=DELETE' })
    t.strictSame(app.conventions.report().observations, [])
  },
)

t.test('HTTP/2: header and form, with and without a length', async (t) => {
  const { session, ran } = await http2Session(t)
  const override = { 'x-http-method-override': 'DELETE' }
  const json = { 'content-type': 'application/json' }
  const cases: readonly (readonly [
    about: string,
    headers: Record<string, string>,
    pieces: readonly string[] | null,
    expected: unknown,
  ])[] = [
    ['header', override, null, { route: 'DELETE', method: 'DELETE', body: null }],
    ['header, JSON, no content', { ...override, ...json }, null, { route: 'DELETE', body: null }],
    ['header, JSON, an empty frame', { ...override, ...json }, [], { route: 'DELETE', body: null }],
    ['header, JSON', { ...override, ...json }, ['{"a"', ':1}'], { route: 'DELETE', body: { a: 1 } }],
    ['form', formType, ['_method=PATCH&age=31'], { route: 'PATCH', body: { age: 31 } }],
    ['form in pieces', formType, ['_met', 'hod=PATCH&a', 'ge=31'], { route: 'PATCH', body: { age: 31 } }],
    [
      'form with a length',
      { ...formType, 'content-length': '20' },
      ['_method=PATCH&age=31'],
      { route: 'PATCH', body: { age: 31 } },
    ],
    ['form, DELETE alone', formType, ['_method=DELETE'], { route: 'DELETE', body: null }],
    [
      'large form',
      formType,
      [`_method=PUT&a=${'x'.repeat(80_000)}`],
      { route: 'PUT', body: { a: 'x'.repeat(80_000) } },
    ],
  ]
  for (const [about, headers, pieces, expected] of cases) {
    const { status, body } = await send(session, headers, pieces)
    t.equal(status, 200, about)
    t.match(JSON.parse(body), expected as object, about)
  }
  const get = await send(session, { ':method': 'GET', ...override }, null)
  t.match(JSON.parse(get.body), { route: 'GET' })
  ran.length = 0
  const refused = await send(session, { 'x-http-method-override': 'TRACE' }, null)
  isProblem(t, refused, { status: 400, code: 'method-override-invalid' })
  const large = await send(session, formType, [`_method=DELETE&a=${'x'.repeat(150_000)}`])
  isProblem(t, large, { status: 413, code: 'content-too-large' })
  t.strictSame(ran, [])
})

t.test('HTTP/2: a form is of the same origin if its Origin matches :authority', async (t) => {
  const { session, ran, port } = await http2Session(t)
  const delivered = (fields: Readonly<Record<string, string>>) =>
    send(session, { ...formType, ...fields }, ['_method=DELETE'])
  for (const fields of [
    { origin: 'http://127.0.0.1:1' },
    { origin: `http://localhost:${port}` },
    { origin: 'null' },
    { ':authority': 'api.example', origin: 'https://other.example' },
    { ':authority': 'api.example', origin: 'https://api.example', 'sec-fetch-site': 'cross-site' },
  ]) {
    const refused = await delivered(fields)
    isProblem(t, refused, { status: 400, code: 'method-override-invalid' }, JSON.stringify(fields))
  }
  t.strictSame(ran, [])
  for (const fields of [
    { origin: `http://127.0.0.1:${port}` },
    { ':authority': 'api.example', origin: 'https://api.example' },
    { ':authority': 'api.example', origin: 'null', 'sec-fetch-site': 'same-origin' },
  ]) {
    t.match(JSON.parse((await delivered(fields)).body), { route: 'DELETE' }, JSON.stringify(fields))
  }
})

t.test('HTTP/2: a hook that responds before the body is read does not block the stream', async (t) => {
  const app = Fastify({ http2: true })
  await app.register(methodOverride)
  app.addHook('onRequest', async (_request, reply) => reply.code(401).send('who are you?'))
  addRoutes(app as unknown as FastifyInstance)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = connect(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
  const headers = { 'x-http-method-override': 'DELETE', 'content-type': 'application/json' }
  const { status } = await send(session, headers, ['"', 'x'.repeat(50_000), '"'])
  t.equal(status, 401)
  session.destroy()
  await t.resolves(app.close())
})

t.test('HTTP/2: the form of an aborted request is not performed', async (t) => {
  const { ran, logged, port } = await http2Session(t)
  // In bytes: Node's client ends a form before it takes it back, as if it were whole.
  const begin = Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    frame(frameTypes.settings, 0, 0),
    frame(frameTypes.headers, endOfHeaders, 1, headerBlock),
    frame(frameTypes.data, 0, 1, Buffer.from('_method=DELETE')),
  ])
  const cancel = frame(frameTypes.reset, 0, 1, Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL]))
  for (const howTo of ['takes it back', 'goes away'] as const) {
    const line = logged('the client aborted the request before its form had arrived')
    const { socket } = await openConnection(port)
    socket.end(howTo === 'takes it back' ? Buffer.concat([begin, cancel]) : begin)
    t.match(await line, { url: '/v1/users/7' }, howTo)
  }
  t.strictSame(ran, [])
})

t.test('HTTP/2: no response has a header field of a connection', (t) => {
  t.strictSame(warnings, [])
  t.end()
})

function sized(text: string): string {
  return String.fromCharCode(text.length) + text
}

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

async function http2Session(t: Test) {
  const ran: string[] = []
  const { logger, logged } = awaitedLog()
  const app = Fastify({ http2: true, bodyLimit: 100_000, logger })
  await app.register(problems)
  await app.register(methodOverride)
  addRoutes(app as unknown as FastifyInstance, ran)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const session = connect(`http://127.0.0.1:${port}`)
  t.teardown(async () => {
    session.destroy()
    await app.close()
  })
  return { session, ran, logged, port }
}

async function send(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>>,
  pieces: readonly string[] | null,
) {
  const stream = session.request(
    { ':method': 'POST', ':path': '/v1/users/7', ...headers },
    { endStream: pieces === null },
  )
  const answered = once(stream, 'response')
  if (pieces !== null) {
    for (const piece of pieces) await new Promise((written) => stream.write(piece, () => written(null)))
    stream.end()
  }
  const [received] = (await answered) as [Record<string, unknown>]
  let body = ''
  stream.setEncoding('utf8')
  for await (const piece of stream) body += piece
  return { status: Number(received[':status']), headers: received, body }
}
