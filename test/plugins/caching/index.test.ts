/** What the responses of a service say about caching. */
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import {
  type CachingOptions,
  type CachingRouteOptions,
  caching,
  type Observation,
  problems,
  serverOptions,
} from '../../../src/index.js'
import { keepLogs, levels } from '../../support/logs.js'

const now = Date.UTC(2026, 10, 20, 12, 0, 0, 500)
const nowText = 'Fri, 20 Nov 2026 12:00:00 GMT'
const year = 365 * 24 * 60 * 60 * 1000
const cookie = { cookie: 'session=1' }

async function appWith(options: CachingOptions = {}): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(caching, { now: () => now, ...options })
  return app
}

const user = { id: 1, updated_at: '2026-11-19T08:00:00.900Z' }
const userModified = 'Thu, 19 Nov 2026 08:00:00 GMT'

t.test('a 200 of GET has no-cache, an ETag of its bytes, and Last-Modified of updated_at', async (t) => {
  const app = await appWith()
  app.get('/v1/users/:id', () => user)
  const { headers, payload } = await app.inject('/v1/users/1')
  t.equal(headers['cache-control'], 'no-cache')
  t.equal(headers['last-modified'], userModified)
  t.match(headers.etag, /^"[A-Za-z0-9+/]{27}"$/)
  t.equal((await app.inject('/v1/users/2')).headers.etag, headers.etag, 'the same bytes, the same tag')
  t.equal(payload, JSON.stringify(user))
})

t.test(
  'Last-Modified of a list is the latest; the name of the member is an option of plugin and route',
  async (t) => {
    const app = await appWith({ lastModified: 'changed_at' })
    const older = { changed_at: '2026-01-01T00:00:00Z', seen_at: '2026-03-01T00:00:00Z' }
    const newer = { changed_at: new Date('2026-02-01T00:00:00Z'), seen_at: '2026-01-01T00:00:00Z' }
    app.get('/v1/users', () => ({ users: [older, newer] }))
    app.get('/v1/seen', { config: { caching: { lastModified: 'seen_at' } } }, () => [older, newer])
    app.get('/v1/none', { config: { caching: { lastModified: false } } }, () => older)
    t.equal((await app.inject('/v1/users')).headers['last-modified'], 'Sun, 01 Feb 2026 00:00:00 GMT')
    t.equal((await app.inject('/v1/seen')).headers['last-modified'], 'Sun, 01 Mar 2026 00:00:00 GMT')
    t.notOk('last-modified' in (await app.inject('/v1/none')).headers)
  },
)

t.test('a Last-Modified in the future becomes now', async (t) => {
  const app = await appWith()
  app.get('/v1/payload', () => ({ updated_at: '2027-01-01T00:00:00Z' }))
  app.get('/v1/helper', (_, reply) =>
    reply.caching({ lastModified: new Date('2027-01-01T00:00:00Z') }).send({}),
  )
  const validators = () => ({ lastModified: new Date('2027-01-01T00:00:00Z') })
  app.get('/v1/validators', { config: { caching: { validators } } }, () => ({}))
  for (const url of ['/v1/payload', '/v1/helper', '/v1/validators'])
    t.equal((await app.inject(url)).headers['last-modified'], nowText, url)
})

t.test(
  'with credentials, private is added, unless the route or the handler decides who may store',
  async (t) => {
    const app = await appWith()
    const route = (url: string, caching: CachingRouteOptions): void => {
      app.get(url, { config: { caching } }, () => ({}))
    }
    route('/v1/default', {})
    route('/v1/fresh', { cacheControl: { maxAge: 60 } })
    route('/v1/public', { cacheControl: { public: true, maxAge: 60 } })
    route('/v1/shared', { cacheControl: { sMaxAge: 60 } })
    route('/v1/none', { cacheControl: false })
    app.get('/v1/handler', (_, reply) => reply.caching({ cacheControl: { maxAge: 5 } }).send({}))
    app.get('/v1/handler-public', (_, reply) =>
      reply.caching({ cacheControl: { public: true, maxAge: 5 } }).send({}),
    )
    app.get('/v1/handler-alone', { config: { caching: { cacheControl: false } } }, (_, reply) =>
      reply.caching({ cacheControl: { maxAge: 5 } }).send({}),
    )
    const expected: Readonly<
      Record<string, readonly [anonymous: string | undefined, known: string | undefined]>
    > = {
      '/v1/default': ['no-cache', 'no-cache, private'],
      '/v1/fresh': ['max-age=60', 'max-age=60, private'],
      '/v1/public': ['public, max-age=60', 'public, max-age=60'],
      '/v1/shared': ['s-maxage=60', 's-maxage=60'],
      '/v1/none': [undefined, undefined],
      '/v1/handler': ['max-age=5', 'max-age=5, private'],
      '/v1/handler-public': ['public, max-age=5', 'public, max-age=5'],
      '/v1/handler-alone': ['max-age=5', 'max-age=5'],
    }
    for (const [url, [anonymous, known]] of Object.entries(expected)) {
      t.equal((await app.inject(url)).headers['cache-control'], anonymous, url)
      for (const headers of [cookie, { authorization: 'Bearer x' }])
        t.equal(
          (await app.inject({ url, headers })).headers['cache-control'],
          known,
          `${url} with credentials`,
        )
    }
  },
)

