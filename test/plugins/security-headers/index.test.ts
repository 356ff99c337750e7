/** Security headers: those of helmet, byte for byte, with a profile for JSON APIs. */
import helmet, { type FastifyHelmetOptions } from '@fastify/helmet'
import Fastify, { type FastifyInstance } from 'fastify'
import plainHelmet from 'helmet'
import t from 'tap'
import { problems } from '../../../src/plugins/problems/index.js'
import { type SecurityHeadersOptions, securityHeaders } from '../../../src/plugins/security-headers/index.js'
import { ProblemError } from '../../../src/problem/problem-error.js'

const overTls = { 'x-forwarded-proto': 'https' }
const ofApi = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}
const hsts = 'max-age=31536000; includeSubDomains'

async function appWith(options: SecurityHeadersOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ trustProxy: true })
  await app.register(securityHeaders, options)
  return app
}

/** The headers of an answer, without those that every answer has. */
async function headersOf(app: FastifyInstance, url: string, headers: Record<string, string> = {}) {
  const { headers: all } = await app.inject({ url, headers })
  const usual = ['content-type', 'content-length', 'date', 'connection', 'transfer-encoding']
  return Object.fromEntries(Object.entries(all).filter(([name]) => !usual.includes(name)))
}

t.test('an API sends the headers that have an effect for it, and no other', async (t) => {
  const app = await appWith()
  app.get('/v1/users', () => ({}))
  t.same(await headersOf(app, '/v1/users'), ofApi)
})

t.test('Strict-Transport-Security is sent over TLS alone, with subdomains', async (t) => {
  const app = await appWith()
  app.get('/v1/users', () => ({}))
  t.same(await headersOf(app, '/v1/users', overTls), { ...ofApi, 'strict-transport-security': hsts })
  t.notOk('strict-transport-security' in (await headersOf(app, '/v1/users', { 'x-forwarded-proto': 'http' })))
})

t.test('X-Forwarded-Proto of an untrusted proxy is ignored', async (t) => {
  const app = Fastify()
  await app.register(securityHeaders)
  app.get('/v1/users', () => ({}))
  t.same(await headersOf(app, '/v1/users', overTls), ofApi)
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
    const theirs = Fastify()
    await theirs.register(helmet, options)
    const ours = await appWith({ ...(options as SecurityHeadersOptions), profile: 'helmet' })
    const headers = overTls
    for (const app of [theirs, ours]) app.get('/v1/users', () => ({}))
    for (const url of ['/v1/users', '/v1/nothing'])
      t.same(await headersOf(ours, url, headers), await headersOf(theirs, url, headers), `${name}: ${url}`)
  }
})

t.test(
  'with options of a route, the headers are those of @fastify/helmet with both configurations',
  async (t) => {
    const own: FastifyHelmetOptions = { frameguard: { action: 'deny' }, contentSecurityPolicy: false }
    const theirs = Fastify()
    await theirs.register(helmet, { crossOriginEmbedderPolicy: true })
    theirs.get('/v1/users', { helmet: own }, () => ({}))
    const ours = await appWith({ profile: 'helmet', crossOriginEmbedderPolicy: true })
    const config = {
      securityHeaders: { xFrameOptions: { action: 'deny' as const }, contentSecurityPolicy: false },
    }
    ours.get('/v1/users', { config }, () => ({}))
    t.same(await headersOf(ours, '/v1/users', overTls), await headersOf(theirs, '/v1/users', overTls))
  },
)

t.test('a policy may be without default-src', async (t) => {
  const app = await appWith({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': plainHelmet.contentSecurityPolicy.dangerouslyDisableDefaultSrc,
        'script-src': ["'self'"],
      },
    },
  })
  app.get('/v1/page', () => ({}))
  t.equal((await headersOf(app, '/v1/page'))['content-security-policy'], "script-src 'self'")
})

t.test(
  'headers that an earlier hook of the app has set are kept, on the reply and on the raw response',
  async (t) => {
    const app = Fastify()
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('x-frame-options', 'SAMEORIGIN')
      reply.raw.setHeader('referrer-policy', 'origin')
    })
    await app.register(securityHeaders)
    app.get('/v1/users', () => ({}))
    const expected = { ...ofApi, 'x-frame-options': 'SAMEORIGIN', 'referrer-policy': 'origin' }
    t.same(await headersOf(app, '/v1/users'), expected)
  },
)

