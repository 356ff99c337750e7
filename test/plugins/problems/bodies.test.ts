import { gzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  InjectOptions,
  preParsingHookHandler,
} from 'fastify'
import t, { type Test } from 'tap'
import { ProblemError } from '../../../src/index.js'
import { isProblem } from '../../support/problem.js'
import { ask, openConnection, parseAnswers, type RawAnswer } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { appWith, refuses } from './support.js'

const json = 'application/json'
const post = { method: 'POST', url: '/v1/users', headers: { 'content-type': json } } as const
const announced = (type: string) => `Host: a\r\nConnection: close\r\nContent-Type: ${type}\r\n`

async function appWithUsers(): Promise<FastifyInstance> {
  const app = await appWith()
  const body = { type: 'object', required: ['name'] }
  app.post('/v1/users', { schema: { body } }, async (request) => request.body)
  app.patch('/v1/users/:id', { schema: { body } }, async (request) => request.body)
  return app
}

t.test('a body that is not JSON is a 400', async (t) => {
  const app = await appWithUsers()
  const expected = { status: 400, code: 'body-malformed', title: 'Malformed body', detail: /not valid JSON/ }
  for (const payload of [
    '{"name":"A',
    '  ',
    '{"__proto__":{"admin":true}}',
    '{"\\u005f_proto__":{"admin":true}}',
    '{"name":{"__proto__":null}}',
    '{"constructor":{"prototype":{"admin":true}}}',
  ]) {
    const response = await refuses(t, app, { ...post, payload }, expected, payload)
    t.notMatch(response.payload, 'admin', `${payload}: what was sent is not repeated`)
  }
  const headers = { ...post.headers, 'content-length': '100' }
  const short = { ...post, headers, payload: '{"name":"A"}' }
  await refuses(t, app, short, { status: 400, code: 'request-malformed' })
})

t.test('a body over the limit is a 413; a client that still sends may go on', async (t) => {
  const app = await appWithUsers()
  app.post('/v1/notes', { bodyLimit: 10 }, async () => ({}))
  const tooLarge = { status: 413, code: 'content-too-large', title: 'Content too large', detail: /larger/ }
  await refuses(t, app, { ...post, url: '/v1/notes', payload: '"long enough"' }, tooLarge, 'of the route')
  const { port } = await serve(t, app)
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
    isProblem(t, refused as RawAnswer, tooLarge, 'of the server')
    isProblem(t, other as RawAnswer, { status: 404, code: 'not-found' })
  }
})

const named = (...bytes: number[]) =>
  Buffer.from([...Buffer.from('{"name":"'), ...bytes, ...Buffer.from('"}')])
const notUtf8 = [
  ['ISO 8859-1', named(0xe9)],
  ['a byte cut off at the end', Buffer.from([0x22, 0xe2, 0x82])],
  ['an overlong slash', named(0xc0, 0xaf)],
  ['a surrogate', named(0xed, 0xa0, 0x80)],
  ['UTF-16', Buffer.from('\ufeff{"name":"Ada"}', 'utf16le')],
] as const

t.test('JSON that is not UTF-8 is a 400 (RFC 8259 §8.1)', async (t) => {
  const app = await appWithUsers()
  const parse = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, parse)
  app.register(async (child) => {
    child.addContentTypeParser('application/json', { parseAs: 'string' }, parse)
    child.post('/v1/inner', async (request) => request.body)
  })
  for (const [method, url, type] of [
    ['POST', '/v1/users', json],
    ['POST', '/v1/users', `${json}; charset=utf-8`],
    ['POST', '/v1/inner', json],
    ['PATCH', '/v1/users/1', 'application/merge-patch+json'],
  ] as const) {
    const request = { method, url, headers: { 'content-type': type } }
    for (const [about, payload] of notUtf8) {
      const expected = { status: 400, code: 'body-malformed', detail: /UTF-8/ }
      await refuses(t, app, { ...request, payload }, expected, `${url} ${type}: ${about}`)
    }
    const name = 'Ren\u00e9 \u{1f600} \ufffd'
    const payload = Buffer.from(`\ufeff${JSON.stringify({ name })}`)
    const response = await app.inject({ ...request, payload })
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
    const headers = { ...post.headers, 'content-encoding': 'x-none' }
    const response = await app.inject({ method: 'POST', url, headers, payload })
    t.strictSame([response.statusCode, response.json()], [200, { name: 'Ren\ufffd' }], url)
  }
  const routes = new Set(app.conventions.report().observations.map(({ route }) => route))
  t.strictSame([...routes], ['POST /v1/report'], 'what is off is not counted')
})