t.test('isAuthenticated decides whether a request has credentials', async (t) => {
  const app = await appWith({ isAuthenticated: ({ headers }) => headers['x-api-key'] !== undefined })
  app.get('/v1/users', () => ({}))
  const asked = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/v1/users', headers })).headers['cache-control']
  t.equal(await asked(cookie), 'no-cache')
  t.equal(await asked({ 'x-api-key': '1' }), 'no-cache, private')
})

t.test('what a known caller gets is private, whichever header identified them', async (t) => {
  const app = await appWith({ isAuthenticated: () => false })
  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request) => {
    const key = request.headers['x-api-key']
    if (typeof key === 'string') request.caller = { subject: key, scopes: [], claims: {} }
  })
  app.get('/v1/users', { config: { caching: { cacheControl: { maxAge: 60 } } } }, () => ({}))
  const headers = { 'x-api-key': 'ada' }
  t.equal((await app.inject({ url: '/v1/users', headers })).headers['cache-control'], 'max-age=60, private')
  t.equal((await app.inject('/v1/users')).headers['cache-control'], 'max-age=60')
})

t.test('noStore holds whatever the handler sets: no ETag of the bytes, and Last-Modified', async (t) => {
  const app = await appWith()
  const config = { caching: { cacheControl: { noStore: true } } }
  app.get('/v1/payments', { config }, () => user)
  app.get('/v1/cards', { config }, (_, reply) =>
    reply.caching({ cacheControl: { public: true, maxAge: 60 } }).send({}),
  )
  app.get('/v1/login', { config }, (_, reply) => reply.redirect('/v1/cards'))
  const { headers } = await app.inject('/v1/payments')
  t.equal(headers['cache-control'], 'no-store')
  t.notOk('etag' in headers)
  t.equal(headers['last-modified'], userModified)
  t.equal((await app.inject('/v1/cards')).headers['cache-control'], 'no-store')
  t.equal((await app.inject('/v1/login')).headers['cache-control'], 'no-store')
})

t.test('errors have no-store and no validators, wherever they come from', async (t) => {
  const app = await appWith()
  const config = { caching: { cacheControl: { public: true, maxAge: 3600 }, expires: now + 3_600_000 } }
  const schema = { querystring: { type: 'object', properties: { page: { type: 'integer' } } } }
  app.get('/v1/gone', { config }, (_, reply) =>
    reply
      .code(410)
      .caching({ etag: 'v1', lastModified: new Date(now) })
      .send({}),
  )
  app.get('/v1/thrown', { config }, (_, reply) => {
    reply.caching({ etag: 'v1', cacheControl: { maxAge: 60 } })
    throw new Error('no')
  })
  app.get('/v1/invalid', { config, schema }, () => ({}))
  app.get('/v1/missing', { config }, (_, reply) => reply.caching({ etag: 'v1' }).callNotFound())
  app.post('/v1/refused', (_, reply) => reply.code(422).caching({ etag: 'v1' }).send({}))
  const validators = () => ({ version: 1, lastModified: now })
  app.get('/v1/deleted', { config: { caching: { validators } } }, (_, reply) => reply.code(404).send({}))
  app.get('/v1/response', { config }, () => new Response('{}', { status: 503 }))
  const cases: readonly (readonly [method: 'GET' | 'POST' | 'PUT', url: string, status: number])[] = [
    ['GET', '/v1/gone', 410],
    ['GET', '/v1/thrown', 500],
    ['GET', '/v1/invalid?page=x', 400],
    ['GET', '/v1/missing', 404],
    ['GET', '/v1/nowhere', 404],
    ['PUT', '/v1/gone', 404],
    ['POST', '/v1/refused', 422],
    ['GET', '/v1/deleted', 404],
    ['GET', '/v1/response', 503],
  ]
  for (const [method, url, status] of cases) {
    const { statusCode, headers } = await app.inject({ method, url })
    t.equal(statusCode, status, url)
    t.equal(headers['cache-control'], 'no-store', url)
    t.notOk('etag' in headers || 'last-modified' in headers || 'expires' in headers, url)
  }
})

