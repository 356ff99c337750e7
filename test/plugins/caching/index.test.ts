/** What the responses of a service say about caching. */
import { Readable } from 'node:stream'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import t from 'tap'
import { type CachingOptions, type CachingRouteOptions, caching, problems } from '../../../src/index.js'
import type { CachingFields } from '../../../src/plugins/caching/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { keepLogs } from '../../support/logs.js'

const now = Date.UTC(2026, 10, 20, 12, 0, 0, 500)
const nowText = 'Fri, 20 Nov 2026 12:00:00 GMT'
const year = 365 * 24 * 60 * 60 * 1000
const cookie = { cookie: 'session=1' }

async function appWith(options: CachingOptions = {}) {
  const app = await appOf([caching, { now: () => now, ...options }])
  return app
}

const user = { id: 1, updated_at: '2026-11-19T08:00:00.900Z' }
const userModified = 'Thu, 19 Nov 2026 08:00:00 GMT'

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown
type Sent = Readonly<Record<string, string | undefined>>

const future = new Date('2027-01-01T00:00:00Z')
const older = { updated_at: '2026-01-01T00:00:00Z', seen_at: '2026-03-01T00:00:00Z' }
const newer = { updated_at: new Date('2026-02-01T00:00:00Z'), seen_at: '2026-01-01T00:00:00Z' }
const [february, march] = ['Sun, 01 Feb 2026 00:00:00 GMT', 'Sun, 01 Mar 2026 00:00:00 GMT']
const ofFuture = { validators: () => ({ lastModified: future }) }
const confidential: CachingRouteOptions = { cacheControl: { noStore: true } }
const notStored = { 'cache-control': 'no-store' }
const ofBytes = '"p861bjkwuhn5"'
const ownTag = { etag: 'v8', lastModified: new Date(now) }
const ofOwnTag = { etag: '"v8"', 'last-modified': nowText }
const ofUser = { 'cache-control': 'no-cache', 'last-modified': userModified, etag: '"2h3olbu6x3hql"' }
const none = { etag: undefined, 'last-modified': undefined }
const noValidators = { ':status': '204', ...none }
const sets = (fields: CachingFields, payload: unknown = {}, status = 200): Handler => {
  return (_, reply) => reply.code(status).caching(fields).send(payload)
}

const [inAYear, inTwoYears] = ['Sat, 20 Nov 2027 12:00:00 GMT', 'Mon, 20 Nov 2028 12:00:00 GMT']
const [dated, undated] = [{ 'last-modified': userModified }, { 'last-modified': undefined }]
const setsFields = (lastModified: string, expires?: string): Handler => {
  return (_, reply) => reply.headers({ 'last-modified': lastModified, ...(expires && { expires }) }).send({})
}

const ofHandler = {
  cacheControl: { public: true, maxAge: 5 },
  etag: 'W/"v7"',
  lastModified: ['2026-01-01T00:00:00Z', new Date('2026-02-01T00:00:00Z')],
}
const ofHandlerSent = { 'cache-control': 'public, max-age=5', etag: 'W/"v7"', 'last-modified': february }

const addsVary = (reply: FastifyReply) => reply.header('vary', 'Origin').caching({ vary: 'Accept' }).send({})

