/** Security headers: those of helmet, byte for byte, with a profile for JSON APIs. */
import helmet, { type FastifyHelmetOptions } from '@fastify/helmet'
import Fastify, { type FastifyInstance, type RouteHandlerMethod } from 'fastify'
import t from 'tap'
import { problems } from '../../../src/plugins/problems/index.js'
import { type SecurityHeadersOptions, securityHeaders } from '../../../src/plugins/security-headers/index.js'
import { serverOptions } from '../../../src/server-options.js'
import { appOf, withPlugins } from '../../support/app.js'
import { exchange } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const overTls = { 'x-forwarded-proto': 'https' }
const ofApi = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}
const hsts = 'max-age=31536000; includeSubDomains'
const asHtml: RouteHandlerMethod = (_, reply) => reply.type('text/html').send('<p>')

async function appWith(options: SecurityHeadersOptions = {}) {
  const app = await withPlugins(Fastify({ trustProxy: true }), [securityHeaders, options])
  return app
}

/** The headers of an answer, without those that every answer has. */
async function headersOf(app: FastifyInstance, url: string, headers: Record<string, string> = {}) {
  const { headers: all } = await app.inject({ url, headers })
  const usual = ['content-type', 'content-length', 'date', 'connection', 'transfer-encoding']
  return Object.fromEntries(Object.entries(all).filter(([name]) => !usual.includes(name)))
}

t.test('an API sends the headers that have an effect for it; HSTS over TLS alone', async (t) => {
  for (const [trustProxy, proto, expected] of [
    [true, 'https', { ...ofApi, 'strict-transport-security': hsts }],
    [true, 'http', ofApi],
    [false, 'https', ofApi],
  ] as const) {
    const app = await withPlugins(Fastify({ trustProxy }), securityHeaders)
    app.get('/v1/users', () => ({}))
    t.same(await headersOf(app, '/v1/users', { 'x-forwarded-proto': proto }), expected)
  }
})

const configurations: Readonly<Record<string, FastifyHelmetOptions>> = {
  defaults: {},
  'no policy': { contentSecurityPolicy: false },
  'a policy over the defaults': {
    contentSecurityPolicy: { directives: { 'script-src': ["'self'", 'https://cdn.example'], imgSrc: null } },
  },
  'a policy of its own, to report only': {
    contentSecurityPolicy: { useDefaults: false, reportOnly: true, directives: { defaultSrc: ["'none'"] } },
  },
  'all that can be on': {
    crossOriginEmbedderPolicy: true,
    crossOriginOpenerPolicy: { policy: 'same-origin-allow-popups' },
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    referrerPolicy: { policy: ['origin', 'unsafe-url'] },
    strictTransportSecurity: { maxAge: 63_072_000, includeSubDomains: false, preload: true },
    xFrameOptions: { action: 'deny' },
  },
  'all that can be off': {
    contentSecurityPolicy: false,
    crossOriginOpenerPolicy: false,
    crossOriginResourcePolicy: false,
    referrerPolicy: false,
    strictTransportSecurity: false,
    xContentTypeOptions: false,
    xFrameOptions: false,
  },
}

t.test('with the profile of helmet, the headers are those of @fastify/helmet byte for byte', async (t) => {
  for (const [name, options] of Object.entries(configurations)) {
    const theirs = await appOf([helmet, options])
    const ours = await appWith({ ...(options as SecurityHeadersOptions), profile: 'helmet' })
    const headers = overTls
    for (const app of [theirs, ours]) app.get('/v1/users', () => ({}))
    for (const url of ['/v1/users', '/v1/nothing'])
      t.same(await headersOf(ours, url, headers), await headersOf(theirs, url, headers), `${name}: ${url}`)
  }
})