t.test('an empty body with a JSON Content-Type is no body for DELETE and POST', async (t) => {
  const app = await appWith()
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
  const send = (line: string, rest: string) => ask(port, `${line} HTTP/1.1\r\n${announced(json)}${rest}`)
  const emptyChunks = 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
  for (const empty of ['\r\n', 'Content-Length: 0\r\n\r\n', emptyChunks]) {
    for (const line of ['DELETE /v1/users/1', 'POST /v1/users/1/follow', 'POST /v1/orders/1/retry']) {
      const { status } = await send(line, empty)
      t.strictSame([status, ...seen.splice(0)], [204, undefined], `${line} ${empty}: no body`)
    }
    isProblem(t, await send('POST /v1/users', empty), { status: 400, code: 'validation' })
    isProblem(t, await send('PUT /v1/users/1', empty), { status: 400, code: 'body-malformed' })
  }
  const chunked = 'Transfer-Encoding: chunked\r\n\r\n6\r\n{"a":1\r\n1\r\n}\r\n0\r\n\r\n'
  t.equal((await send('POST /v1/users/1/follow', chunked)).status, 204)
  t.strictSame(seen.splice(0), [{ a: 1 }], 'a body in chunks is read')
  t.equal((await send('DELETE /v1/users/1', 'Content-Length: 2\r\n\r\n{"')).status, 400, 'a broken one')
})

t.test('a form without content is no body where nothing parses forms', async (t) => {
  const type = 'application/x-www-form-urlencoded'
  for (const [mode, parses, content, status, body] of [
    ['enforce', false, '', 204, undefined],
    ['enforce', true, '', 204, 'parsed'],
    ['enforce', false, 'a=1', 415, undefined],
    ['report', false, '', 415, undefined],
  ] as const) {
    const app = await appWith({ mode })
    if (parses) app.addContentTypeParser(type, (_request, _payload, done) => done(null, 'parsed'))
    let seen: unknown
    app.post('/v1/users/:id/follow', async (request, reply) => {
      seen = request.body
      return reply.code(204).send()
    })
    const { port } = await serve(t, app)
    const length = `Content-Length: ${content.length}\r\n\r\n`
    const head = `POST /v1/users/1/follow HTTP/1.1\r\n${announced(`${type}; charset=utf-8`)}${length}`
    const answer = await ask(port, `${head}${content}`)
    t.strictSame([answer.status, seen], [status, body], `${mode} ${parses} ${content}`)
  }
})

t.test('a JSON parser of the app gets an empty body', async (t) => {
  const types = [json, 'application/merge-patch+json']
  const app = await appWith()
  app.register(async (child) => {
    child.addContentTypeParser(types, (_request, _payload, done) => done(null, { isEmpty: true }))
    child.delete('/v1/users', async (request) => request.body)
  })
  for (const type of types) {
    const request = { method: 'DELETE', url: '/v1/users', headers: { 'content-type': type } } as const
    t.strictSame((await app.inject(request)).json(), { isEmpty: true }, type)
  }
})

t.test('404 and 405 are sent before the body is read', async (t) => {
  const app = await appWith()
  app.get('/v1/users', async () => ({}))
  const { port } = await serve(t, app)
  for (const [url, status, code] of [
    ['/v1/nope', 404, 'not-found'],
    ['/v1/users', 405, 'method-not-allowed'],
  ] as const) {
    const unfinished = await openConnection(port)
    unfinished.send(`PUT ${url} HTTP/1.1\r\nHost: a\r\nContent-Type: ${json}\r\nContent-Length: 9\r\n\r\n{`)
    t.match(await unfinished.received((text) => text.includes(code)), `HTTP/1.1 ${status}`)
    unfinished.socket.destroy()
  }
})

const unsupported = { status: 415, code: 'unsupported-media-type', title: 'Unsupported media type' }