/** One response each; `undefined` is a header that it does not have. The status is below 400. */
const responses: readonly (readonly [
  rule: string,
  own: CachingRouteOptions,
  handler: Handler,
  sent: Sent,
  method?: 'HEAD' | 'PUT' | 'DELETE',
])[] = [
  ['a 200 is validated, and dated by updated_at', {}, () => user, ofUser],
  ['the latest of a list', {}, () => ({ users: [older, newer] }), { 'last-modified': february }],
  ['of another member', { lastModified: 'seen_at' }, () => [older, newer], { 'last-modified': march }],
  ['of none', { lastModified: false }, () => older, { 'last-modified': undefined }],
  ['a future date is now', {}, () => ({ updated_at: future.toISOString() }), { 'last-modified': nowText }],
  ['a future date of the handler too', {}, sets({ lastModified: future }), { 'last-modified': nowText }],
  ['a future date in a header field too', {}, setsFields(inTwoYears), { 'last-modified': nowText }],
  ['a date in another format is none', {}, setsFields('2026-01-01'), { 'last-modified': undefined }],
  ['nor is one of the year 0', {}, setsFields('Sat, 01 Jan 0000 00:00:00 GMT'), undated],
  ['Expires that is past is not sent', {}, setsFields(userModified, nowText), { expires: undefined }],
  ['nor one that is no date', {}, setsFields(userModified, '0'), { ...dated, expires: undefined }],
  ['a year ahead at most', {}, setsFields(userModified, inTwoYears), { ...dated, expires: inAYear }],
  ['within a year, as it is', {}, setsFields(userModified, inAYear), { ...dated, expires: inAYear }],
  ['a future date of validators too', ofFuture, () => ({}), { 'last-modified': nowText }],
  ['noStore has no tag of the bytes', confidential, () => user, { ...notStored, etag: undefined }],
  ['noStore has a date', confidential, () => user, { ...notStored, 'last-modified': userModified }],
  ['noStore precedes the handler', confidential, sets({ cacheControl: { public: true } }), notStored],
  ['the handler of a write says how its response is stored', {}, sets(ofHandler), ofHandlerSent, 'PUT'],
  ['directives, tag and date of the handler take precedence', {}, sets(ofHandler, user), ofHandlerSent],
  ['no directives, no word', {}, sets({ cacheControl: {} }), { 'cache-control': 'no-cache' }],
  ['no dates, no date', {}, sets({ lastModified: [] }), { 'last-modified': undefined }],
  ['Vary: * replaces all other names', { vary: ['Accept'] }, sets({ vary: '*' }), { vary: '*' }],
  ['Vary of the reply stays', {}, (_, reply) => addsVary(reply), { vary: 'Origin, Accept' }],
  ['a write has no Vary of the route', { vary: ['Accept'] }, () => user, { vary: undefined }, 'PUT'],
  ['a write has no-store, no validators', {}, () => user, { ...notStored, ...none }, 'PUT'],
  ['§15.3.5: a 204 has no validators of a representation', {}, sets({}, user, 204), noValidators],
  ['§15.3.5: nor has it for HEAD', {}, sets({}, user, 204), noValidators, 'HEAD'],
  ['§15.3.5: nor for PUT', {}, sets({}, user, 204), noValidators, 'PUT'],
  ['a 204 may name the resource as it is now', {}, sets(ownTag, '', 204), { ...ofUser, ...ofOwnTag }],
  ['that of a DELETE too', {}, sets(ownTag, '', 204), ofOwnTag, 'DELETE'],
  ['a text is hashed', {}, sets({}, '{}'), { etag: ofBytes }],
  ['a buffer is hashed', {}, sets({}, Buffer.from('{}')), { etag: ofBytes }],
  ['a stream is not', {}, (_, reply) => reply.send(Readable.from(['{}'])), { etag: undefined }],
  ['a web stream is not', {}, (_, reply) => reply.send(new Blob(['{}']).stream()), { etag: undefined }],
  ['an empty text is not', {}, sets({}, ''), { etag: undefined }],
  ['nothing is not', {}, (_, reply) => reply.send(), { etag: undefined }],
  ['only a 200 gets a tag of its bytes', {}, sets({}, {}, 203), { etag: undefined }],
  [
    'a 304 of the handler has no fields of content',
    {},
    (_, reply) => reply.code(304).caching({ etag: 'a' }).type('text/plain').send(),
    { etag: '"a"', 'cache-control': 'no-cache', 'content-type': undefined, 'content-length': undefined },
  ],
  ['etag: false leaves the tag of the bytes out', { etag: false }, () => ({}), { etag: undefined }],
]