t.test('headers that an earlier hook has set are kept, on the reply and on the raw response', async (t) => {
  const app = Fastify()
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('x-frame-options', 'SAMEORIGIN')
    reply.raw.setHeader('referrer-policy', 'origin')
  })
  await app.register(securityHeaders)
  app.get('/v1/users', () => ({}))
  const expected = { ...ofApi, 'x-frame-options': 'SAMEORIGIN', 'referrer-policy': 'origin' }
  t.same(await headersOf(app, '/v1/users'), expected)
})

t.test('a route overrides single headers or the profile, or has none', async (t) => {
  const app = await appWith({ referrerPolicy: { policy: 'origin' } })
  const { 'cross-origin-resource-policy': _, ...others } = { ...ofApi, 'referrer-policy': 'origin' }
  const rows = [
    ['/v1/images', { crossOriginResourcePolicy: false }, others],
    ['/v1/raw', false, {}],
    ['/v1/off', { mode: 'off' }, {}],
    ['/v1/report', { mode: 'report' }, {}],
  ] as const
  for (const [url, config] of rows) app.get(url, { config: { securityHeaders: config } }, () => ({}))
  for (const [url, , expected] of rows) t.same(await headersOf(app, url), expected, url)
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/images' })).headers['referrer-policy'], 'origin')
  for (const options of [{ mode: 'off' }, { profile: 'helmet' }] as const) {
    const other = await appWith(options)
    const config = { securityHeaders: { mode: 'enforce', profile: 'api' } } as const
    other.get('/v1/users', { config }, () => ({}))
    t.same(await headersOf(other, '/v1/users'), ofApi)
  }
})

t.test('errors, 404s and responses of later hooks have the headers too', async (t) => {
  const app = await appWith()
  await app.register(problems)
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers.authorization === 'wrong') return reply.code(401).send({})
    return undefined
  })
  app.get('/v1/users', () => ({}))
  app.get('/v1/late', { onSend: async () => Promise.reject(new Error('late')) }, () => ({}))
  for (const [method, url, authorization, status] of [
    ['GET', '/v1/late', '', 500],
    ['GET', '/v1/nothing', '', 404],
    ['DELETE', '/v1/users', '', 405],
    ['GET', '/v1/users', 'wrong', 401],
  ] as const) {
    const { statusCode, headers } = await app.inject({ method, url, headers: { authorization } })
    t.match({ statusCode, headers }, { statusCode: status, headers: ofApi }, `${status} ${url}`)
  }
})

t.test('the answer to what is no request has the headers with serverOptions()', async (t) => {
  for (const mode of ['enforce', 'report'] as const) {
    const app = await withPlugins(Fastify(serverOptions()), [securityHeaders, { mode }])
    const { port } = await serve(t, app)
    const answer = await exchange(port, 'nonsense\r\n\r\n')
    t.match(answer, /^HTTP\/1\.1 400 /)
    t.equal(/x-frame-options: DENY/i.test(answer), mode === 'enforce')
  }
})

t.test('headers that a handler sets or removes take precedence', async (t) => {
  const app = await appWith()
  app.get('/v1/users', (_, reply) => reply.header('X-Frame-Options', 'SAMEORIGIN').send({}))
  const remove: RouteHandlerMethod = (_, reply) => reply.removeHeader('x-frame-options').send({})
  app.get('/v1/less', remove)
  app.get('/v1/own', { config: { securityHeaders: { xContentTypeOptions: true } } }, remove)
  app.get('/v1/page', (_, reply) => reply.removeHeader('x-frame-options').type('text/html').send('<p>'))
  t.same(await headersOf(app, '/v1/users'), { ...ofApi, 'x-frame-options': 'SAMEORIGIN' })
  const { 'x-frame-options': _, ...less } = ofApi
  for (const url of ['/v1/less', '/v1/own']) t.same(await headersOf(app, url), less, url)
  t.notOk('x-frame-options' in (await headersOf(app, '/v1/page')), 'a page')
})