t.test('an error after all hooks of this package has no-store too', async (t) => {
  const config = { caching: { cacheControl: { public: true, maxAge: 3600 } } }
  for (const withProblems of [false, true]) {
    const app = Fastify()
    if (withProblems) await app.register(problems)
    await app.register(caching)
    const onSend = async (): Promise<never> => {
      throw new Error('a hook of the app fails')
    }
    app.get('/v1/hook', { config, onSend }, () => ({}))
    app.get('/v1/stream', { config }, (_, reply) => {
      const stream = new Readable({ read: () => void stream.destroy(new Error('no such file')) })
      return reply.caching({ etag: 'v1' }).send(stream)
    })
    for (const url of ['/v1/hook', '/v1/stream']) {
      const { statusCode, headers } = await app.inject(url)
      t.equal(statusCode, 500, url)
      t.equal(headers['cache-control'], 'no-store', `${url}, problems: ${withProblems}`)
      t.notOk('etag' in headers, `${url}, problems: ${withProblems}`)
    }
  }
})

t.test('responses to other methods have no-store and no validators by default', async (t) => {
  const app = await appWith()
  const methods = ['POST', 'PUT', 'PATCH', 'DELETE'] as const
  for (const method of methods) app.route({ method, url: '/v1/users', handler: () => user })
  app.put('/v1/own', (_, reply) =>
    reply.caching({ etag: 'v2', cacheControl: { private: true, maxAge: 5 } }).send({}),
  )
  for (const method of methods) {
    const { headers } = await app.inject({ method, url: '/v1/users' })
    t.equal(headers['cache-control'], 'no-store', method)
    t.notOk('etag' in headers || 'last-modified' in headers, method)
  }
  const { headers } = await app.inject({ method: 'PUT', url: '/v1/own' })
  t.match(headers, { etag: '"v2"', 'cache-control': 'private, max-age=5' }, 'what the handler says stays')
})

t.test('a permanent redirect is left to caches, unless the route has noStore', async (t) => {
  const app = await appWith()
  for (const status of [301, 308]) {
    const handler = (_: unknown, reply: FastifyReply) => reply.redirect('/v1/users', status)
    app.get(`/v1/moved-${status}`, handler)
    app.get(`/v1/secret-${status}`, { config: { caching: { cacheControl: { noStore: true } } } }, handler)
  }
  for (const status of [301, 308]) {
    for (const headers of [{}, cookie])
      t.notOk('cache-control' in (await app.inject({ url: `/v1/moved-${status}`, headers })).headers)
    t.equal((await app.inject(`/v1/secret-${status}`)).headers['cache-control'], 'no-store')
  }
})

t.test('a temporary redirect and a 202 have no-store, unless the handler sets another', async (t) => {
  const app = await appWith()
  const validators = () => ({ version: 1, lastModified: now })
  const config = {
    caching: { cacheControl: { public: true, maxAge: 3600 }, expires: now + 5000, validators },
  }
  for (const status of [301, 302, 303, 307, 308, 202])
    app.get(`/v1/${status}`, { config }, (_, reply) => reply.code(status).header('location', '/login').send())
  for (const [status, cacheControl] of [
    [301, undefined],
    [302, 'no-store'],
    [303, 'no-store'],
    [307, 'no-store'],
    [308, undefined],
    [202, 'no-store'],
  ] as const) {
    const { headers } = await app.inject(`/v1/${status}`)
    t.equal(headers['cache-control'], cacheControl, `${status}`)
    t.notOk('expires' in headers || 'etag' in headers || 'last-modified' in headers, `${status}`)
  }
  const other = await appWith()
  other.get('/v1/login', (_, reply) => reply.caching({ cacheControl: { maxAge: 5 } }).redirect('/login'))
  const { headers } = await other.inject({ url: '/v1/login', headers: cookie })
  t.equal(headers['cache-control'], 'max-age=5, private')
})