t.test('the headers of a response, by what its route and its handler say', async (t) => {
  const app = await appWith()
  for (const [index, [, own, handler, , method = 'GET']] of responses.entries()) {
    const route = { method: method === 'HEAD' ? 'GET' : method, url: `/v1/${index}`, handler }
    app.route({ ...route, config: { caching: own } })
  }
  for (const [index, [rule, , , sent, method = 'GET']] of responses.entries()) {
    const { statusCode, headers } = await app.inject({ method, url: `/v1/${index}` })
    t.ok(statusCode < 400, `${rule}: ${statusCode}`)
    const received: Record<string, unknown> = { ...headers, ':status': `${statusCode}` }
    for (const [name, value] of Object.entries(sent)) t.equal(received[name], value, `${rule}: ${name}`)
  }
})

t.test('etag and lastModified of the plugin are those of routes without their own', async (t) => {
  const app = await appWith({ etag: false, lastModified: 'seen_at' })
  app.get('/v1/none', () => older)
  app.get('/v1/tagged', { config: { caching: { etag: true } } }, () => ({}))
  const { headers } = await app.inject('/v1/none')
  t.strictSame([headers.etag, headers['last-modified']], [undefined, march])
  t.equal((await app.inject('/v1/tagged')).headers.etag, ofBytes)
})

t.test('HEAD routes of the app: no tag of an empty body, and that of GET for the same bytes', async (t) => {
  const app = await appWith()
  app.head('/v1/users', (_, reply) => reply.send(''))
  app.get('/v1/users', { exposeHeadRoute: false }, () => ({}))
  app.head('/v1/full', () => ({}))
  app.route({ method: ['GET', 'HEAD'], url: '/v1/both', handler: () => ({}) })
  for (const [url, etag] of Object.entries({ users: undefined, full: ofBytes, both: ofBytes }))
    t.equal((await app.inject({ method: 'HEAD', url: `/v1/${url}` })).headers.etag, etag, url)
})

t.test('with credentials, private is added, unless a directive says who may store', async (t) => {
  const app = await appWith()
  type OfHandler = CachingFields['cacheControl'] | null
  const rows: readonly (readonly [CachingRouteOptions, OfHandler, anonymous?: string, known?: string])[] = [
    [{}, null, 'no-cache', 'no-cache, private'],
    [{ cacheControl: { maxAge: 60 } }, null, 'max-age=60', 'max-age=60, private'],
    [{ cacheControl: { public: true, maxAge: 60 } }, null, 'public, max-age=60', 'public, max-age=60'],
    [{ cacheControl: { sMaxAge: 60 } }, null, 's-maxage=60', 's-maxage=60'],
    [{ cacheControl: false }, null],
    [{}, { maxAge: 5 }, 'max-age=5', 'max-age=5, private'],
    [{}, { public: true, maxAge: 5 }, 'public, max-age=5', 'public, max-age=5'],
    [{ cacheControl: false }, { maxAge: 5 }, 'max-age=5', 'max-age=5'],
  ]
  for (const [index, [own, cacheControl]] of rows.entries()) {
    const config = { caching: own }
    app.get(`/v1/${index}/200`, { config }, sets(cacheControl ? { cacheControl } : {}))
    // The handler may say how a redirect is stored.
    if (cacheControl) app.get(`/v1/${index}/302`, { config }, sets({ cacheControl }, {}, 302))
  }
  for (const [index, [own, cacheControl, anonymous, known]] of rows.entries()) {
    for (const headers of [{}, cookie, { authorization: 'Bearer x' }]) {
      const expected = Object.keys(headers).length === 0 ? anonymous : known
      for (const status of cacheControl ? [200, 302] : [200]) {
        const answer = await app.inject({ url: `/v1/${index}/${status}`, headers })
        t.equal(answer.headers['cache-control'], expected, JSON.stringify([status, own, headers]))
      }
    }
  }
})

t.test('isAuthenticated decides about credentials; what a known caller gets is private', async (t) => {
  const app = await appWith({ isAuthenticated: ({ headers }) => headers['x-api-key'] !== undefined })
  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request) => {
    if (request.headers['x-known']) request.caller = { subject: 'ada', scopes: [], claims: {} }
  })
  app.get('/v1/users', () => ({}))
  const directivesFor = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/v1/users', headers })).headers['cache-control']
  for (const headers of [{}, cookie]) t.equal(await directivesFor(headers), 'no-cache')
  for (const name of ['x-api-key', 'x-known'])
    t.equal(await directivesFor({ [name]: '1' }), 'no-cache, private', name)
})