t.test('where the app has @fastify/helmet, in either order, the plugin is off, as reported', async (t) => {
  const options: FastifyHelmetOptions = { xFrameOptions: false, contentSecurityPolicy: false }
  const plain = await appOf([helmet, options])
  plain.get('/v1/users', () => ({}))
  const theirs = await headersOf(plain, '/v1/users', overTls)
  for (const order of ['before', 'after']) {
    const [app, other] = [Fastify({ trustProxy: true }), [helmet, options] as const]
    await (order === 'before'
      ? withPlugins(app, other, securityHeaders)
      : withPlugins(app, securityHeaders, other))
    app.get('/v1/users', () => ({}))
    app.get('/v1/own', { config: { securityHeaders: { xFrameOptions: true } } }, () => ({}))
    app.get('/docs', { schema: { hide: true } }, () => ({}))
    app.get('/v1/page', asHtml)
    for (const url of ['/v1/users', '/v1/own', '/docs', '/v1/page', '/v1/nothing'])
      t.same(await headersOf(app, url, overTls), theirs, `${order}: ${url}`)
    t.match(app.conventions.report().findings, [
      { plugin: 'securityHeaders', rule: 'overlap', route: '(all)', problem: /^@fastify\/helmet sets/ },
    ])
  }
})

t.test('an HTML page gets the headers of helmet, except those that the app sets', async (t) => {
  const plain = Fastify({ trustProxy: true })
  await plain.register(helmet, { referrerPolicy: { policy: 'origin' } })
  plain.get('/v1/page', () => ({}))
  const ofHelmet = await headersOf(plain, '/v1/page', overTls)
  const app = await appWith({ referrerPolicy: { policy: 'origin' } })
  app.setNotFoundHandler((_, reply) => reply.code(404).type('text/html').send('<p>'))
  const page = { 'content-type': 'text/html; charset=utf-8' }
  app.get('/v1/page', (_, reply) => reply.headers(page).send('<p>'))
  app.get('/v1/response', () => new Response('<p>', { headers: page }))
  const ownPolicy = { 'content-security-policy': "default-src 'self' https://cdn.example" }
  app.get('/v1/own', (_, reply) => reply.headers({ ...page, ...ownPolicy }).send('<p>'))
  const contentSecurityPolicy = { useDefaults: false, directives: { 'default-src': ["'self'"] } }
  app.get('/v1/strict', { config: { securityHeaders: { contentSecurityPolicy } } }, asHtml)
  app.get('/v1/helmet', { config: { securityHeaders: { profile: 'helmet' } } }, asHtml)
  for (const type of ['text/plain', 'text/csv; charset=utf-8', 'application/xhtml+xml'])
    app.get(`/v1/${type.split(/[/+;]/)[1]}`, (_, reply) => reply.type(type).send('<p>'))
  for (const url of ['/v1/page', '/v1/response', '/v1/nothing', '/v1/helmet'])
    t.same(await headersOf(app, url, overTls), ofHelmet, url)
  t.same(await headersOf(app, '/v1/own', overTls), { ...ofHelmet, ...ownPolicy })
  const ofRoute = { 'content-security-policy': "default-src 'self'", 'referrer-policy': 'origin' }
  t.same(await headersOf(app, '/v1/strict'), { ...ofApi, ...ofRoute }, 'a policy of the route stays')
  for (const url of ['/v1/plain', '/v1/csv', '/v1/xhtml'])
    t.same(await headersOf(app, url), { ...ofApi, 'referrer-policy': 'origin' }, url)
})

t.test('routes that may be pages are not changed, and reported, unless they are configured', async (t) => {
  const app = Fastify({ trustProxy: true })
  app.get('/docs', { schema: { hide: true } }, () => ({}))
  app.get('/files/*', () => ({}))
  await app.register(securityHeaders)
  app.get('/more/*', () => ({}))
  app.get('/pages/*', { config: { securityHeaders: { profile: 'helmet' } } }, () => ({}))
  for (const url of ['/docs', '/files/a', '/more/a']) t.same(await headersOf(app, url, overTls), {}, url)
  t.match((await headersOf(app, '/pages/a'))['content-security-policy'], /^default-src 'self'/)
  const routes = app.conventions.report().exceptions.map(({ route }) => route)
  t.same(routes, ['GET /more/*', 'GET /docs', 'GET /files/*'], 'those before the plugin too')
})