t.test('options of a route that contradict each other, or an Expires out of range, throw', async (t) => {
  const app = await appWith()
  for (const [own, message] of [
    [
      { cacheControl: { public: true, private: true } },
      /GET \/v1\/a config\.caching\.cacheControl.*private forbids/,
    ],
    [{ cacheControl: { immutable: true, noCache: true } }, /cacheControl.*immutable .* needs a maxAge/],
    [{ expires: now + 2 * year }, /config\.caching\.expires.*within a year/],
    [{ expires: nowText }, /config\.caching\.expires.*within a year/],
    [{ expires: '2026-12-01T00:00:00Z' }, /config\.caching\.expires.*an HTTP-date/],
  ] as const) {
    const add = () => app.get('/v1/a', { config: { caching: own } }, () => ({}))
    t.throws(add, { code: 'FST_CONV_OPTION_INVALID', message }, JSON.stringify(own))
  }
})

t.test('a constant Expires is sent until it is past, and not after', async (t) => {
  let time = now
  const app = await appWith({ now: () => time })
  const expires = new Date(now + 60_000)
  app.get('/v1/users', { config: { caching: { expires } } }, () => ({}))
  app.get('/v1/own', { config: { caching: { expires } } }, (_, reply) =>
    reply.caching({ expires: now + 5_000 }).send({}),
  )
  t.equal((await app.inject('/v1/users')).headers.expires, 'Fri, 20 Nov 2026 12:01:00 GMT')
  t.equal((await app.inject('/v1/own')).headers.expires, 'Fri, 20 Nov 2026 12:00:05 GMT', 'of the handler')
  time = Date.UTC(2026, 10, 20, 12, 1) - 1
  t.ok('expires' in (await app.inject('/v1/users')).headers)
  time++
  t.notOk('expires' in (await app.inject('/v1/users')).headers)
})

t.test(
  'a computed Expires is cut to a year, and not sent if it is past or invalid; both are logged',
  async (t) => {
    const logs = keepLogs('warn')
    const app = Fastify({ logger: logs.logger })
    await app.register(caching, { now: () => now, rules: { 'last-modified': 'off' } })
    let time: Date | number | string = 0
    app.get('/v1/users', (_, reply) => reply.caching({ expires: time }).send({}))
    const cases: readonly (readonly [
      time: Date | number | string,
      sent: string | undefined,
      warned: boolean,
    ])[] = [
      [now + 60_000, 'Fri, 20 Nov 2026 12:01:00 GMT', false],
      [now + 600, 'Fri, 20 Nov 2026 12:00:01 GMT', false],
      [new Date(now + year), 'Sat, 20 Nov 2027 12:00:00 GMT', false],
      [now + year + 1, 'Sat, 20 Nov 2027 12:00:00 GMT', true],
      [new Date(8.64e15), 'Sat, 20 Nov 2027 12:00:00 GMT', true],
      // To the second.
      [now + 400, undefined, true],
      [now - 1000, undefined, true],
      [0, undefined, true],
      [new Date(Number.NaN), undefined, true],
      [Number.POSITIVE_INFINITY, undefined, true],
      ['0', undefined, true],
      ['2026-12-01T00:00:00Z', undefined, true],
      ['Sat, 21 Nov 2026 12:00:00 GMT', 'Sat, 21 Nov 2026 12:00:00 GMT', false],
      ['Saturday, 21-Nov-26 12:00:00 GMT', 'Sat, 21 Nov 2026 12:00:00 GMT', false],
      ['Sat Nov 21 12:00:00 2026', 'Sat, 21 Nov 2026 12:00:00 GMT', false],
    ]
    for (const [given, sent, warned] of cases) {
      time = given
      const before = logs.lines.length
      t.equal((await app.inject('/v1/users')).headers.expires, sent, String(given))
      const warnings = logs.lines.slice(before).filter(({ level }) => level === levels.warn)
      t.equal(warnings.length, warned ? 1 : 0, `${given} in the log`)
      for (const { msg } of warnings) t.match(msg, /^Expires of GET \/v1\/users is /, 'it names the route')
    }
  },
)