/** Adds a route that takes bodies, and parsers. */
function takes(app: FastifyInstance, url: string, types: string[] = []): void {
  app.addContentTypeParser(types, { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.route({ method: ['GET', 'POST', 'PUT', 'PATCH'], url, handler: async (request) => request.body })
}

/** Expects a 415 with these headers, and no others of their kind. */
async function refusesBody(
  t: Test,
  app: FastifyInstance,
  request: InjectOptions,
  expected: object,
  detail: string | RegExp = /./,
) {
  const ofXml = { headers: { 'content-type': 'application/xml' }, payload: '<a/>' }
  const asked: InjectOptions = { method: 'POST', url: '/', ...ofXml, ...request }
  const about = JSON.stringify(request)
  const { headers } = await refuses(t, app, asked, { ...unsupported, detail }, about)
  const names = ['accept', 'accept-encoding', 'accept-patch']
  const sent = Object.entries(headers).filter(([name]) => names.includes(name))
  t.strictSame(Object.fromEntries(sent), expected, about)
}

t.test('an unsupported, invalid or missing Content-Type is a 415 (RFC 9110 §15.5.16)', async (t) => {
  const app = await appWith()
  takes(app, '/')
  for (const [type, detail] of [
    ['application/xml', 'application/xml is not supported here'],
    ['text/html; charset=utf-8', 'text/html is not supported here'],
    ['application/json, text/html', /./],
    ['/', /./],
    ['', 'The body has no Content-Type'],
    [`text/${'x'.repeat(5000)}`, /^text\/xxx.{1,190}$/],
  ] as const)
    await refusesBody(t, app, { headers: { 'content-type': type } }, { accept: json }, detail)
})

t.test('Accept names what the context parses, Accept-Patch the patch formats (RFC 5789 §2.2)', async (t) => {
  const [merge, form] = ['application/merge-patch+json', 'application/x-www-form-urlencoded'] as const
  const app = await appWith()
  takes(app, '/json')
  app.register(async (child) => takes(child, '/forms', [form, 'multipart/form-data']))
  app.register(async (child) => takes(child, '/patches', [merge, 'application/json-patch+json', 'text/csv']))
  app.register(async (child) => {
    child.removeAllContentTypeParsers()
    takes(child, '/none')
    child.register(async (inner) => takes(inner, '/own', [merge]))
  })
  for (const [method, url, expected] of [
    ['POST', '/json', { accept: json }],
    ['PATCH', '/json', { 'accept-patch': json }],
    ['POST', '/forms', { accept: `${json}, ${form}, multipart/form-data` }],
    ['PATCH', '/patches', { 'accept-patch': `${merge}, application/json-patch+json, ${json}` }],
    ['PATCH', '/own', { 'accept-patch': merge }],
    ['POST', '/none', {}],
  ] as const)
    await refusesBody(t, app, { method, url }, expected)
  const request = { method: 'PATCH', url: '/own', headers: { 'content-type': merge }, payload: '{}' } as const
  t.match(await app.inject(request), { statusCode: 200, payload: '{}' })
})

t.test('a 415 that is thrown or sent by a handler gets the same headers', async (t) => {
  const app = await appWith()
  app.post('/', async () => Promise.reject(Object.assign(new Error('no'), { statusCode: 415 })))
  app.patch('/', async (_request, reply) => reply.code(415).send())
  const ofJson = { headers: { 'content-type': json }, payload: '{}' }
  await refusesBody(t, app, ofJson, { accept: json })
  await refusesBody(t, app, { ...ofJson, method: 'PATCH' }, { 'accept-patch': json })
})

t.test('a validation problem is a 415 only if a text was sent for another body', async (t) => {
  const app = await appWith()
  const schema = {
    body: { type: 'object', properties: { name: { type: 'string', maxLength: 3 } } },
    querystring: { type: 'object', properties: { limit: { type: 'integer' } } },
  }
  app.post('/', { schema }, async () => ({}))
  const errors = [{ in: 'body', pointer: '', message: 'is taken' }] as const
  app.post('/taken', async () => Promise.reject(new ProblemError('name-taken', { status: 409, errors })))
  const text = { 'content-type': 'text/plain; charset=utf-8' }
  await refusesBody(t, app, { headers: text, payload: 'Ada' }, { accept: json }, /^text\/plain is not/)
  for (const [about, url, payload] of [
    ['a JSON string', '/', '"Ada"'],
    ['a member', '/', '{"name":"Grace"}'],
    ['the query', '/?limit=x', '{}'],
  ] as const)
    await refuses(t, app, { ...post, url, payload }, { status: 400, code: 'validation' }, about)
  const taken = { ...post, url: '/taken', headers: text, payload: 'Ada' }
  await refuses(t, app, taken, { status: 409, code: 'name-taken', errors }, 'another problem with the body')
})

t.test('an unsupported content coding is a 415 with Accept-Encoding (RFC 9110 §15.5.16)', async (t) => {
  const app = await appWith()
  takes(app, '/')
  for (const [method, coding, isTaken] of [
    ['POST', 'GZIP', false],
    ['PATCH', 'identity, gzip', false],
    ['POST', 'x'.repeat(500), false],
    ['POST', 'Identity', true],
    ['PATCH', '', true],
  ] as const) {
    const headers = { 'content-type': json, 'content-encoding': coding }
    const request = { method, url: '/', headers, payload: '{}' }
    if (isTaken) t.equal((await app.inject(request)).statusCode, 200, coding)
    else await refusesBody(t, app, request, { 'accept-encoding': 'identity' }, /^Content-Encoding .{1,125}$/)
  }
})

t.test('content that the app decodes is accepted', async (t) => {
  const app = await appWith()
  await app.register(compress, { global: false, requestEncodings: ['gzip'] })
  const takesCoding: preParsingHookHandler = (request, _reply, payload, next) => {
    delete request.headers['content-encoding']
    next(null, payload)
  }
  app.post('/coded', { decompress: {} }, async (request) => request.body)
  app.post('/stored', { preParsing: takesCoding }, async (request) => request.body)
  const headers = { 'content-type': json, 'content-encoding': 'gzip' }
  for (const [url, payload] of [
    ['/coded', gzipSync('{"name":"Ada"}')],
    ['/stored', '{"name":"Ada"}'],
  ] as const) {
    const { statusCode, body } = await app.inject({ ...post, url, headers, payload })
    t.strictSame([statusCode, body], [200, '{"name":"Ada"}'], url)
  }
  const unknown = { url: '/coded', headers: { ...headers, 'content-encoding': 'x-none' }, payload: '{}' }
  await refuses(t, app, { ...post, ...unknown }, { ...unsupported, detail: /x-none/ })
})
