import { gzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type preParsingHookHandler,
} from 'fastify'
import t from 'tap'
import { problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'
import { ask, openConnection, parseAnswers, type RawAnswer } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const json = 'application/json'

t.test('a body that is not JSON is a 400', async (t) => {
  const app = await appWithUsers()
  const headers = { 'content-type': json }
  const expected = { status: 400, code: 'body-malformed', title: 'Malformed body', detail: /not valid JSON/ }
  for (const payload of [
    '{"name":"A',
    '{"name":"A",}',
    "{'name':'A'}",
    '  ',
    '{"age":01}',
    '{"__proto__":{"admin":true}}',
    '{"\\u005f_proto__":{"admin":true}}',
    '{"name":{"__proto__":null}}',
    '{"constructor":{"prototype":{"admin":true}}}',
    '{"name":"\u0000"}',
  ]) {
    const response = await app.inject({ method: 'POST', url: '/v1/users', headers, payload })
    isProblem(t, injected(response), expected, payload)
    t.notMatch(response.payload, 'admin', `${payload}: what was sent is not repeated`)
  }
})

t.test('a body over the limit of the route is a 413', async (t) => {
  const app = await appWithUsers()
  app.post('/v1/notes', { bodyLimit: 10 }, async () => ({}))
  const expected = { status: 413, code: 'content-too-large', title: 'Content too large', detail: /larger/ }

  const declared = await app.inject({ method: 'POST', url: '/v1/notes', payload: { text: 'long enough' } })
  isProblem(t, injected(declared), expected, 'by its Content-Length')
  const payload = JSON.stringify({ name: 'x'.repeat(1_048_577) })
  const headers = { 'content-type': json }
  const whole = await app.inject({ method: 'POST', url: '/v1/users', headers, payload })
  isProblem(t, injected(whole), expected, 'by the limit of the server')
})

t.test(
  'a client that is still sending a body over the limit gets the 413, and may go on with its connection',
  async (t) => {
    const { port } = await serve(t, await appWithUsers())
    const large = 'x'.repeat(8 * 1024 * 1024)
    const head = `POST /v1/users HTTP/1.1\r\nHost: a\r\nContent-Type: ${json}\r\n`
    const next = 'GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    for (const body of [
      `Content-Length: ${large.length}\r\n\r\n${large}`,
      `Transfer-Encoding: chunked\r\n\r\n${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`,
    ]) {
      const connection = await openConnection(port)
      connection.send(head + body + next)
      const [refused, other] = parseAnswers(await connection.ended())
      isProblem(t, refused as RawAnswer, { status: 413, code: 'content-too-large' })
      isProblem(t, other as RawAnswer, { status: 404, code: 'not-found' })
    }
  },
)

t.test('an unsupported or invalid Content-Type is a 415 (RFC 9110 §15.5.16)', async (t) => {
  const app = await appWithUsers()
  const unsupported = ['application/xml', 'text/html; charset=utf-8', 'application/x-www-form-urlencoded']
  for (const type of [...unsupported, 'json', '/', 'application/', ';', ',', 'application/json, text/html']) {
    const headers = { 'content-type': type }
    const response = await app.inject({ method: 'POST', url: '/v1/users', headers, payload: '{}' })
    const expected = { status: 415, code: 'unsupported-media-type', title: 'Unsupported media type' }
    const detail = unsupported.includes(type) ? `${type.split(';')[0]} is not supported here` : /./
    isProblem(t, injected(response), { ...expected, detail }, type)
    t.equal(response.headers.accept, json, `${type}: Accept`)
    t.notOk('accept-patch' in response.headers, `${type}: no Accept-Patch on POST`)
  }
})

t.test('a missing body is a validation problem, a shorter one than its Content-Length a 400', async (t) => {
  const app = await appWithUsers()
  const errors = [{ in: 'body', pointer: '', message: 'must be object' }]
  const missing = await app.inject({ method: 'POST', url: '/v1/users' })
  isProblem(t, injected(missing), { status: 400, code: 'validation', errors })
  const headers = { 'content-type': json, 'content-length': '100' }
  const short = await app.inject({ method: 'POST', url: '/v1/users', headers, payload: '{"name":"A"}' })
  isProblem(t, injected(short), { status: 400, code: 'request-malformed' })
})

const named = (...bytes: number[]) =>
  Buffer.from([...Buffer.from('{"name":"'), ...bytes, ...Buffer.from('"}')])
const notUtf8: readonly (readonly [about: string, bytes: Buffer])[] = [
  ['ISO 8859-1', named(0xe9)],
  ['a character cut off', named(0xf0, 0x9f, 0x98)],
  ['a byte cut off at the end', Buffer.from([0x22, 0xe2, 0x82])],
  ['an overlong slash', named(0xc0, 0xaf)],
  ['a surrogate', named(0xed, 0xa0, 0x80)],
  ['UTF-16', Buffer.from('\ufeff{"name":"Ada"}', 'utf16le')],
]

