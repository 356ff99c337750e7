// Own process: listens to the warnings of the process
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:http2'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { methodOverride } from '../../../src/plugins/method-override/index.js'
import { problems } from '../../../src/plugins/problems/index.js'
import { serverOptions } from '../../../src/server-options.js'
import { appOf, withPlugins } from '../../support/app.js'
import { askOver } from '../../support/http2.js'
import { keepLogs, type LogLine } from '../../support/logs.js'
import { isProblem } from '../../support/problem.js'
import {
  ask,
  openConnection,
  parseAnswers,
  type RawAnswer,
  type RawConnection,
  requestBytes,
} from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { until } from '../../support/until.js'

const path = '/v1/users/7'
const formType = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }
const chunked = { 'transfer-encoding': 'chunked' }
const alive = { connection: 'keep-alive' }
const override = (method: string) => ({ 'x-http-method-override': method })
const invalid = { status: 400, code: 'method-override-invalid' }
const tooLarge = { status: 413, code: 'content-too-large' }
const late = { status: 408, code: 'request-timeout' }

type Fields = Readonly<Record<string, string>>

// Node.js warns once per process.
const warnings: Error[] = []
process.on('warning', (warning) => warnings.push(warning))

function chunksOf(pieces: readonly string[]): string {
  return `${pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')}0\r\n\r\n`
}

const postBytes = (headers: Fields, body?: string) => requestBytes('POST', path, headers, body)

function addRoutes(app: unknown, ran: string[] = []): void {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    const handler = (request: FastifyRequest) => {
      ran.push(method)
      return { route: method, method: request.method, body: request.body ?? null }
    }
    ;(app as FastifyInstance).route({ method, url: '/v1/users/:id', handler })
  }
}

/** Waits until the log says that a form was abandoned. */
const abandonedIn = (lines: readonly LogLine[]) =>
  until(
    async () => lines.find(({ msg }) => msg === 'the client aborted the request before its form had arrived'),
    (line) => line !== undefined,
  )

async function usualServer(t: Test, options: object = {}, ran?: string[]): Promise<number> {
  const app = Fastify({ ...serverOptions(), bodyLimit: 100_000, ...options })
  await app.register(problems)
  await app.register(methodOverride)
  addRoutes(app, ran)
  return (await serve(t, app)).port
}

/** The one answer of a connection, which the server ends. */
async function lastAnswer({ ended }: RawConnection): Promise<RawAnswer> {
  const [answer] = parseAnswers(await ended())
  return answer ?? { status: 0, reason: '', headers: {}, body: '' }
}

const x = 'x'.repeat(80_000)

const performed = [
  ['header', override('delete'), [], 'DELETE', null],
  ['header, JSON without content', { ...override('DELETE'), ...json }, [], 'DELETE', null],
  ['header DELETE, JSON', { ...override('DELETE'), ...json }, ['{"a"', ':1}'], 'DELETE', { a: 1 }],
  ['form', formType, ['_met', 'hod=PATCH&a', 'ge=31'], 'PATCH', { age: '31' }],
  ['form, DELETE alone', formType, ['_method=DELETE'], 'DELETE', null],
  ['form larger than what a stream holds back', formType, [`_method=PUT&a=${x}`], 'PUT', { a: x }],
] as const

t.test('HTTP/1.1: header and form, in one chunk and in several', async (t) => {
  const port = await usualServer(t)
  for (const [about, headers, pieces, route, expected] of performed) {
    const whole = pieces.join('')
    const measured = postBytes({ ...headers, 'content-length': String(whole.length) }, whole)
    const inChunks = postBytes({ ...headers, ...chunked }) + chunksOf(pieces)
    // A DELETE by header without a content type is routed before its body arrives.
    for (const bytes of about === 'header' ? [measured] : [measured, inChunks])
      t.match(JSON.parse((await ask(port, bytes)).body), { route, body: expected }, about)
  }
  const unread = await ask(port, postBytes({ ...override('DELETE'), ...chunked }))
  isProblem(t, unread, { status: 415, code: 'unsupported-media-type' })
})

t.test('HTTP/1.1: repeated header lines are refused, even if they are equal', async (t) => {
  const ran: string[] = []
  const port = await usualServer(t, {}, ran)
  for (const lines of [
    ['X-HTTP-Method-Override: DELETE', 'x-http-method-override: DELETE'],
    ['X-HTTP-Method-Override: DELETE', 'X-HTTP-Method-Override: PUT'],
    ['X-HTTP-Method-Override: D\xc9LETE'],
  ]) {
    const head = ['POST /v1/users/7 HTTP/1.1', 'Host: a', 'Connection: close', 'Content-Length: 0', ...lines]
    const answer = await ask(port, `${head.join('\r\n')}\r\n\r\n`)
    isProblem(t, answer, invalid, lines.join())
  }
  t.strictSame(ran, [])
})