t.test('a 200 of GET without Last-Modified is counted, if the rule has mode report', async (t) => {
  const logs = keepLogs('warn')
  const app = Fastify({ logger: logs.logger })
  await app.register(caching, { rules: { 'last-modified': 'report' } })
  app.get('/v1/users', () => ({ users: [] }))
  app.get('/v1/others', () => ({}))
  app.get(
    '/v1/orders',
    { config: { caching: { except: ['last-modified'], reason: 'computed' } } },
    () => ({}),
  )
  const undated = { config: { caching: { lastModified: false } } } as const
  app.get('/v1/undated', undated, () => ({}))
  app.get('/v1/dated', (_, reply) => reply.caching({ lastModified: new Date(now) }).send({}))
  app.get('/v1/part', (_, reply) => reply.code(206).send({}))
  for (const url of ['/v1/undated', '/v1/dated', '/v1/part']) await app.inject(url)
  await app.inject({ method: 'HEAD', url: '/v1/users' })
  for (let asked = 0; asked < 3; asked++) await app.inject('/v1/users')
  await app.inject('/v1/orders')
  await app.inject('/v1/others')
  const told = ({ rule, route, count }: Observation) => [rule, route, count]
  t.strictSame(app.conventions.report().observations.map(told), [
    ['last-modified', 'GET /v1/users', 3],
    ['last-modified', 'GET /v1/others', 1],
  ])
  t.equal(logs.lines.length, 1)
  t.match(app.conventions.report().exceptions, [{ route: 'GET /v1/orders', reason: 'computed' }])

  const silent = Fastify()
  await silent.register(caching)
  silent.get('/v1/users', () => ({ users: [] }))
  await silent.inject('/v1/users')
  t.strictSame(silent.conventions.report().observations, [], 'enforce refuses no answer for it')
})

t.test('the Vary of the route is on the 200, the 304, the 406 and all other errors', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(caching)
  const schema = { response: { 200: { type: 'object', properties: { text: { type: 'string' } } } } }
  const config = { caching: { vary: ['Accept-Language', 'accept-language'] } }
  app.get('/v1/texts', { config, schema }, (request, reply) => {
    if (request.headers['x-fail']) throw new Error('no')
    return reply.caching({ vary: ['ACCEPT-LANGUAGE', 'Accept'] }).send({ text: 'a' })
  })
  const { headers } = await app.inject('/v1/texts')
  t.equal(headers.vary, 'ACCEPT-LANGUAGE, Accept')
  const again = { 'if-none-match': String(headers.etag) }
  for (const [given, status, vary] of [
    [again, 304, 'ACCEPT-LANGUAGE, Accept'],
    [{ accept: 'text/html' }, 406, 'Accept-Language'],
    [{ 'x-fail': '1' }, 500, 'Accept-Language'],
  ] as const) {
    const answer = await app.inject({ url: '/v1/texts', headers: given })
    t.equal(answer.statusCode, status)
    t.equal(answer.headers.vary, vary, `${status}`)
  }
})

t.test('a malformed URL, which has no route, is a 400', async (t) => {
  const app = Fastify(serverOptions())
  await app.register(problems)
  await app.register(caching)
  app.get('/v1/texts/:id', { config: { caching: { vary: ['Accept'] } } }, () => ({}))
  const { statusCode, headers } = await app.inject('/v1/texts/%zz')
  t.equal(statusCode, 400)
  t.notOk('vary' in headers)
})

t.test('Vary: * replaces all other names', async (t) => {
  const app = await appWith()
  app.get('/v1/texts', { config: { caching: { vary: ['Accept'] } } }, (_, reply) =>
    reply.caching({ vary: '*' }).send({}),
  )
  t.equal((await app.inject('/v1/texts')).headers.vary, '*')
})

t.test('RFC 9110 §15.3.5: a 204 has no validators of a representation', async (t) => {
  const app = await appWith()
  const empty = (_: unknown, reply: FastifyReply) => reply.code(204).send(user)
  app.get('/v1/users/:id', empty)
  app.put('/v1/users/:id', empty)
  app.route({
    method: ['GET', 'DELETE'],
    url: '/v1/own',
    handler: (_, reply) =>
      reply
        .code(204)
        .caching({ etag: 'v8', lastModified: new Date(now) })
        .send(),
  })
  for (const method of ['GET', 'HEAD', 'PUT'] as const) {
    const { statusCode, headers } = await app.inject({ method, url: '/v1/users/1' })
    t.equal(statusCode, 204)
    t.notOk('etag' in headers || 'last-modified' in headers, method)
  }
  for (const method of ['GET', 'DELETE'] as const) {
    const { headers } = await app.inject({ method, url: '/v1/own' })
    t.match(
      headers,
      { etag: '"v8"', 'last-modified': nowText },
      'the handler may name the resource as it is now',
    )
  }
})

