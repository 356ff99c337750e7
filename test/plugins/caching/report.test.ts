/** With `report` not one byte of any response changes; what would is counted per route. */
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import { type CachingRouteOptions, caching } from '../../../src/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { keepLogs } from '../../support/logs.js'
import { exchange, requestBytes, withoutDate } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const user = { id: 1, updated_at: '2026-11-19T08:00:00Z' }
const modified = 'Thu, 19 Nov 2026 08:00:00 GMT'
/** A function of the app: in this mode none is called, so none can change a response by throwing. */
let calls = 0
const validators = () => {
  calls++
  throw new Error('called')
}

function routes(app: FastifyInstance) {
  const config = (own: CachingRouteOptions) => ({ config: { caching: own } })
  const schema = { response: { 200: { type: 'object', properties: { id: { type: 'integer' } } } } }
  app.get('/v1/users/:id', { schema }, () => user)
  app.get('/v1/plain', () => ({}))
  app.get('/v1/own', (_, reply) => reply.headers({ etag: '"own"', 'cache-control': 'max-age=5' }).send('x'))
  app.get('/v1/buffer', (_, reply) => reply.send(Buffer.from('{}')))
  app.get('/v1/stream', (_, reply) => reply.send(Readable.from(['{}'])))
  app.get('/v1/empty', (_, reply) => reply.send())
  app.get('/v1/response', () => new Response('{}', { status: 404 }))
  app.get('/v1/moved', (_, reply) => reply.redirect('/v1/users'))
  app.get('/v1/thrown', () => {
    throw new Error('no')
  })
  app.get('/v1/guarded', config({ validators, vary: ['Accept'], cacheControl: { maxAge: 60 } }), () => user)
  app.get('/v1/payments', config({ cacheControl: { noStore: true } }), () => user)
  app.put('/v1/guarded', config({ validators, preconditions: 'required' }), () => user)
  app.post('/v1/users', (_, reply) => reply.code(201).send(user))
  app.delete('/v1/users/:id', (_, reply) => reply.code(204).send())
  const both = config({ validators, validatorsOf: validators })
  app.route({ method: ['GET', 'POST'], url: '/v1/both', ...both, handler: () => user })
  return app
}

const bodies = ['users/1', 'plain', 'own', 'buffer', 'stream', 'empty', 'guarded', 'payments', 'both']
const read = [...bodies, 'response', 'moved', 'thrown', 'nowhere'].map((path) => `/v1/${path}`)
const requests = [
  ...read.flatMap((url) => [`GET ${url}`, `HEAD ${url}`]),
  ...['PUT /v1/guarded', 'POST /v1/users', 'POST /v1/both', 'DELETE /v1/users/1', 'PATCH /v1/users/1'],
]

const conditions: readonly Record<string, string>[] = [
  {},
  { 'if-none-match': '*' },
  { 'if-match': '"old"' },
  { 'if-modified-since': 'Fri, 20 Nov 2026 12:00:00 GMT' },
  { 'if-unmodified-since': 'Fri, 20 Nov 2020 12:00:00 GMT', authorization: 'Bearer x' },
]

t.test('byte for byte as without the plugin', async (t) => {
  const reporting = await appOf([caching, { mode: 'report', isAuthenticated: validators }])
  const off = await appOf([caching, { mode: 'off' }])
  const bare = await serve(t, routes(Fastify()))
  const [reported, none] = [await serve(t, routes(reporting)), await serve(t, routes(off))]
  for (const target of requests) {
    const [method = '', url = ''] = target.split(' ')
    for (const headers of conditions) {
      const request = requestBytes(method, url, headers)
      const expected = withoutDate(await exchange(bare.port, request))
      const about = `${target} ${JSON.stringify(headers)}`
      t.equal(withoutDate(await exchange(reported.port, request)), expected, about)
      t.equal(withoutDate(await exchange(none.port, request)), expected, `${about}: off`)
    }
  }
  t.equal(calls, 0, 'no function of the app is called')
})

