/** Request bodies in XML: read as the JSON that the schema describes, or refused as JSON would be. */
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import Fastify from 'fastify'
import t from 'tap'
import { formats, problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'
import { ask, exchange } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { addUsers, presetApp } from './service.js'

const xml = { 'content-type': 'application/xml' }
const form = '<user><id>9007199254740993</id><name>Ada</name><tags><tag>1</tag></tags></user>'
const json = { id: 9007199254740993n, name: 'Ada', tags: ['1'] }

t.test('the handler gets what it gets for the same JSON, with exact integers', async (t) => {
  const bodies: unknown[] = []
  const app = addUsers(await presetApp())
  app.addHook('preHandler', async ({ body, headers }) => {
    bodies.push([body, headers['content-type']])
  })
  for (const type of ['application/xml', 'text/xml; charset=utf-8', 'APPLICATION/XML;charset="UTF-8"']) {
    const response = await app.inject({
      method: 'POST',
      url: '/v1/users',
      headers: { 'content-type': type },
      payload: form,
    })
    t.equal(response.statusCode, 201, type)
    t.match(response.body, '"id":9007199254740993,"id_str":"9007199254740993"', type)
  }
  const payload = '{"id":9007199254740993,"name":"Ada","tags":["1"]}'
  await app.inject({
    method: 'POST',
    url: '/v1/users',
    headers: { 'content-type': 'application/json' },
    payload,
  })
  t.equal(bodies.length, 4)
  for (const body of bodies) t.strictSame(body, [json, 'application/json'])
})

t.test('a response in XML can be sent back as it is', async (t) => {
  const app = addUsers(await presetApp())
  const headers = { ...xml, accept: 'application/xml' }
  const first = await app.inject({ method: 'POST', url: '/v1/users', headers, payload: form })
  const second = await app.inject({ method: 'POST', url: '/v1/users', headers, payload: first.body })
  t.equal(second.statusCode, 201)
  t.equal(second.body, first.body)
})

t.test('an integer and a twin that differ are refused as in JSON', async (t) => {
  const app = addUsers(await presetApp())
  const payload = '<user><id>9007199254740993</id><id_str>9007199254740994</id_str><name>a</name></user>'
  const response = await app.inject({ method: 'POST', url: '/v1/users', headers: xml, payload })
  isProblem(t, injected(response), { status: 400, code: 'integer-twin-mismatch' })
})

t.test('what the schema refuses is a validation problem, with pointers', async (t) => {
  const app = addUsers(await presetApp())
  const response = await app.inject({
    method: 'POST',
    url: '/v1/users',
    headers: xml,
    payload: '<user><id>x</id><name>a</name></user>',
  })
  const { errors } = isProblem(t, injected(response), { status: 400, code: 'validation' })
  t.match(errors, [{ in: 'body', pointer: '/id' }])
})

t.test('what is no XML in UTF-8 is body-malformed', async (t) => {
  const app = addUsers(await presetApp())
  const latin1 = Buffer.from('<user><name>é</name></user>', 'latin1')
  for (const [headers, payload] of [
    [xml, ''],
    [xml, '<user>'],
    [xml, '{"name":"a"}'],
    [xml, latin1],
    [{ 'content-type': 'application/xml; charset=iso-8859-1' }, form],
    [xml, '<!DOCTYPE u [<!ENTITY a SYSTEM "file:///etc/passwd">]><u><name>&a;</name></u>'],
  ] as const) {
    const response = await app.inject({ method: 'POST', url: '/v1/users', headers, payload })
    isProblem(t, injected(response), { status: 400, code: 'body-malformed' }, String(payload).slice(0, 40))
    t.notMatch(response.body, 'root:', 'no file is read')
  }
})

t.test('a route that does not opt in refuses XML, and a 415 names what a route reads', async (t) => {
  const app = addUsers(await presetApp())
  app.post('/v1/others', { schema: { body: { type: 'object' } } }, async () => ({}))
  app.patch(
    '/v1/users/:id',
    {
      schema: { body: { type: 'object', properties: { name: { type: 'string' } } } },
      config: { formats: { body: true } },
    },
    async ({ body }) => body,
  )
  const other = await app.inject({ method: 'POST', url: '/v1/others', headers: xml, payload: '<a/>' })
  isProblem(t, injected(other), { status: 415, code: 'unsupported-media-type' })
  t.equal(other.headers.accept, 'application/json')
  const users = await app.inject({
    method: 'POST',
    url: '/v1/users',
    headers: { 'content-type': 'text/csv' },
    payload: 'a',
  })
  isProblem(t, injected(users), { status: 415, code: 'unsupported-media-type' })
  t.equal(users.headers.accept, 'application/json, application/xml')
  const patch = await app.inject({
    method: 'PATCH',
    url: '/v1/users/1',
    headers: { 'content-type': 'text/csv' },
    payload: 'a',
  })
  t.equal(patch.headers['accept-patch'], 'application/json, application/xml')
  const nulls = '<user xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><other xsi:nil="true"/></user>'
  t.equal(
    (await app.inject({ method: 'PATCH', url: '/v1/users/1', headers: xml, payload: nulls })).body,
    '{"other":null}',
  )
})

t.test('a method override reads XML too', async (t) => {
  const app = await presetApp()
  const body = { type: 'object', properties: { age: { type: 'integer' } } }
  app.put(
    '/v1/users/:id',
    { schema: { body }, config: { formats: { body: true } } },
    async (request) => request.body,
  )
  const headers = { ...xml, 'x-http-method-override': 'PUT' }
  const response = await app.inject({
    method: 'POST',
    url: '/v1/users/1',
    headers,
    payload: '<u><age>7</age></u>',
  })
  t.equal(response.body, '{"age":7}')
})

t.test('the body limit holds, announced or not, and the connection closes', async (t) => {
  const app = Fastify({ bodyLimit: 100 })
  await app.register(problems)
  await app.register(formats)
  const body = { type: 'object', properties: { name: { type: 'string' } } }
  app.post(
    '/v1/users',
    { schema: { body }, config: { formats: { body: true } } },
    async (request) => request.body,
  )
  const { port } = await serve(t, app)
  const head = 'POST /v1/users HTTP/1.1\r\nHost: a\r\nContent-Type: application/xml\r\n'
  const long = `<u><name>${'x'.repeat(100)}</name></u>`
  const announced = await ask(port, `${head}Content-Length: ${long.length}\r\n\r\n${long}`)
  const chunked = await ask(
    port,
    `${head}Transfer-Encoding: chunked\r\n\r\n${long.length.toString(16)}\r\n${long}\r\n0\r\n\r\n`,
  )
  for (const answer of [announced, chunked]) {
    t.equal(answer.status, 413)
    t.match(answer.body.toString(), '"code":"content-too-large"')
  }
  const short = '<u><name>Ada</name></u>'
  const pieces = [...short].map((char) => `1\r\n${char}\r\n`).join('')
  t.match(
    await exchange(port, `${head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${pieces}0\r\n\r\n`),
    /^HTTP\/1\.1 200[\s\S]*\{"name":"Ada"\}/,
  )
  t.match(
    await exchange(port, `${head}Connection: close\r\nContent-Length: ${short.length}\r\n\r\n${short}`),
    /^HTTP\/1\.1 200[\s\S]*\{"name":"Ada"\}/,
  )
})

t.test('a hook that has read the media type, and one that decodes, do not matter', async (t) => {
  const app = addUsers(await presetApp())
  const types: unknown[] = []
  app.addHook('onRequest', async (request) => {
    types.push(request.mediaType)
  })
  const response = await app.inject({ method: 'POST', url: '/v1/users', headers: xml, payload: form })
  t.equal(response.statusCode, 201)
  t.strictSame(types, ['application/xml'])
  const coded = await app.inject({
    method: 'POST',
    url: '/v1/users',
    headers: { ...xml, 'content-encoding': 'gzip' },
    payload: gzipSync(form),
  })
  isProblem(t, injected(coded), { status: 415, code: 'unsupported-media-type' })
})

t.test('a client that aborts its body does not reach the handler', async (t) => {
  const app = addUsers(await presetApp())
  const aborted = new Promise<void>((resolve) => {
    app.addHook('onRequestAbort', (_request, done) => {
      resolve()
      done()
    })
  })
  let handled = 0
  app.addHook('preHandler', async () => {
    handled++
  })
  const { port } = await serve(t, app)
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    'POST /v1/users HTTP/1.1\r\nHost: a\r\nContent-Type: application/xml\r\nContent-Length: 500\r\n\r\n<user>',
    () => socket.destroy(),
  )
  await aborted
  t.equal(
    (await app.inject({ method: 'POST', url: '/v1/users', headers: xml, payload: form })).statusCode,
    201,
  )
  t.equal(handled, 1)
})