t.test('HEAD has the headers of GET, also on a 304', async (t) => {
  const app = await appWith()
  app.get('/v1/users/:id', () => user)
  const validators = () => ({ version: 7, lastModified: now })
  app.get('/v1/orders/:id', { config: { caching: { validators } } }, () => user)
  for (const url of ['/v1/users/1', '/v1/orders/1']) {
    const get = await app.inject(url)
    const head = await app.inject({ method: 'HEAD', url })
    const { date: _, ...expected } = get.headers
    t.match(head.headers, expected, url)
    t.equal(head.payload, '')
    const headers = { 'if-none-match': String(get.headers.etag) }
    const again = await app.inject({ method: 'HEAD', url, headers })
    t.equal(again.statusCode, 304)
    t.equal(again.headers.etag, get.headers.etag)
    t.notOk('content-length' in again.headers, 'a 304 has no Content-Length')
    t.notOk('content-type' in again.headers)
  }
})

t.test('a HEAD route of the app gets no ETag of its empty body', async (t) => {
  const app = await appWith()
  app.head('/v1/users', (_, reply) => reply.send(''))
  app.get('/v1/users', { exposeHeadRoute: false }, () => user)
  app.head('/v1/full', () => user)
  app.route({ method: ['GET', 'HEAD'], url: '/v1/both', handler: () => user })
  t.notOk('etag' in (await app.inject({ method: 'HEAD', url: '/v1/users' })).headers)
  const { etag } = (await app.inject('/v1/users')).headers
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/full' })).headers.etag, etag)
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/both' })).headers.etag, etag)
})

t.test('only a 200 gets an ETag from its bytes; a web Response is sent as it is', async (t) => {
  const app = await appWith()
  app.get('/v1/transformed', (_, reply) => reply.code(203).send({}))
  app.get('/v1/web', () => new Response('{}', { headers: { 'x-own': '1' } }))
  t.notOk('etag' in (await app.inject('/v1/transformed')).headers)
  const web = await app.inject({ url: '/v1/web', headers: { 'if-none-match': '*', 'if-match': '"old"' } })
  t.strictSame([web.statusCode, web.body, web.headers['x-own']], [200, '{}', '1'])
})

t.test('a date set by a hook takes precedence over the dates of the items', async (t) => {
  const app = await appWith()
  app.addHook('onSend', async (request, reply) => {
    if (request.headers['x-date']) reply.header('last-modified', nowText)
  })
  app.get('/v1/users', () => [user])
  const since = { 'if-modified-since': nowText }
  t.equal((await app.inject({ url: '/v1/users', headers: since })).statusCode, 200)
  t.equal((await app.inject({ url: '/v1/users', headers: { ...since, 'x-date': '1' } })).statusCode, 304)
})

t.test('a route that only writes has no Vary of the route, and no findings of hidden dates', async (t) => {
  const app = await appWith()
  const schema = {
    response: { 200: { type: 'object', properties: { id: {}, updated_at: { type: 'string' } } } },
  }
  const config = { caching: { vary: ['Accept-Language'] }, fields: { hidden: { updated_at: true } } } as const
  app.put('/v1/users', { config, schema }, () => user)
  t.notOk('vary' in (await app.inject({ method: 'PUT', url: '/v1/users' })).headers)
})

t.test('buffers are hashed, streams and empty payloads are not', async (t) => {
  const app = await appWith()
  app.get('/v1/stream', (_, reply) => reply.send(Readable.from(['{}'])))
  app.get('/v1/web', (_, reply) => reply.send(new Blob(['{}']).stream()))
  app.get('/v1/buffer', (_, reply) => reply.send(Buffer.from('{}')))
  app.get('/v1/text', (_, reply) => reply.type('application/json').send('{}'))
  app.get('/v1/empty', (_, reply) => reply.send(''))
  app.get('/v1/nothing', (_, reply) => reply.send())
  for (const url of ['/v1/stream', '/v1/web', '/v1/empty', '/v1/nothing'])
    t.notOk('etag' in (await app.inject(url)).headers, url)
  const { etag } = (await app.inject('/v1/buffer')).headers
  t.ok(etag)
  t.equal((await app.inject('/v1/text')).headers.etag, etag)
})