t.test('HTTP/1.1: one connection serves performed, refused and other requests in turn', async (t) => {
  const ran: string[] = []
  const port = await usualServer(t, {}, ran)
  const connection = await openConnection(port)
  const expected: [number, string][] = []
  for (const [fields, form, status, outcome, url = path] of [
    [{ origin: 'https://other.example' }, '_method=DELETE', 400, invalid.code],
    [{ host: 'API.example:8080', origin: 'http://api.example:8080' }, '_method=DELETE', 200, 'DELETE'],
    [{ 'x-forwarded-host': 'a.example', origin: 'https://a.example' }, '_method=PUT', 200, 'PUT'],
    [{}, '_method=TRACE&age=31', 400, invalid.code],
    [{}, `_method=PATCH&a=${'x'.repeat(50_000)}`, 404, 'not-found', '/v1/nothing'],
    [{}, '_method=PATCH&age=31', 200, 'PATCH'],
  ] as const) {
    connection.send(requestBytes('POST', url, { ...fields, ...alive, ...formType }, form))
    expected.push([status, outcome])
  }
  connection.send(requestBytes('GET', path))
  const outcomes = parseAnswers(await connection.ended()).map(({ status, body }) => {
    const { route, code } = JSON.parse(body)
    return [status, route ?? code]
  })
  t.strictSame(outcomes, [...expected, [200, 'GET']])
  t.strictSame(ran.sort(), ['DELETE', 'GET', 'PATCH', 'PUT'])
})

t.test('HTTP/1.1: a hook that responds before the body is read does not block the connection', async (t) => {
  const app = await appOf(methodOverride)
  app.addHook('onRequest', async (_request, reply) => reply.code(401).send('who are you?'))
  addRoutes(app)
  const { port } = await serve(t, app)
  const large = JSON.stringify('x'.repeat(500_000))
  for (const bytes of [
    postBytes({ ...alive, ...formType }, `_method=DELETE&a=${large}`),
    postBytes({ ...alive, ...override('DELETE'), ...json, ...chunked }) + chunksOf(['"a', large]),
  ]) {
    const connection = await openConnection(port)
    connection.send(bytes + requestBytes('GET', path))
    const answers = parseAnswers(await connection.ended())
    t.match(answers, [{ status: 401 }, { status: 401 }])
    t.equal(answers.length, 2)
  }
})

t.test('HTTP/1.1: after 100 Continue, a form is performed in the context of its request', async (t) => {
  const storage = new AsyncLocalStorage<string>()
  const app = Fastify({
    serverFactory: (handle) => createServer((raw, response) => storage.run('here', handle, raw, response)),
  })
  await app.register(methodOverride)
  app.put('/v1/users/:id', ({ body }) => ({ held: storage.getStore() ?? null, body }))
  const { port } = await serve(t, app)
  const connection = await openConnection(port)
  connection.send(postBytes({ ...formType, expect: '100-continue', 'content-length': '15' }))
  await connection.received((bytes) => bytes.startsWith('HTTP/1.1 100 '))
  connection.send('_method=PUT&a=1')
  t.strictSame(JSON.parse((await lastAnswer(connection)).body), { held: 'here', body: { a: '1' } })
})

t.test('HTTP/1.1: a form over the limit is a 413, also if it never ends', async (t) => {
  const ran: string[] = []
  const endless = await openConnection(await usualServer(t, {}, ran))
  endless.send(postBytes({ ...formType, ...chunked, ...alive }))
  endless.send(chunksOf([`_method=DELETE&a=${'x'.repeat(150_000)}`]).slice(0, -5))
  isProblem(t, await lastAnswer(endless), tooLarge)
  t.strictSame(ran, [])
})

t.test('HTTP/1.1: the form of an aborted request is not performed, and is logged', async (t) => {
  const ran: string[] = []
  const { logger, lines } = keepLogs('info')
  const app = await withPlugins(Fastify({ logger }), methodOverride)
  addRoutes(app, ran)
  const { port } = await serve(t, app)
  for (const [headers, body] of [
    [{ ...formType, 'content-length': '50' }, '_method=DELETE&'],
    [{ ...formType, ...chunked }, 'f\r\n_method=DELETE&\r\n'],
    [{ ...formType, 'content-length': '50' }, ''],
    [{ ...override('DELETE'), ...json, ...chunked }, ''],
  ] as const) {
    const connection = await openConnection(port)
    connection.send(postBytes(headers) + body)
    connection.socket.end()
    connection.socket.destroySoon()
    t.match(await abandonedIn(lines), { url: path })
    t.notOk(lines.splice(0).some(({ msg }) => msg === 'incoming request'))
  }
  t.strictSame(ran, [])
})

t.test('HTTP/1.1: of too many stalled forms the oldest is a 408; a complete one is performed', async (t) => {
  const port = await usualServer(t, { bodyLimit: 1000 })
  const stalled = postBytes(
    { ...formType, ...alive, 'content-length': '1000' },
    `_method=PATCH&a=${'x'.repeat(970)}`,
  )
  const oldest = await openConnection(port)
  oldest.send(stalled)
  for (let count = 0; count < 17; count++) {
    const { socket, send } = await openConnection(port)
    t.teardown(() => socket.destroy())
    send(stalled)
  }
  const answer = await lastAnswer(oldest)
  isProblem(t, answer, late)
  t.equal(answer.headers.connection, 'close')
  const prompt = await ask(port, postBytes(formType, '_method=PATCH&age=31'))
  t.match(JSON.parse(prompt.body), { route: 'PATCH' })
})