t.test('a route overrides single headers, or has none', async (t) => {
  const app = await appWith({ referrerPolicy: { policy: 'origin' } })
  app.get('/v1/images', { config: { securityHeaders: { crossOriginResourcePolicy: false } } }, () => ({}))
  app.get('/v1/raw', { config: { securityHeaders: false } }, () => ({}))
  app.get('/v1/off', { config: { securityHeaders: { mode: 'off' } } }, () => ({}))
  const { 'cross-origin-resource-policy': _, ...others } = { ...ofApi, 'referrer-policy': 'origin' }
  t.same(await headersOf(app, '/v1/images'), others)
  t.same(await headersOf(app, '/v1/raw', overTls), {})
  t.same(await headersOf(app, '/v1/off', overTls), {})
  t.same((await app.inject({ method: 'HEAD', url: '/v1/images' })).headers['referrer-policy'], 'origin')
})

t.test('errors, 404s and responses of later hooks have the headers too', async (t) => {
  const app = await appWith()
  await app.register(problems)
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers.authorization === 'wrong') return reply.code(401).send({})
    return undefined
  })
  app.get('/v1/broken', () => {
    throw new Error('broken')
  })
  app.get('/v1/refused', () => {
    throw new ProblemError('not-found')
  })
  app.get('/v1/late', { onSend: async () => Promise.reject(new Error('late')) }, () => ({}))
  app.post('/v1/users', { schema: { body: { type: 'object', required: ['name'] } } }, () => ({}))
  const asked = [
    { url: '/v1/broken', status: 500 },
    { url: '/v1/refused', status: 404 },
    { url: '/v1/late', status: 500 },
    { url: '/v1/nothing', status: 404 },
    { url: '/v1/broken', method: 'DELETE', status: 405 },
    { url: '/v1/users', method: 'POST', payload: {}, status: 400 },
    { url: '/v1/refused', headers: { authorization: 'wrong' }, status: 401 },
  ] as const
  for (const { status, ...request } of asked) {
    const { statusCode, headers } = await app.inject({ method: 'GET', ...request })
    t.match({ statusCode, headers }, { statusCode: status, headers: ofApi }, `${status} ${request.url}`)
  }
})

t.test('headers that a handler sets take precedence', async (t) => {
  const app = await appWith()
  app.get('/v1/users', (_, reply) => reply.header('X-Frame-Options', 'SAMEORIGIN').send({}))
  app.get('/v1/less', (_, reply) => reply.removeHeader('x-frame-options').send({}))
  app.get('/v1/none', {
    config: { securityHeaders: false },
    handler: (_, reply) => reply.header('referrer-policy', 'origin').send({}),
  })
  t.equal((await headersOf(app, '/v1/users'))['x-frame-options'], 'SAMEORIGIN')
  t.same(await headersOf(app, '/v1/none'), { 'referrer-policy': 'origin' })
  const { 'x-frame-options': _, ...less } = ofApi
  t.same(await headersOf(app, '/v1/less'), less)
})