t.test('a route that the document does not show has the headers, and its pages have no policy', async (t) => {
  const app = await appWith()
  const schema: object = { hide: true }
  app.get('/metrics', { schema }, () => ({}))
  app.get('/docs', { schema }, (_, reply) => reply.type('text/html').send('<script></script>'))
  app.get('/v1/page', asHtml)
  app.get('/v1/users', () => ({}))
  t.same(await headersOf(app, '/metrics', overTls), await headersOf(app, '/v1/users', overTls))
  const ofPage = await headersOf(app, '/v1/page', overTls)
  t.match(ofPage, { 'content-security-policy': /./, 'cross-origin-opener-policy': 'same-origin' })
  const names = Object.keys(await headersOf(app, '/docs', overTls))
  const left = Object.keys(ofPage).filter((name) => !names.includes(name))
  t.strictSame(left, ['content-security-policy', 'cross-origin-opener-policy'])
})

t.test('in report mode no header is added, and responses without them are counted', async (t) => {
  const app = Fastify()
  app.get('/files/*', () => ({}))
  await app.register(securityHeaders, { mode: 'report' })
  app.get('/v1/users', () => ({}))
  const whole: RouteHandlerMethod = (_, reply) => reply.headers(ofApi).send({})
  app.get('/v1/whole', whole)
  app.get('/v1/own', { config: { securityHeaders: { xContentTypeOptions: true } } }, whole)
  app.get('/v1/raw', { config: { securityHeaders: false } }, () => ({}))
  app.get('/v1/enforced', { config: { securityHeaders: { mode: 'enforce' } } }, () => ({}))
  app.get('/v1/page', asHtml)
  app.get('/v1/helmet', { config: { securityHeaders: { profile: 'helmet' } } }, asHtml)
  for (const url of ['/v1/users', '/v1/users', '/files/a', '/v1/raw', '/v1/page', '/v1/helmet'])
    t.same(await headersOf(app, url), {}, url)
  for (const url of ['/v1/whole', '/v1/own', '/v1/enforced']) t.same(await headersOf(app, url), ofApi, url)
  const opener = { rule: 'missing', count: 1, example: /opener/ }
  t.match(app.conventions.report().observations, [
    { rule: 'missing', route: 'GET /v1/users', count: 2, example: /^(?!.*opener)/ },
    { ...opener, route: 'GET /v1/page' },
    { ...opener, route: 'GET /v1/helmet' },
  ])
  t.equal(app.conventions.report().observations.length, 3)
})

t.test('invalid options fail the boot, by name', async (t) => {
  const mistakes: readonly (readonly [options: object, message: RegExp])[] = [
    [{ profile: 'web' }, /securityHeaders\.profile: expected one of 'api', 'helmet', received 'web'/],
    [{ hsts: false }, /securityHeaders\.hsts: there is no such option; expected one of .*strictTransport/],
    [{ strictTransportSecurity: { maxage: 1 } }, /securityHeaders: .* helmet takes \(Strict-Transport-Secur/],
    [{ xFrameOptions: 'DENY' }, /securityHeaders\.xFrameOptions: expected true, false or an object/],
    [{ xFrameOptions: { action: 'allow' } }, /what helmet takes \(X-Frame-Options received/],
    [{ contentSecurityPolicy: { directives: { 'img-src': [() => 'x'] } } }, /without functions/],
  ]
  for (const [options, message] of mistakes) {
    await t.rejects(Promise.resolve(Fastify().register(securityHeaders, options)), { message })
    const app = await appWith()
    const config = { securityHeaders: options as SecurityHeadersOptions }
    const add = () => app.get('/v1/users', { config }, () => ({}))
    t.throws(add, /GET \/v1\/users config\.securityHeaders/)
  }
})