t.test('a form that does not arrive within formTimeout is a 408, over HTTP/2 as well', async (t) => {
  for (const http2 of [false, true]) {
    const app = http2 ? (Fastify({ http2 }) as unknown as FastifyInstance) : Fastify()
    await app.register(problems)
    await app.register(methodOverride, { formTimeout: 50 })
    const ran: string[] = []
    addRoutes(app, ran)
    app.addHook('onRequest', async (request) => void ran.push(`hook of ${request.method}`))
    const { port } = await serve(t, app)
    if (http2) {
      const session = connect(`http://127.0.0.1:${port}`)
      t.teardown(() => session.destroy())
      const stream = session.request({ ':method': 'POST', ':path': path, ...formType })
      stream.write('_method=DEL')
      const [headers] = await once(stream, 'response')
      t.equal(headers[':status'], 408)
    } else {
      const connection = await openConnection(port)
      connection.send(postBytes({ ...formType, ...alive, 'content-length': '14' }, '_method=DEL'))
      isProblem(t, await lastAnswer(connection), late)
    }
    t.strictSame(ran, [], 'neither a later hook nor a handler ran')
  }
})

t.test('in report mode, a form that does not arrive in formTimeout is routed', async (t) => {
  const app = await appOf([methodOverride, { formTimeout: 50, mode: 'report' }])
  const parser = { parseAs: 'string' } as const
  app.addContentTypeParser(formType['content-type'], parser, (_request, body, done) => done(null, body))
  addRoutes(app)
  const routed = new Promise<void>((resolve) => app.addHook('onRequest', async () => resolve()))
  const connection = await openConnection((await serve(t, app)).port)
  connection.send(postBytes({ ...formType, 'content-length': '14' }, '_method=DEL'))
  await routed
  connection.send('ETE')
  t.match(JSON.parse((await lastAnswer(connection)).body), { route: 'POST', body: '_method=DELETE' })
  t.strictSame(app.conventions.report().observations, [])
})

t.test('HTTP/2: header and form, with and without a length', async (t) => {
  const { send, ran } = await http2Session(t)
  for (const [about, headers, pieces, route, expected] of performed) {
    for (const length of [{}, { 'content-length': String(pieces.join('').length) }]) {
      const { body } = await send({ ...headers, ...length }, pieces.length === 0 ? null : pieces)
      t.match(JSON.parse(body), { route, method: route, body: expected }, about)
    }
  }
  ran.length = 0
  isProblem(t, await send(override('TRACE'), null), invalid)
  isProblem(t, await send(formType, [`_method=DELETE&a=${'x'.repeat(150_000)}`]), tooLarge)
  t.strictSame(ran, [])
})

t.test('HTTP/2: a form is of the same origin if its Origin matches :authority', async (t) => {
  const { send, ran, port } = await http2Session(t)
  const authority = { ':authority': 'api.example' }
  for (const [fields, expected] of [
    [{ origin: 'http://127.0.0.1:1' }, invalid],
    [{ ...authority, origin: 'https://other.example' }, invalid],
    [{ origin: `http://127.0.0.1:${port}` }, { route: 'DELETE' }],
    [{ ...authority, origin: 'https://api.example' }, { route: 'DELETE' }],
  ] as const) {
    const answer = await send({ ...formType, ...fields }, ['_method=DELETE'])
    t.match(JSON.parse(answer.body), expected, JSON.stringify(fields))
  }
  t.strictSame(ran, ['DELETE', 'DELETE'])
})

t.test('HTTP/2: the form of an aborted request is not performed', async (t) => {
  const { origin, ran, lines, port } = await http2Session(t)
  const { socket } = await openConnection(port)
  const leaving = connect(origin, { createConnection: () => socket })
  leaving.on('error', () => {})
  const stream = leaving.request({ ':method': 'POST', ':path': path, ...formType })
  stream.on('error', () => {})
  await new Promise((written) => stream.write('_method=DELETE', written))
  socket.destroySoon()
  t.match(await abandonedIn(lines), { url: path })
  t.strictSame(ran, [])
})

t.test('HTTP/2: no response has a header field of a connection', async (t) => {
  t.strictSame(warnings, [])
})

async function http2Session(t: Test) {
  const ran: string[] = []
  const { logger, lines } = keepLogs('info')
  const app = Fastify({ http2: true, bodyLimit: 100_000, logger })
  await app.register(problems)
  await app.register(methodOverride)
  addRoutes(app, ran)
  const { origin, port } = await serve(t, app)
  const session = connect(origin)
  // The app closes only after its sessions have ended.
  t.teardown(() => session.destroy())
  const send = (headers: Fields, pieces: readonly string[] | null) =>
    askOver(session, { ':method': 'POST', ':path': path, ...headers }, pieces)
  return { origin, send, ran, lines, port }
}