t.test('headers, 304 and refusals are counted by rule and route, and logged once per rule', async (t) => {
  const logs = keepLogs('warn')
  const app = await withPlugins(Fastify({ logger: logs.logger }), [caching, { mode: 'report' }])
  routes(app)
  for (const [method, url, headers] of [
    ['GET', '/v1/plain', {}],
    ['GET', '/v1/plain', { 'if-none-match': '*' }],
    ['GET', '/v1/plain', { 'if-match': '"old"' }],
    ['GET', '/v1/buffer', {}],
    ['GET', '/v1/thrown', {}],
    ['PUT', '/v1/guarded', {}],
    ['PUT', '/v1/guarded', { 'if-match': '"7"' }],
    ['POST', '/v1/users', {}],
  ] as const)
    await app.inject({ method, url, headers })
  const { observations } = app.conventions.report()
  const tagged = 'cache-control: no-cache, etag: "p861bjkwuhn5"'
  t.strictSame(
    observations.map(({ route, rule, status, effect, count, example }) => [
      ...[route, rule, status ?? effect, count, example],
    ]),
    [
      ['GET /v1/plain', 'last-modified', 'none', 1, 'a 200 without Last-Modified'],
      ['GET /v1/plain', 'headers', 'header added', 1, tagged],
      ['GET /v1/plain', 'not-modified', 'changed', 1, 'would be answered with 304'],
      ['GET /v1/plain', 'precondition', 412, 1, 'its precondition fails'],
      ['GET /v1/buffer', 'last-modified', 'none', 1, 'a 200 without Last-Modified'],
      ['GET /v1/buffer', 'headers', 'header added', 1, tagged],
      ['GET /v1/thrown', 'headers', 'header added', 1, 'cache-control: no-store'],
      ['PUT /v1/guarded', 'headers', 'header added', 2, 'cache-control: no-store'],
      ['PUT /v1/guarded', 'precondition', 428, 1, 'has no precondition'],
      ['PUT /v1/guarded', 'precondition', 412, 1, 'would be refused if its precondition fails'],
      ['POST /v1/users', 'headers', 'header added', 1, 'cache-control: no-store'],
    ],
  )
  t.equal(logs.lines.filter(({ msg }) => msg === 'convention not kept').length, 4)
})

t.test('headers are counted if they are added, or are others than those of the app', async (t) => {
  const app = await appOf([caching, { mode: 'report', rules: { 'last-modified': 'report' } }])
  const own = { cacheControl: { maxAge: 60 }, expires: Date.now() + 60_000, vary: ['accept-language'] }
  const config = { caching: own }
  const ofApp = { 'cache-control': 'max-age=5', vary: 'Origin', expires: modified, etag: '"own"' }
  const same = { etag: '"own"', 'cache-control': 'no-cache', 'last-modified': modified }
  const sends =
    (headers: object, status = 200) =>
    async (_: unknown, reply: FastifyReply) =>
      reply.code(status).headers(headers).send({})
  const versioned = { config: { caching: { validatorsOf: () => ({ version: 7 }) } } }
  for (const method of ['GET', 'PUT'] as const)
    app.route({ method, url: '/v1/same', ...versioned, handler: sends(same) })
  const quiet = { config: { caching: { cacheControl: false, etag: false } } } as const
  app.get('/v1/dated', quiet, sends({ 'last-modified': modified }))
  app.get('/v1/added', { config }, async () => user)
  app.get('/v1/changed', { config }, sends(ofApp))
  app.get('/v1/errors', sends(ofApp, 410))
  await app.inject({ method: 'PUT', url: '/v1/same' })
  for (const url of ['/v1/same', '/v1/dated']) await app.inject(url)
  t.strictSame(app.conventions.report().observations, [], 'nothing would change')
  const headers = { authorization: 'Bearer x' }
  for (const path of ['added', 'changed', 'errors', 'nothing'])
    await app.inject({ url: `/v1/${path}`, headers })
  const added =
    /^cache-control: max-age=60, private, vary: accept-language, expires: .*, etag: .*, last-modified: /
  const changed = 'cache-control: max-age=5, private, vary: Origin, accept-language'
  const seen = app.conventions.report().observations
  const given = seen.map(({ route, rule, effect, example }) => [route, rule, effect, example])
  t.match(given, [
    ['GET /v1/added', 'headers', 'header added', added],
    ['GET /v1/changed', 'dates', 'changed', `expires: ${modified}`],
    ['GET /v1/changed', 'last-modified', 'none', 'a 200 without Last-Modified'],
    ['GET /v1/changed', 'headers', 'changed', changed],
    ['GET /v1/errors', 'headers', 'changed', 'cache-control: no-store'],
    ['*', 'headers', 'header added', 'cache-control: no-store'],
  ])
  t.equal(seen.length, 6)
})
