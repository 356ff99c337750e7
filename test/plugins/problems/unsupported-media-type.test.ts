import { gzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import type { FastifyInstance, preParsingHookHandler } from 'fastify'
import t, { type Test } from 'tap'
import { ProblemError } from '../../../src/index.js'
import { appWith, refuses } from './support.js'

const json = 'application/json'
const unsupported = { status: 415, code: 'unsupported-media-type', title: 'Unsupported media type' }

type Context = Pick<FastifyInstance, 'addContentTypeParser' | 'route'>

/** Adds a route that takes bodies, and parsers. */
function takes(app: Context, url: string, types: readonly string[] = []): void {
  for (const type of types)
    app.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.route({ method: ['GET', 'POST', 'PUT', 'PATCH'], url, handler: async (request) => request.body })
}

/** Expects a 415 with these headers, and no others of their kind. */
async function refusesBody(
  t: Test,
  app: FastifyInstance,
  request: { method?: 'POST' | 'PUT' | 'PATCH'; url?: string; headers?: object; payload?: string },
  expected: Readonly<Record<string, string>>,
  detail: string | RegExp = /./,
) {
  const asked = { method: 'POST', url: '/', headers: { 'content-type': 'application/xml' }, payload: '<a/>' }
  const about = JSON.stringify(request)
  const { headers } = await refuses(
    t,
    app,
    { ...asked, ...request } as object,
    { ...unsupported, detail },
    about,
  )
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
    ...['json', '/', 'application/', ';', ',', 'application/json, text/html'].map((type) => [type] as const),
    ['', 'The body has no Content-Type'],
    [`text/${'x'.repeat(5000)}`, /^text\/xxx.{1,190}$/],
  ] as const)
    await refusesBody(t, app, { headers: { 'content-type': type } }, { accept: json }, detail)
})

t.test('Accept names what the context parses, Accept-Patch the patch formats (RFC 5789 §2.2)', async (t) => {
  const [merge, form] = ['application/merge-patch+json', 'application/x-www-form-urlencoded']
  const app = await appWith()
  app.register(async (child) => takes(child, '/json'))
  app.register(async (child) => takes(child, '/forms', [form, 'multipart/form-data']))
  app.register(async (child) => takes(child, '/patches', [merge, 'application/json-patch+json', 'text/csv']))
  app.register(async (child) => {
    child.removeAllContentTypeParsers()
    takes(child, '/none')
    child.register(async (inner) => takes(inner, '/own', [merge]))
  })
  for (const [method, url, expected] of [
    ['POST', '/json', { accept: json }],
    ['PUT', '/json', { accept: json }],
    ['PATCH', '/json', { 'accept-patch': json }],
    ['POST', '/forms', { accept: `${json}, ${form}, multipart/form-data` }],
    ['PATCH', '/patches', { 'accept-patch': `${merge}, application/json-patch+json, ${json}` }],
    ['PATCH', '/own', { 'accept-patch': merge }],
    ['POST', '/none', {}],
    ['PATCH', '/none', {}],
  ] as const)
    await refusesBody(t, app, { method, url }, expected)
  const request = { method: 'PATCH', url: '/own', headers: { 'content-type': merge }, payload: '{}' } as const
  t.match(await app.inject(request), { statusCode: 200, payload: '{}' })
})

t.test('a 415 that is thrown or sent by a handler gets the same headers', async (t) => {
  const app = await appWith()
  app.post('/thrown', async () => Promise.reject(Object.assign(new Error('no'), { statusCode: 415 })))
  app.patch('/written', async (_request, reply) => reply.code(415).send())
  await refusesBody(
    t,
    app,
    { url: '/thrown', headers: { 'content-type': json }, payload: '{}' },
    { accept: json },
  )
  const written = { method: 'PATCH', url: '/written', headers: {}, payload: '' } as const
  await refusesBody(t, app, written, { 'accept-patch': json })
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
  const post = { method: 'POST', url: '/', headers: { 'content-type': json } } as const
  const withCharset = { 'content-type': `${json}; charset=utf-8` }
  for (const [about, request] of [
    ['a JSON string', { payload: '"Ada"' }],
    ['one with a charset', { headers: withCharset, payload: '"Ada"' }],
    ['a member', { payload: '{"name":"Grace"}' }],
    ['the query', { url: '/?limit=x', payload: '{}' }],
  ] as const)
    await refuses(t, app, { ...post, ...request }, { status: 400, code: 'validation' }, about)
  const taken = { ...post, url: '/taken', headers: text, payload: 'Ada' }
  await refuses(t, app, taken, { status: 409, code: 'name-taken', errors }, 'another problem with the body')
})

t.test('an unsupported content coding is a 415 with Accept-Encoding (RFC 9110 §15.5.16)', async (t) => {
  const app = await appWith()
  takes(app, '/')
  for (const method of ['POST', 'PATCH'] as const) {
    for (const coding of ['GZIP', 'identity, gzip', 'x'.repeat(500)]) {
      const headers = { 'content-type': json, 'content-encoding': coding }
      await refusesBody(t, app, { method, headers }, { 'accept-encoding': 'identity' }, /^Content-Encoding /)
    }
    for (const coding of ['Identity', '']) {
      const headers = { 'content-type': json, 'content-encoding': coding }
      t.equal((await app.inject({ method, url: '/', headers, payload: '{}' })).statusCode, 200, coding)
    }
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
  ] as const)
    t.match(await app.inject({ method: 'POST', url, headers, payload }), {
      statusCode: 200,
      payload: '{"name":"Ada"}',
    })
  const unknown = { ...headers, 'content-encoding': 'x-none' }
  await refuses(
    t,
    app,
    { method: 'POST', url: '/coded', headers: unknown, payload: '{}' },
    { ...unsupported, detail: /x-none/ },
  )
})
