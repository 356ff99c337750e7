import { gzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import t from 'tap'
import { problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'
import { ask, openConnection } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const json = 'application/json'

t.test('a body that is not JSON is a 400', async (t) => {
  const app = await appWithUsers()
  const table: ReadonlyArray<readonly [about: string, body: string]> = [
    ['cut off', '{"name":"A'],
    ['a comma too many', '{"name":"A",}'],
    ['single quotes', "{'name':'A'}"],
    ['only spaces', '  '],
    ['a number that JSON has not', '{"age":01}'],
    ['prototype poisoning', '{"__proto__":{"admin":true}}'],
    ['prototype poisoning, escaped', '{"\\u005f_proto__":{"admin":true}}'],
    ['prototype poisoning below', '{"name":{"__proto__":null}}'],
    ['constructor poisoning', '{"constructor":{"prototype":{"admin":true}}}'],
    ['control characters', '{"name":"\u0000"}'],
  ]

  for (const [about, payload] of table) {
    const response = await app.inject({
      method: 'POST',
      url: '/v1/users',
      headers: { 'content-type': json },
      payload,
    })
    const expected = {
      status: 400,
      code: 'body-malformed',
      title: 'Malformed body',
      detail: /not valid JSON/,
    }
    isProblem(t, injected(response), expected, about)
    t.notMatch(response.payload, 'admin', `${about}: what was sent is not repeated`)
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

t.test('an unsupported media type is a 415 with the supported ones (RFC 9110 §15.5.16)', async (t) => {
  const app = await appWithUsers()
  for (const type of [
    'application/xml',
    'text/html; charset=utf-8',
    'application/x-www-form-urlencoded',
    'x/y',
  ]) {
    const response = await app.inject({
      method: 'POST',
      url: '/v1/users',
      headers: { 'content-type': type },
      payload: 'x',
    })
    const [name = ''] = type.split(';')
    const expected = { status: 415, code: 'unsupported-media-type', title: 'Unsupported media type' }
    isProblem(t, injected(response), { ...expected, detail: `${name} is not supported here` }, type)
    t.equal(response.headers.accept, json, `${type}: Accept`)
    t.notOk('accept-patch' in response.headers, `${type}: no Accept-Patch on POST`)
  }
})

t.test('a PATCH of an unsupported media type is a 415 with Accept-Patch (RFC 5789 §2.2)', async (t) => {
  const app = await appWithUsers()
  app.addContentTypeParser(
    'application/merge-patch+json',
    { parseAs: 'string' },
    app.getDefaultJsonParser('error', 'error'),
  )
  const response = await app.inject({
    method: 'PATCH',
    url: '/v1/users/1',
    headers: { 'content-type': 'application/xml' },
    payload: '<user/>',
  })

  isProblem(t, injected(response), { status: 415, code: 'unsupported-media-type' })
  t.equal(response.headers['accept-patch'], 'application/merge-patch+json, application/json')
  t.notOk('accept' in response.headers)
})

t.test('an invalid Content-Type is a 415', async (t) => {
  const app = await appWithUsers()
  for (const type of ['json', '/', 'application/', ';', ',', 'application/json, text/html']) {
    const headers = { 'content-type': type }
    const response = await app.inject({ method: 'POST', url: '/v1/users', headers, payload: '{}' })
    isProblem(t, injected(response), { status: 415, code: 'unsupported-media-type' }, type)
  }
})

t.test('a text body is a 415 if the schema requires an object', async (t) => {
  const app = await appWithUsers()
  const response = await app.inject({
    method: 'POST',
    url: '/v1/users',
    headers: { 'content-type': 'text/plain' },
    payload: '{"name":"A"}',
  })

  isProblem(t, injected(response), {
    status: 415,
    code: 'unsupported-media-type',
    detail: /^text\/plain is not/,
  })
  t.equal(response.headers.accept, json)
})

t.test('a JSON string is a validation problem if the schema requires an object', async (t) => {
  const app = await appWithUsers()
  for (const type of [json, 'application/json; charset=utf-8']) {
    const headers = { 'content-type': type }
    const response = await app.inject({ method: 'POST', url: '/v1/users', headers, payload: '"text"' })
    isProblem(t, injected(response), { status: 400, code: 'validation' }, type)
  }
})

t.test('a missing body is a validation problem if the schema requires one', async (t) => {
  const app = await appWithUsers()
  const response = await app.inject({ method: 'POST', url: '/v1/users' })

  isProblem(t, injected(response), {
    status: 400,
    code: 'validation',
    errors: [{ in: 'body', pointer: '', message: 'must be object' }],
  })
})

t.test('a body that is shorter than its Content-Length is a 400', async (t) => {
  const app = await appWithUsers()
  const response = await app.inject({
    method: 'POST',
    url: '/v1/users',
    headers: { 'content-type': json, 'content-length': '100' },
    payload: '{"name":"A"}',
  })

  isProblem(t, injected(response), { status: 400, code: 'request-malformed' })
})

t.test('a valid body is not changed', async (t) => {
  const app = await appWithUsers()
  const response = await app.inject({ method: 'POST', url: '/v1/users', payload: { name: 'Ada' } })

  t.equal(response.statusCode, 200)
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  t.strictSame(response.json(), { name: 'Ada' })
})

const notUtf8: readonly (readonly [about: string, bytes: Buffer])[] = [
  ['ISO 8859-1', Buffer.from('{"name":"Ren\u00e9"}', 'latin1')],
  ['a character cut off', Buffer.from([...Buffer.from('{"name":"'), 0xf0, 0x9f, 0x98, ...Buffer.from('"}')])],
  ['a byte cut off at the end', Buffer.from([...Buffer.from('"a'), 0xe2, 0x82])],
  ['an overlong slash', Buffer.from([...Buffer.from('{"name":"'), 0xc0, 0xaf, ...Buffer.from('"}')])],
  ['a surrogate', Buffer.from([...Buffer.from('{"name":"'), 0xed, 0xa0, 0x80, ...Buffer.from('"}')])],
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
})

t.test('an unsupported content coding is a 415 with Accept-Encoding (RFC 9110 §15.5.16)', async (t) => {
  const app = await appWithUsers()
  const bytes = gzipSync('{"name":"Ada"}')
  for (const coding of ['gzip', 'GZIP', 'br', 'identity, gzip', 'x'.repeat(500)]) {
    const headers = { 'content-type': json, 'content-encoding': coding }
    for (const method of ['POST', 'PATCH'] as const) {
      const url = method === 'POST' ? '/v1/users' : '/v1/users/1'
      const response = await app.inject({ method, url, headers, payload: bytes })
      const expected = { status: 415, code: 'unsupported-media-type', detail: /^Content-Encoding / }
      isProblem(t, injected(response), expected, `${method} ${coding}`)
      t.equal(response.headers['accept-encoding'], 'identity')
      t.notOk('accept' in response.headers || 'accept-patch' in response.headers, 'the media type is right')
    }
  }
  for (const coding of ['identity', 'Identity', '']) {
    const headers = { 'content-type': json, 'content-encoding': coding }
    const response = await app.inject({
      method: 'POST',
      url: '/v1/users',
      headers,
      payload: '{"name":"Ada"}',
    })
    t.equal(response.statusCode, 200, coding)
  }
})

t.test('content that the app decodes is accepted', async (t) => {
  const app = await appWithUsers()
  await app.register(compress, { global: false, requestEncodings: ['gzip'] })
  app.post('/v1/coded', { decompress: {} }, async (request) => request.body)
  app.post(
    '/v1/stored',
    {
      preParsing: (request, _reply, payload, next) => {
        delete request.headers['content-encoding']
        next(null, payload)
      },
    },
    async (request) => request.body,
  )
  const headers = { 'content-type': json, 'content-encoding': 'gzip' }
  const decoded = await app.inject({
    method: 'POST',
    url: '/v1/coded',
    headers,
    payload: gzipSync('{"name":"Ada"}'),
  })
  t.strictSame([decoded.statusCode, decoded.json()], [200, { name: 'Ada' }])
  const other = { ...headers, 'content-encoding': 'x-none' }
  const refused = await app.inject({ method: 'POST', url: '/v1/coded', headers: other, payload: '{}' })
  isProblem(t, injected(refused), { status: 415, code: 'unsupported-media-type', detail: /x-none/ })
  const stored = await app.inject({ method: 'POST', url: '/v1/stored', headers, payload: '{"name":"Ada"}' })
  t.equal(stored.statusCode, 200)
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
  t.equal(
    (await ask(port, `DELETE /v1/users/1 HTTP/1.1\r\n${broken}`)).status,
    400,
    'a broken one is refused',
  )
})

t.test('a JSON parser of the app gets an empty body', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.addContentTypeParser(json, { parseAs: 'string' }, (_request, body, done) => {
    done(null, body === '' ? { isEmpty: true } : JSON.parse(String(body)))
  })
  app.delete('/v1/users/:id', async (request) => request.body)
  const headers = { 'content-type': json }
  const response = await app.inject({ method: 'DELETE', url: '/v1/users/1', headers })
  t.strictSame(response.json(), { isEmpty: true })
})

t.test('404 and 405 are sent before the body is read', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/users', async () => ({}))
  for (const [url, status, code] of [
    ['/v1/nope', 404, 'not-found'],
    ['/v1/users', 405, 'method-not-allowed'],
  ] as const) {
    for (const [type, payload] of [
      [json, '{"broken'],
      [json, ''],
      ['text/csv', 'a'],
      ['no type', 'a'],
      [json, 'x'.repeat(1_048_577)],
    ] as const) {
      const request = { method: 'PUT', url, headers: { 'content-type': type }, payload } as const
      const response = await app.inject(request)
      isProblem(t, injected(response), { status, code }, `${status}: ${type}`)
      if (status === 405) t.equal(response.headers.allow, 'GET, HEAD, OPTIONS')
    }
  }
  const { port } = await serve(t, app)
  const head = 'Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n'
  const unfinished = await openConnection(port)
  unfinished.send(`POST /v1/nope HTTP/1.1\r\n${head}\r\n{`)
  const bytes = await unfinished.received((text) => text.includes('not-found'))
  t.match(bytes, /^HTTP\/1\.1 404/)
  unfinished.socket.destroy()
})

async function appWithUsers(): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(problems)
  const body = { type: 'object', required: ['name'] }
  app.post('/v1/users', { schema: { body } }, async (request) => request.body)
  app.patch('/v1/users/:id', { schema: { body } }, async (request) => request.body)
  return app
}