t.test('errors have no-store and no validators, wherever they come from', async (t) => {
  const app = await appWith()
  const own = { cacheControl: { public: true, maxAge: 3600 }, expires: now + 3_600_000 }
  const validators = () => ({ version: 1, lastModified: now })
  const schema = { querystring: { type: 'object', properties: { page: { type: 'integer' } } } }
  const route = { method: ['GET', 'POST'], schema, config: { caching: own } }
  const thrown: Handler = (_, reply) => {
    reply.caching({ ...ownTag, cacheControl: { maxAge: 60 } })
    throw new Error('no')
  }
  app.route({ ...route, url: '/v1/refused', handler: sets(ownTag, {}, 400) })
  app.route({ ...route, url: '/v1/thrown', handler: thrown })
  app.route({ ...route, url: '/v1/missing', handler: (_, reply) => reply.caching(ownTag).callNotFound() })
  app.route({ ...route, url: '/v1/response', handler: () => new Response('{}', { status: 503 }) })
  app.get('/v1/deleted', { config: { caching: { validators } } }, (_, reply) => reply.code(404).send({}))
  const ofGet = { refused: 400, thrown: 500, 'refused?page=x': 400, missing: 404, nowhere: 404, deleted: 404 }
  const rows = Object.entries({ ...ofGet, response: 503 }).map(
    ([path, status]) => ['GET', path, status] as const,
  )
  for (const [method, path, status] of [
    ...rows,
    ['POST', 'refused', 400],
    ['PUT', 'refused', 404],
  ] as const) {
    const url = `/v1/${path}`
    const { statusCode, headers } = await app.inject({ method, url })
    t.strictSame([statusCode, headers['cache-control']], [status, 'no-store'], url)
    t.notOk('etag' in headers || 'last-modified' in headers || 'expires' in headers, url)
  }
})

t.test('an error after all hooks of this package has no-store too', async (t) => {
  const config = { caching: { cacheControl: { public: true, maxAge: 3600 } } }
  for (const withProblems of [false, true]) {
    const app = Fastify()
    if (withProblems) await app.register(problems)
    await app.register(caching)
    const onSend = async () => Promise.reject(new Error('a hook of the app fails'))
    app.get('/v1/hook', { config, onSend }, () => ({}))
    app.get('/v1/stream', { config }, (_, reply) => {
      const stream = new Readable({ read: () => void stream.destroy(new Error('no such file')) })
      return reply.caching({ etag: 'v1' }).send(stream)
    })
    for (const url of ['/v1/hook', '/v1/stream']) {
      const { statusCode, headers } = await app.inject(url)
      const received = [statusCode, headers['cache-control'], headers.etag]
      t.strictSame(received, [500, 'no-store', undefined], `${url}, problems: ${withProblems}`)
    }
  }
})