t.test('JSON that is not UTF-8 is a 400 (RFC 8259 §8.1)', async (t) => {
  const app = await appWithUsers()
  const parse = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, parse)
  app.register(async (child) => {
    child.addContentTypeParser('application/json', { parseAs: 'string' }, parse)
    child.post('/v1/inner', async (request) => request.body)
  })
  const post = { method: 'POST', url: '/v1/users', type: json } as const
  const ways = [
    post,
    { ...post, type: `${json}; charset=utf-8` },
    { ...post, url: '/v1/inner' },
    { method: 'PATCH', url: '/v1/users/1', type: 'application/merge-patch+json' },
  ] as const
  for (const { method, url, type } of ways) {
    const send = (payload: Buffer) => app.inject({ method, url, headers: { 'content-type': type }, payload })
    for (const [about, bytes] of notUtf8) {
      const expected = { status: 400, code: 'body-malformed', detail: /UTF-8/ }
      isProblem(t, injected(await send(bytes)), expected, `${url} ${type}: ${about}`)
    }
    const name = 'Ren\u00e9 \u{1f600} \ufffd'
    const response = await send(Buffer.from(`\ufeff${JSON.stringify({ name })}`))
    t.strictSame([response.statusCode, response.json()], [200, { name }], `${url}: UTF-8, with a BOM`)
  }
})

t.test('a route with problems off gets its body as before', async (t) => {
  const app = await appWithUsers()
  const take = async (request: FastifyRequest): Promise<unknown> => request.body
  app.post('/v1/off', { config: { problems: false } }, take)
  app.post('/v1/report', { config: { problems: { mode: 'report' } } }, take)
  for (const url of ['/v1/off', '/v1/report']) {
    const payload = Buffer.from('{"name":"Ren\u00e9"}', 'latin1')
    const headers = { 'content-type': json, 'content-encoding': 'x-none' }
    const response = await app.inject({ method: 'POST', url, headers, payload })
    t.strictSame([response.statusCode, response.json()], [200, { name: 'Ren\ufffd' }], url)
  }
  const routes = new Set(app.conventions.report().observations.map(({ route }) => route))
  t.strictSame([...routes], ['POST /v1/report'], 'what is off is not counted')
})

t.test('an unsupported content coding is a 415 with Accept-Encoding (RFC 9110 §15.5.16)', async (t) => {
  const app = await appWithUsers()
  for (const [coding, isRefused] of [
    ['GZIP', true],
    ['identity, gzip', true],
    ['x'.repeat(500), true],
    ['Identity', false],
    ['', false],
  ] as const) {
    const headers = { 'content-type': json, 'content-encoding': coding }
    for (const [method, url] of [
      ['POST', '/v1/users'],
      ['PATCH', '/v1/users/1'],
    ] as const) {
      const response = await app.inject({ method, url, headers, payload: '{"name":"Ada"}' })
      t.equal(response.statusCode, isRefused ? 415 : 200, `${method} ${coding}`)
      if (!isRefused) continue
      const expected = { status: 415, code: 'unsupported-media-type', detail: /^Content-Encoding / }
      isProblem(t, injected(response), expected, `${method} ${coding}`)
      t.equal(response.headers['accept-encoding'], 'identity')
      t.notOk('accept' in response.headers || 'accept-patch' in response.headers, 'the media type is right')
    }
  }
})

t.test('content that the app decodes is accepted', async (t) => {
  const app = await appWithUsers()
  await app.register(compress, { global: false, requestEncodings: ['gzip'] })
  const takesCoding: preParsingHookHandler = (request, _reply, payload, next) => {
    delete request.headers['content-encoding']
    next(null, payload)
  }
  app.post('/v1/coded', { decompress: {} }, async (request) => request.body)
  app.post('/v1/stored', { preParsing: takesCoding }, async (request) => request.body)
  for (const [url, coding, payload, status] of [
    ['/v1/coded', 'gzip', gzipSync('{"name":"Ada"}'), 200],
    ['/v1/coded', 'x-none', '{}', 415],
    ['/v1/stored', 'gzip', '{"name":"Ada"}', 200],
  ] as const) {
    const headers = { 'content-type': json, 'content-encoding': coding }
    const response = await app.inject({ method: 'POST', url, headers, payload })
    if (status === 200) t.strictSame([response.statusCode, response.json()], [200, { name: 'Ada' }])
    else isProblem(t, injected(response), { status, code: 'unsupported-media-type', detail: /x-none/ })
  }
})

