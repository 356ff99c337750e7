/** Caching beside other plugins and hooks of the app. */
import cors from '@fastify/cors'
import etag from '@fastify/etag'
import t from 'tap'
import { caching, fields, problems } from '../../../src/index.js'
import { appOf } from '../../support/app.js'

const user = { id: 1, name: 'Ada', updated_at: '2026-11-19T08:00:00Z' }
const properties = { id: { type: 'integer' }, name: { type: 'string' }, updated_at: { type: 'string' } }
const item = { type: 'object', properties }
const lastModified = 'Thu, 19 Nov 2026 08:00:00 GMT'

t.test('CORS: Vary: Origin and the headers of CORS are on the 200 and on the 304', async (t) => {
  for (const order of ['before', 'after'] as const) {
    const origin = 'https://a.example'
    const ofCors = [cors, { origin: [origin] as string[] }] as const
    const app = await (order === 'before' ? appOf(ofCors, caching) : appOf(caching, ofCors))
    const [vary, validators] = [['Accept-Language'], () => ({ version: 7 })]
    app.get('/v1/bytes', { config: { caching: { vary } } }, () => ({}))
    app.get('/v1/version', { config: { caching: { vary, validators } } }, () => ({}))
    for (const url of ['/v1/bytes', '/v1/version']) {
      const first = await app.inject({ url, headers: { origin } })
      const condition = { 'if-none-match': String(first.headers.etag) }
      const again = await app.inject({ url, headers: { origin, ...condition } })
      t.strictSame([first.statusCode, again.statusCode], [200, 304])
      const vary = /^(?=.*\bOrigin\b).*\bAccept-Language\b/
      const expected = { vary, 'access-control-allow-origin': origin }
      for (const { headers } of [first, again]) t.match(headers, expected, `${order} ${url}`)
    }
  }
})

t.test('beside @fastify/etag nothing of the plugin runs, whichever comes first', async (t) => {
  const validators = () => t.fail('validators run') as never
  for (const order of ['before the routes', 'after the routes'] as const) {
    const app = await appOf(caching)
    if (order === 'before the routes') await app.register(etag)
    app.get('/v1/users/1', { config: { caching: { validators } } }, (_, reply) =>
      reply.header('etag', '"7"').send({ id: 1 }),
    )
    if (order === 'after the routes') await app.register(etag)
    const answer = await app.inject({ url: '/v1/users/1', headers: { 'if-match': '"8"' } })
    t.match(answer, { statusCode: 200, headers: { 'cache-control': undefined } }, order)
    t.equal((await app.inject({ url: '/v1/users/1', headers: { 'if-none-match': '"7"' } })).statusCode, 304)
    t.match(app.conventions.report().findings, [{ plugin: 'caching', rule: 'overlap' }])
  }
})

t.test('fields: Last-Modified is read before projection, and each selection has its own tag', async (t) => {
  for (const order of ['fields first', 'caching first'] as const) {
    const app = await (order === 'fields first' ? appOf(fields, caching) : appOf(caching, fields))
    const properties = { users: { type: 'array', items: item } }
    const schema = { response: { 200: { type: 'object', properties } } }
    app.get('/v1/users', { schema }, () => ({ users: [user] }))
    const whole = await app.inject('/v1/users')
    const names = await app.inject('/v1/users?fields=name')
    t.strictSame(names.json(), { users: [{ name: 'Ada' }] }, order)
    for (const { headers } of [whole, names]) t.equal(headers['last-modified'], lastModified, order)
    t.not(names.headers.etag, whole.headers.etag)
    const headers = { 'if-none-match': String(whole.headers.etag) }
    t.equal((await app.inject({ url: '/v1/users?fields=name', headers })).statusCode, 200)
    t.equal((await app.inject({ url: '/v1/users', headers })).statusCode, 304)
  }
})

t.test('onSend hooks of the app: the tag is of their payload; a 304 has no content', async (t) => {
  const app = await appOf(problems, caching)
  const seen: unknown[] = []
  app.addHook('onSend', async (_, __, payload) => (typeof payload === 'string' ? `${payload} ` : payload))
  const onSend = async (_: unknown, reply: { statusCode: number }, payload: unknown) => {
    seen.push(reply.statusCode, payload)
    return payload
  }
  app.get('/v1/users', { onSend }, () => ({}))
  app.get('/v1/bare', () => ({}))
  const { headers, payload } = await app.inject('/v1/users')
  t.strictSame([payload, headers['content-length']], ['{} ', '3'])
  const again = await app.inject({ url: '/v1/users', headers: { 'if-none-match': String(headers.etag) } })
  t.equal(again.statusCode, 304)
  t.strictSame(seen, [200, '{} ', 304, null])
  t.equal((await app.inject('/v1/bare')).headers.etag, headers.etag)
})