t.test('a permanent redirect is left to caches; any other redirect and a 202 have no-store', async (t) => {
  const app = await appWith()
  const validators = () => ({ version: 1, lastModified: now })
  const own = { cacheControl: { public: true, maxAge: 3600 }, expires: now + 5000, validators }
  for (const [path, config] of Object.entries({ own, plain: {}, secret: confidential }))
    app.get(`/v1/${path}/:status`, { config: { caching: config } }, ({ url }, reply) => {
      reply.code(Number(url.slice(-3)))
      return reply.header('location', '/login').send()
    })
  for (const status of [301, 302, 303, 307, 308, 201, 202]) {
    for (const path of ['own', 'plain', 'secret']) {
      const isLeft = [301, 308].includes(status) && path !== 'secret'
      const { headers } = await app.inject({ url: `/v1/${path}/${status}`, headers: cookie })
      t.equal(headers['cache-control'], isLeft ? undefined : 'no-store', `${status} ${path}`)
      t.notOk('expires' in headers || 'etag' in headers || 'last-modified' in headers, `${status} ${path}`)
    }
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

t.test('a computed Expires is cut to a year, or not sent if past or invalid, and logged', async (t) => {
  const logs = keepLogs('warn')
  const app = await withPlugins(Fastify({ logger: logs.logger }), [caching, { now: () => now }])
  let time: Date | number | string = 0
  app.get('/v1/users', (_, reply) => reply.caching({ expires: time }).send({}))
  for (const [given, sent, warnings] of [
    [now + 600, 'Fri, 20 Nov 2026 12:00:01 GMT', 0],
    [new Date(now + year), 'Sat, 20 Nov 2027 12:00:00 GMT', 0],
    [now + year + 1, 'Sat, 20 Nov 2027 12:00:00 GMT', 1],
    // To the second.
    [now + 400, undefined, 1],
    [new Date(Number.NaN), undefined, 1],
    [Number.POSITIVE_INFINITY, undefined, 1],
    ['2026-12-01T00:00:00Z', undefined, 1],
    ['Sat, 21 Nov 2026 12:00:00 GMT', 'Sat, 21 Nov 2026 12:00:00 GMT', 0],
  ] as const) {
    time = given
    t.equal((await app.inject('/v1/users')).headers.expires, sent, String(given))
    const told = logs.lines.splice(0).map(({ msg }) => msg)
    t.equal(told.length, warnings, `${given} in the log`)
    for (const msg of told) t.match(msg, /^Expires of GET \/v1\/users is /, 'it names the route')
  }
})

t.test('a 200 of GET without Last-Modified is counted, if the rule has mode report', async (t) => {
  const app = await appWith({ rules: { 'last-modified': 'report' } })
  const config = (own: CachingRouteOptions) => ({ config: { caching: own } })
  app.get('/v1/users', () => ({ users: [] }))
  app.get('/v1/orders', config({ except: ['last-modified'], reason: 'computed' }), () => ({}))
  app.get('/v1/undated', config({ lastModified: false }), () => ({}))
  app.get('/v1/enforced', config({ rules: { 'last-modified': 'enforce' } } as object), () => ({}))
  app.get('/v1/dated', (_, reply) => reply.caching({ lastModified: new Date(now) }).send({}))
  app.get('/v1/part', (_, reply) => reply.code(206).send({}))
  await app.inject({ method: 'HEAD', url: '/v1/users' })
  for (const path of ['undated', 'dated', 'part', 'enforced', 'users', 'users', 'orders'])
    t.ok((await app.inject(`/v1/${path}`)).statusCode < 300, path)
  const { observations, exceptions } = app.conventions.report()
  t.match(observations, [{ rule: 'last-modified', route: 'GET /v1/users', count: 2 }])
  t.equal(observations.length, 1)
  t.match(exceptions, [{ route: 'GET /v1/orders', reason: 'computed' }])
})

t.test('the Vary of the route is on the 200, the 304, the 406 and all other errors', async (t) => {
  const app = await appOf(problems, caching)
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
    [{ accept: 'text/html' }, 406, 'accept, Accept-Language'],
    [{ 'x-fail': '1' }, 500, 'Accept-Language'],
  ] as const) {
    const answer = await app.inject({ url: '/v1/texts', headers: given })
    t.strictSame([answer.statusCode, answer.headers.vary], [status, vary])
  }
})

t.test('an invalid field of reply.caching() throws an error with its name', async (t) => {
  const app = await appWith()
  const rows = [
    [{ cacheControl: { public: true, private: true } }, /reply\.caching\(\)\.cacheControl.*private forbids/],
    [{ etag: 'a b' }, /entity tag/],
    [{ lastModified: 'yesterday' }, /reply\.caching\(\)\.lastModified/],
    [{ vary: 'a b' }, /Vary/],
    [{ maxAge: 1 }, /reply\.caching\(\)\.maxAge/],
  ] as const
  app.get('/v1/:index', ({ url }, reply) => reply.caching(rows[Number(url.slice(4))]?.[0] as object).send({}))
  for (const [index, [, message]] of rows.entries())
    t.match((await app.inject(`/v1/${index}`)).json(), { statusCode: 500, message }, `${message}`)
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