t.test('etag: false leaves the tag of the bytes out', async (t) => {
  const app = await appWith({ etag: false })
  app.get('/v1/none', () => ({}))
  app.get('/v1/tagged', { config: { caching: { etag: true } } }, () => ({}))
  t.notOk('etag' in (await app.inject('/v1/none')).headers)
  t.match((await app.inject('/v1/tagged')).headers.etag, /^"/)
})

t.test('directives, tag and date of the handler take precedence', async (t) => {
  const app = await appWith()
  app.get('/v1/users', (_, reply) =>
    reply
      .caching({
        cacheControl: { public: true, maxAge: 5 },
        etag: 'W/"v7"',
        lastModified: ['2026-01-01T00:00:00Z', new Date('2026-02-01T00:00:00Z')],
      })
      .send(user),
  )
  t.match((await app.inject('/v1/users')).headers, {
    'cache-control': 'public, max-age=5',
    etag: 'W/"v7"',
    'last-modified': 'Sun, 01 Feb 2026 00:00:00 GMT',
  })
})

t.test('directives that a handler changes between two responses take effect', async (t) => {
  const app = await appWith()
  const directives = { maxAge: 5 }
  app.get('/v1/users', (_, reply) => reply.caching({ cacheControl: directives }).send({}))
  app.get('/v1/nothing', (_, reply) => reply.caching({ cacheControl: {} }).send({}))
  app.get('/v1/constant', (_, reply) =>
    reply.caching({ cacheControl: Object.freeze({ maxAge: 1 }) }).send({}),
  )
  t.equal((await app.inject('/v1/users')).headers['cache-control'], 'max-age=5')
  directives.maxAge = 4
  t.equal((await app.inject('/v1/users')).headers['cache-control'], 'max-age=4')
  t.equal((await app.inject('/v1/nothing')).headers['cache-control'], 'no-cache', 'no directives, no word')
  t.equal((await app.inject('/v1/constant')).headers['cache-control'], 'max-age=1')
})

t.test('an invalid field of reply.caching() throws an error with its name', async (t) => {
  const app = await appWith()
  app.setErrorHandler((error, _, reply) => reply.code(500).send({ message: (error as Error).message }))
  app.get('/v1/directives', (_, reply) =>
    reply.caching({ cacheControl: { public: true, private: true } }).send({}),
  )
  app.get('/v1/etag', (_, reply) => reply.caching({ etag: 'a b' }).send({}))
  app.get('/v1/dates', (_, reply) => reply.caching({ lastModified: 'yesterday' }).send({}))
  app.get('/v1/vary', (_, reply) => reply.caching({ vary: 'a b' }).send({}))
  app.get('/v1/unknown', (_, reply) => reply.caching({ maxAge: 1 } as object).send({}))
  app.get('/v1/empty', (_, reply) => reply.caching({ lastModified: [] }).send({}))
  for (const [url, message] of [
    ['/v1/directives', /reply\.caching\(\)\.cacheControl.*private forbids/],
    ['/v1/etag', /entity tag/],
    ['/v1/dates', /reply\.caching\(\)\.lastModified/],
    ['/v1/vary', /Vary/],
    ['/v1/unknown', /reply\.caching\(\)\.maxAge/],
  ] as const) {
    const answer = await app.inject(url)
    t.equal(answer.statusCode, 500)
    t.match(answer.json().message, message)
  }
  t.equal((await app.inject('/v1/empty')).statusCode, 200)
})

t.test('a 304 that a hook of the app makes of a HEAD has no length, on hidden routes too', async (t) => {
  const app = await appWith()
  app.addHook('onSend', async (_, reply) => {
    reply.code(304)
    return null
  })
  app.get('/v1/users', () => user)
  app.get('/openapi.json', { schema: { hide: true } }, () => user)
  for (const url of ['/v1/users', '/openapi.json']) {
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await app.inject({ method, url })
      t.match(answer, { statusCode: 304, payload: '' }, `${method} ${url}`)
      if (method === 'HEAD') t.notOk('content-length' in answer.headers)
    }
  }
})