t.test('wildcard routes, and those with false, are not changed, and are in the report', async (t) => {
  const app = await appOf(caching)
  app.get('/files/*', (_, reply) => reply.header('etag', 'W/"file"').send('x'))
  app.get('/v1/off', { config: { caching: false } }, () => ({}))
  app.get('/files-2/*', () => {
    throw new Error('no')
  })
  app.get('/metrics', { schema: { hide: true } as object }, () => 'x')
  for (const [url, status] of Object.entries({ '/files/a': 200, '/v1/off': 200, '/files-2/a': 500 })) {
    const answer = await app.inject({ url, headers: { 'if-none-match': 'W/"file"' } })
    t.equal(answer.statusCode, status, 'they answer preconditions themselves')
    t.notOk('cache-control' in answer.headers, url)
  }
  t.match((await app.inject('/metrics')).headers, { 'cache-control': 'no-cache', etag: /^"/ })
  const { exceptions } = app.conventions.report()
  const reason = 'a wildcard route: files or a proxy'
  const off = { route: 'GET /v1/off', reason: 'config.caching is false' }
  t.match(exceptions, [{ route: 'GET /files/*', reason }, off, { route: 'GET /files-2/*', reason }])
  t.equal(exceptions.length, 3)
})

t.test('options of its own put a wildcard, hidden or proxy route under caching', async (t) => {
  const app = await appOf(caching)
  const schema = { hide: true }
  const config = { caching: { cacheControl: { maxAge: 60 } } }
  const confidential = { caching: { cacheControl: { noStore: true } } }
  app.get('/files/*', { config }, (_, reply) => reply.header('etag', 'W/"file"').send('x'))
  app.get('/metrics', { schema, config: confidential }, () => 'x')
  app.get('/page', { schema, config: { caching: {} } }, () => 'x')
  app.all('/proxy', { config }, () => 'x')
  for (const [url, expected] of [
    ['/files/a', { 'cache-control': 'max-age=60', etag: 'W/"file"' }],
    ['/metrics', { 'cache-control': 'no-store' }],
    ['/page', { 'cache-control': 'no-cache', etag: /^"/ }],
    ['/proxy', { 'cache-control': 'max-age=60' }],
  ] as const)
    for (const method of ['GET', 'HEAD'] as const)
      t.match((await app.inject({ method, url })).headers, expected, `${method} ${url}`)
  const headers = { 'if-none-match': 'W/"file"' }
  t.equal((await app.inject({ url: '/files/a', headers })).statusCode, 304)
  t.strictSame(app.conventions.report().exceptions, [])
})

t.test('status and headers of a Response take precedence', async (t) => {
  const app = await appOf(caching)
  const init = { status: 201, headers: { 'cache-control': 'max-age=9', etag: '"r"' } }
  app.get('/v1/own', () => new Response('{}', init))
  app.get('/v1/plain', () => new Response('{}'))
  const headers = { 'if-none-match': '*', 'if-match': '"old"' }
  t.match(await app.inject({ url: '/v1/own', headers }), { statusCode: 201, headers: init.headers })
  const plain = { statusCode: 200, body: '{}', headers: { 'cache-control': 'no-cache' } }
  t.match(await app.inject({ url: '/v1/plain', headers }), plain)
})

t.test('a page of a 404 handler keeps its headers; a 200 of an error handler is not stored', async (t) => {
  const app = await appOf(caching)
  app.setNotFoundHandler((_, reply) => reply.code(200).header('etag', '"page"').type('text/html').send('<p>'))
  app.setErrorHandler((_, __, reply) => reply.code(200).send({ fallback: true }))
  app.get('/v1/users', { config: { caching: { cacheControl: { maxAge: 60 } } } }, () => {
    throw new Error('no')
  })
  const page = await app.inject('/some/page')
  t.strictSame([page.headers.etag, page.headers['cache-control']], ['"page"', undefined])
  t.match(await app.inject('/v1/users'), { statusCode: 200, headers: { 'cache-control': 'no-store' } })
})