t.test('where the app has @fastify/helmet, in either order, the plugin is off', async (t) => {
  const options: FastifyHelmetOptions = { frameguard: { action: 'sameorigin' } }
  const plain = Fastify()
  await plain.register(helmet, options)
  plain.get('/v1/users', () => ({}))
  const theirs = await headersOf(plain, '/v1/users', overTls)
  for (const order of ['before', 'after']) {
    const app = Fastify({ trustProxy: true })
    if (order === 'before') await app.register(helmet, options)
    await app.register(securityHeaders)
    if (order === 'after') await app.register(helmet, options)
    app.get('/v1/users', () => ({}))
    app.get('/v1/own', { config: { securityHeaders: { xFrameOptions: false } } }, () => ({}))
    app.get('/files/*', () => ({}))
    app.get('/docs', { schema: { hide: true } }, () => ({}))
    app.get('/v1/none', { config: { securityHeaders: false } }, () => ({}))
    app.get('/v1/page', (_, reply) => reply.type('text/html').send('<p>'))
    for (const url of ['/v1/users', '/v1/own', '/files/a', '/docs', '/v1/none', '/v1/page', '/v1/nothing']) {
      t.same(await headersOf(app, url, overTls), theirs, `${order}: ${url}`)
    }
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
  app.get('/v1/own', (_, reply) =>
    reply
      .headers({ ...page, 'content-security-policy': "default-src 'self' https://cdn.example" })
      .send('<p>'),
  )
  app.get('/v1/strict', {
    config: { securityHeaders: { contentSecurityPolicy: { directives: { 'img-src': ["'none'"] } } } },
    handler: (_, reply) => reply.headers(page).send('<p>'),
  })
  for (const url of ['/v1/page', '/v1/response', '/v1/nothing'])
    t.same(await headersOf(app, url, overTls), ofHelmet, url)
  const policy = "default-src 'self' https://cdn.example"
  t.same(await headersOf(app, '/v1/own', overTls), { ...ofHelmet, 'content-security-policy': policy })
  t.match((await headersOf(app, '/v1/strict'))['content-security-policy'], /img-src 'none'/)
})

t.test('the report names the routes of all contexts below that of a helmet', async (t) => {
  for (const route of ['GET /health; GET /v1/users', '(all)']) {
    const app = await appWith()
    await app.register(async (service) => {
      await service.register(helmet)
      service.get('/health', () => ({}))
      service.register(async (users) => void users.get('/v1/users', () => ({})))
    })
    if (route !== '(all)') app.get('/v1/orders', () => ({}))
    await app.ready()
    t.match(app.conventions.report().findings, [{ rule: 'overlap', route }])
  }
})

t.test('what a helmet of the app leaves out is not added', async (t) => {
  for (const order of ['before', 'after']) {
    const app = Fastify()
    if (order === 'before') await app.register(helmet, { xFrameOptions: false, contentSecurityPolicy: false })
    await app.register(securityHeaders)
    if (order === 'after') await app.register(helmet, { xFrameOptions: false, contentSecurityPolicy: false })
    app.get('/v1/users', () => ({}))
    app.get('/v1/page', (_, reply) => reply.type('text/html').send('<p>'))
    for (const url of ['/v1/users', '/v1/page']) {
      const headers = await headersOf(app, url)
      t.notOk('x-frame-options' in headers || 'content-security-policy' in headers, `${order} ${url}`)
    }
    t.match(app.conventions.report().findings, [
      { plugin: 'securityHeaders', rule: 'overlap', route: '(all)', mode: 'report' },
    ])
  }
})

t.test(
  'routes that may be pages are not changed if they are declared before the plugin, either',
  async (t) => {
    const app = Fastify()
    app.get('/docs', { schema: { hide: true } }, () => ({}))
    app.get('/files/*', () => ({}))
    await app.register(securityHeaders)
    app.get('/v1/users', () => ({}))
    for (const url of ['/docs', '/files/a']) t.same(await headersOf(app, url), {}, url)
    t.same(await headersOf(app, '/v1/users'), ofApi)
  },
)

t.test('a page keeps the policy of helmet, and other text keeps that of an API', async (t) => {
  const app = await appWith()
  for (const type of ['text/plain', 'text/csv; charset=utf-8', 'application/xhtml+xml'])
    app.get(`/v1/${type.split(/[/+;]/)[1]}`, (_, reply) => reply.type(type).send('<p>'))
  for (const url of ['/v1/plain', '/v1/csv', '/v1/xhtml']) t.same(await headersOf(app, url), ofApi, url)
  const pages = await appWith({ profile: 'helmet' })
  pages.get('/v1/page', (_, reply) => reply.type('text/html').send('<p>'))
  t.match((await headersOf(pages, '/v1/page'))['content-security-policy'], /^default-src 'self'/)
})

t.test(
  'routes that may be pages are not changed and are reported, unless they configure the plugin',
  async (t) => {
    const app = await appWith()
    app.get('/files/*', () => ({}))
    app.get('/pages/*', { config: { securityHeaders: { profile: 'helmet' } } }, () => ({}))
    t.same(await headersOf(app, '/files/a', overTls), {})
    t.match((await headersOf(app, '/pages/a'))['content-security-policy'], /^default-src 'self'/)
    const routes = app.conventions.report().exceptions.map(({ route }) => route)
    t.same(routes, ['GET /files/*'])
  },
)

t.test('a route that the document does not show has the headers, and its pages have no policy', async (t) => {
  const app = await appWith()
  const schema: object = { hide: true }
  app.get('/metrics', { schema }, () => ({}))
  app.get('/docs', { schema }, (_, reply) => reply.type('text/html').send('<script></script>'))
  app.get('/v1/page', (_, reply) => reply.type('text/html').send('<p>'))
  app.get('/v1/users', () => ({}))
  t.same(await headersOf(app, '/metrics', overTls), await headersOf(app, '/v1/users', overTls))
  const {
    'content-security-policy': policy,
    'cross-origin-opener-policy': openerPolicy,
    ...others
  } = await headersOf(app, '/v1/page', overTls)
  t.strictSame([typeof policy, openerPolicy], ['string', 'same-origin'])
  t.same(await headersOf(app, '/docs', overTls), others)
})

t.test('in report mode no header is added, and responses without them are counted', async (t) => {
  const app = Fastify({ trustProxy: true })
  await app.register(securityHeaders, { mode: 'report' })
  app.get('/v1/users', () => ({}))
  app.get('/v1/whole', (_, reply) => reply.headers(ofApi).send({}))
  app.get('/v1/raw', { config: { securityHeaders: false } }, () => ({}))
  app.get('/v1/enforced', { config: { securityHeaders: { mode: 'enforce' } } }, () => ({}))
  t.same(await headersOf(app, '/v1/users'), {})
  await headersOf(app, '/v1/users')
  await headersOf(app, '/v1/whole')
  t.equal((await app.inject('/v1/raw')).statusCode, 200)
  t.same(await headersOf(app, '/v1/enforced'), ofApi)
  t.match(app.conventions.report().observations, [
    { plugin: 'securityHeaders', rule: 'missing', route: '/v1/users', count: 2 },
  ])
  t.equal(app.conventions.report().observations.length, 1)
})

t.test('invalid options fail the boot, by name', async (t) => {
  const mistakes: readonly (readonly [options: object, message: RegExp])[] = [
    [{ profile: 'web' }, /securityHeaders\.profile: expected one of 'api', 'helmet', received 'web'/],
    [
      { hsts: false },
      /securityHeaders\.hsts: there is no such option; expected one of .*strictTransportSecurity/,
    ],
    [{ strictTransportSecurity: { maxage: 1 } }, /what helmet takes \(Strict-Transport-Security received an/],
    [{ xXssProtection: false }, /securityHeaders\.xXssProtection: there is no such option/],
    [{ xFrameOptions: 'DENY' }, /securityHeaders\.xFrameOptions: expected true, false or an object/],
    [
      { xFrameOptions: { action: 'allow' } },
      /what helmet takes \(X-Frame-Options received an invalid action/,
    ],
    [
      { contentSecurityPolicy: { directives: { a: ['x;y'] } } },
      /what helmet takes \(Content-Security-Policy/,
    ],
    [{ contentSecurityPolicy: { directives: { 'img-src': [() => 'x'] } } }, /without functions/],
    [{ pages: {} }, /securityHeaders\.pages: there is no such option/],
  ]
  for (const [options, message] of mistakes) {
    await t.rejects(Promise.resolve(Fastify().register(securityHeaders, options)), { message })
    const app = await appWith()
    const given = options as SecurityHeadersOptions
    t.throws(
      () => app.get('/v1/users', { config: { securityHeaders: given } }, () => ({})),
      /GET \/v1\/users config\.securityHeaders/,
    )
  }
})

t.test('a route may have mode report or off', async (t) => {
  const app = await appWith()
  app.get('/v1/users', { config: { securityHeaders: { mode: 'report' } } }, () => ({}))
  t.same(await headersOf(app, '/v1/users'), {})
  t.equal(app.conventions.report().observations[0]?.count, 1)
  const off = await appWith({ mode: 'off' })
  off.get('/v1/users', () => ({}))
  off.get('/v1/on', { config: { securityHeaders: { mode: 'enforce' } } }, () => ({}))
  t.same(await headersOf(off, '/v1/users'), {})
  t.same(await headersOf(off, '/v1/on'), ofApi)
})