t.test('an empty body with a JSON Content-Type is no body for DELETE and POST', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.addHook('onRequest', (_request, _reply, next) => setImmediate(next))
  const seen: unknown[] = []
  const note = async (request: FastifyRequest, reply: FastifyReply) => {
    seen.push(request.body)
    return reply.code(204).send()
  }
  const body = { type: 'object', properties: { reason: { type: 'string' } } }
  app.delete('/v1/users/:id', note)
  app.post('/v1/users/:id/follow', note)
  app.post('/v1/orders/:id/retry', { schema: { body: { ...body, type: ['object', 'null'] } } }, note)
  app.post('/v1/users', { schema: { body } }, note)
  app.put('/v1/users/:id', note)
  const { port } = await serve(t, app)
  const rows = [
    ['DELETE /v1/users/1', 204],
    ['POST /v1/users/1/follow', 204],
    ['POST /v1/orders/1/retry', 204],
    ['POST /v1/users', 'validation'],
    ['PUT /v1/users/1', 'body-malformed'],
  ] as const
  const announced = 'Host: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n'
  for (const [line, expected] of rows) {
    const status = expected === 204 ? 204 : 400
    for (const [framing, content] of [
      ['', ''],
      ['Content-Length: 0\r\n', ''],
      ['Transfer-Encoding: chunked\r\n', '0\r\n\r\n'],
    ] as const) {
      const answer = await ask(port, `${line} HTTP/1.1\r\n${announced}${framing}\r\n${content}`)
      t.equal(answer.status, status, `${line} ${framing}`)
      if (status === 204) t.strictSame(seen.splice(0), [undefined], `${line} ${framing}: no body`)
      else isProblem(t, answer, { status, code: String(expected) })
    }
  }
  const chunks = '6\r\n{"a":1\r\n1\r\n}\r\n0\r\n\r\n'
  const chunked = `${announced}Transfer-Encoding: chunked\r\n\r\n${chunks}`
  t.equal((await ask(port, `POST /v1/users/1/follow HTTP/1.1\r\n${chunked}`)).status, 204)
  t.strictSame(seen.splice(0), [{ a: 1 }], 'a body in chunks is read')
  const broken = `${announced}Content-Length: 2\r\n\r\n{"`
  const refused = await ask(port, `DELETE /v1/users/1 HTTP/1.1\r\n${broken}`)
  t.equal(refused.status, 400, 'a broken one is refused')
})

t.test('a form without content is no body where nothing parses forms', async (t) => {
  const type = 'application/x-www-form-urlencoded'
  for (const [mode, parses, content, status, body] of [
    ['enforce', false, '', 204, undefined],
    ['enforce', true, '', 204, 'parsed'],
    ['enforce', false, 'a=1', 415, undefined],
    ['report', false, '', 415, undefined],
  ] as const) {
    const app = Fastify()
    await app.register(problems, { mode })
    if (parses) app.addContentTypeParser(type, (_request, _payload, done) => done(null, 'parsed'))
    let seen: unknown
    app.post('/v1/users/:id/follow', async (request, reply) => {
      seen = request.body
      return reply.code(204).send()
    })
    const { port } = await serve(t, app)
    const fields = `Host: localhost\r\nConnection: close\r\nContent-Type: ${type}; charset=utf-8\r\n`
    const length = `Content-Length: ${content.length}\r\n\r\n`
    const answer = await ask(port, `POST /v1/users/1/follow HTTP/1.1\r\n${fields}${length}${content}`)
    t.strictSame([answer.status, seen], [status, body], `${mode} ${parses} ${content}`)
  }
})

t.test('a JSON parser of the app gets an empty body', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.register(async (child) => addParser(child, json))
  addParser(app, 'application/merge-patch+json')
  function addParser(context: FastifyInstance, type: string): void {
    context.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => {
      done(null, body === '' ? { isEmpty: true } : JSON.parse(String(body)))
    })
    context.delete(`/v1/${type}`, async (request) => request.body)
  }
  for (const type of [json, 'application/merge-patch+json']) {
    const headers = { 'content-type': type }
    const response = await app.inject({ method: 'DELETE', url: `/v1/${type}`, headers })
    t.strictSame(response.json(), { isEmpty: true }, type)
  }
})

t.test('404 and 405 are sent before the body is read', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/users', async () => ({}))
  const { port } = await serve(t, app)
  for (const [url, status, code] of [
    ['/v1/nope', 404, 'not-found'],
    ['/v1/users', 405, 'method-not-allowed'],
  ] as const) {
    for (const [type, payload] of [
      [json, '{"broken'],
      [json, ''],
      [json, 'x'.repeat(1_048_577)],
      ['text/csv', 'a'],
      ['no type', 'a'],
    ] as const) {
      const response = await app.inject({ method: 'PUT', url, headers: { 'content-type': type }, payload })
      isProblem(t, injected(response), { status, code }, `${status}: ${type}`)
    }
    const unfinished = await openConnection(port)
    unfinished.send(`PUT ${url} HTTP/1.1\r\nHost: a\r\nContent-Type: ${json}\r\nContent-Length: 9\r\n\r\n{`)
    t.match(await unfinished.received((text) => text.includes(code)), `HTTP/1.1 ${status}`)
    unfinished.socket.destroy()
  }
})

async function appWithUsers(): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(problems)
  const body = { type: 'object', required: ['name'] }
  app.post('/v1/users', { schema: { body } }, async (request) => request.body)
  app.patch('/v1/users/:id', { schema: { body } }, async (request) => request.body)
  return app
}
