import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
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
    const response = await app.inject({
      ...request,
      payload: Buffer.from(`\ufeff${JSON.stringify({ name })}`),
    })
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
  for (const [line, status, code] of [
    ['DELETE /v1/users/1', 204, ''],
    ['POST /v1/users/1/follow', 204, ''],
    ['POST /v1/orders/1/retry', 204, ''],
    ['POST /v1/users', 400, 'validation'],
    ['PUT /v1/users/1', 400, 'body-malformed'],
  ] as const) {
    for (const empty of [
      '\r\n',
      'Content-Length: 0\r\n\r\n',
      'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ]) {
      const answer = await send(line, empty)
      if (status === 400) isProblem(t, answer, { status, code }, `${line} ${empty}`)
      else t.strictSame([answer.status, ...seen.splice(0)], [204, undefined], `${line} ${empty}: no body`)
    }
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
  for (const type of [json, 'application/merge-patch+json']) {
    const app = await appWith()
    app.register(async (child) => {
      child.addContentTypeParser(type, (_request, _payload, done) => done(null, { isEmpty: true }))
      child.delete('/v1/users', async (request) => request.body)
    })
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
