/** CORS: what pages of other origins may do, and `Vary` for caches. */
import fastifyCors from '@fastify/cors'
import Fastify, { type FastifyInstance, type FastifyReply, type InjectOptions } from 'fastify'
import t from 'tap'
import { caching } from '../../../src/plugins/caching/index.js'
import { type CorsOptions, cors } from '../../../src/plugins/cors/index.js'
import { problems } from '../../../src/plugins/problems/index.js'
import { ProblemError } from '../../../src/problem/problem-error.js'

const page = 'https://app.example'
const other = 'https://other.example'
const exposed =
  'Location, Operation-Location, Link, ETag, Retry-After, RateLimit, RateLimit-Policy, Deprecation, Sunset, ' +
  'Preference-Applied, Idempotent-Replayed'

async function appWith(options: CorsOptions = { origin: [page] }): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(cors, options)
  await app.register(problems)
  app.get('/v1/users', () => ({}))
  app.put('/v1/users', () => ({}))
  return app
}

/** The CORS headers of a response, with its `Vary`. */
async function corsOf(app: FastifyInstance, request: InjectOptions, origin?: string) {
  const { headers } = await app.inject({
    ...request,
    headers: { ...request.headers, ...(origin === undefined ? {} : { origin }) },
  })
  const entries = Object.entries(headers)
  return Object.fromEntries(entries.filter(([name]) => name === 'vary' || name.startsWith('access-control-')))
}

const users: InjectOptions = { url: '/v1/users' }

t.test('no origin is allowed by default, and no header is added', async (t) => {
  const app = Fastify()
  await app.register(cors)
  app.get('/v1/users', () => ({}))
  t.same(await corsOf(app, users, page), {})
  t.notOk(app.hasRoute({ method: 'OPTIONS', url: '*' }))
  t.notOk(app.hasRequestDecorator('corsPreflightEnabled'), 'so an app may have @fastify/cors itself')
  const below = Fastify()
  for (const [prefix, options] of Object.entries({
    '/a': {},
    '/b': { origin: page, mode: 'report' } as const,
  }))
    below.register(async (child) => void (await child.register(cors, options)), { prefix })
  await below.ready()
  for (const url of ['/a/*', '/b/*']) t.notOk(below.hasRoute({ method: 'OPTIONS', url }), url)
})

t.test('a page of an allowed origin may read the response and the headers of the conventions', async (t) => {
  const app = await appWith()
  t.same(await corsOf(app, users, page), {
    'access-control-allow-origin': page,
    'access-control-expose-headers': exposed,
    vary: 'Origin',
  })
})

t.test('other origins are not allowed, and caches keep the responses apart', async (t) => {
  const app = await appWith()
  for (const origin of [other, 'null', `${page}.evil.example`, page.toUpperCase()]) {
    const answer = await corsOf(app, users, origin)
    t.notOk('access-control-allow-origin' in answer, origin)
    t.equal(answer.vary, 'Origin', origin)
  }
  t.same(await corsOf(app, users), { vary: 'Origin' }, 'without Origin')
})

t.test('one origin, or all origins, give the same response for all, without Vary', async (t) => {
  for (const origin of [page, '*']) {
    const app = await appWith({ origin })
    const answer = { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed }
    t.same(await corsOf(app, users, page), answer)
    t.same(await corsOf(app, users), answer, 'what is stored without Origin serves a page too')
  }
})

t.test('origins are given as a list, a regular expression, a function or a promise', async (t) => {
  const ways: readonly CorsOptions['origin'][] = [
    ['https://first.example', page],
    /^https:\/\/[a-z]+\.example$/,
    (origin) => origin === page,
    async (origin: string | undefined) => origin === page,
  ]
  for (const origin of ways as readonly NonNullable<CorsOptions['origin']>[]) {
    const app = await appWith({ origin })
    t.match(
      await corsOf(app, users, page),
      { 'access-control-allow-origin': page, vary: 'Origin' },
      String(origin),
    )
  }
})

t.test('a regular expression matches whole origins, wherever it comes from', async (t) => {
  const either = /^https:\/\/app\.example|https:\/\/b\.example$/
  const ways: readonly CorsOptions['origin'][] = [
    either,
    new RegExp(either.source, 'gmy'),
    ['https://c.example', either],
  ]
  for (const origin of ways as readonly NonNullable<CorsOptions['origin']>[]) {
    const app = await appWith({ origin, credentials: true })
    for (const allowed of [page, 'https://b.example', page]) {
      const { 'access-control-allow-origin': named } = await corsOf(app, users, allowed)
      t.equal(named, allowed, `${origin}: ${allowed}`)
    }
    for (const other of [`${page}.evil.example`, 'https://evil.example?https://b.example', 'null']) {
      const { 'access-control-allow-origin': named } = await corsOf(app, users, other)
      t.equal(named, undefined, `${origin}: ${other}`)
    }
  }
})

t.test('a function of origins that fails is a 500', async (t) => {
  const failing: readonly NonNullable<CorsOptions['origin']>[] = [
    () => {
      throw new Error('sync')
    },
    async () => Promise.reject(new Error('async')),
    () => undefined as never,
    async () => undefined as never,
    () => [page] as never,
  ]
  for (const origin of failing) {
    const app = await appWith({ origin })
    const { statusCode } = await app.inject({ ...users, headers: { origin: page } })
    t.equal(statusCode, 500, String(origin))
    t.equal((await app.inject(users)).statusCode, 200, 'it is not asked without Origin')
  }
})

const asks = (method: string, headers: Record<string, string> = {}): InjectOptions => ({
  method: 'OPTIONS',
  url: '/v1/users',
  headers: { 'access-control-request-method': method, ...headers },
})

t.test('a preflight is answered before all other hooks, for every method of a REST API', async (t) => {
  const app = await appWith()
  app.addHook('onRequest', async () => {
    throw new ProblemError('unauthorized', { status: 401 })
  })
  const wanted = 'content-type,if-match'
  const request = asks('PATCH', { origin: page, 'access-control-request-headers': wanted })
  const { statusCode, headers, payload } = await app.inject(request)
  t.equal(statusCode, 204)
  t.equal(payload, '')
  t.match(headers, {
    'access-control-allow-origin': page,
    'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': wanted,
    'access-control-max-age': '7200',
    vary: 'Origin, Access-Control-Request-Headers',
  })
  t.notOk('content-length' in headers, 'a 204 must not have it (RFC 9110 §8.6)')
  t.equal((await app.inject({ ...request, url: '/v1/nothing' })).statusCode, 204, 'known path or not')
})

t.test(
  'a preflight from another origin gets no permission, whatever says which origins are allowed',
  async (t) => {
    for (const origin of [[page], () => false, async () => false]) {
      const app = await appWith({ origin })
      const request = { ...asks('DELETE'), headers: { ...asks('DELETE').headers, origin: other } }
      const { statusCode, headers } = await app.inject(request)
      t.equal(statusCode, 204)
      t.notOk('access-control-allow-origin' in headers)
      t.match(headers.vary, /^Origin/)
    }
  },
)

t.test('with credentials, pages may send cookies', async (t) => {
  const app = await appWith({ origin: [page], credentials: true })
  for (const request of [users, asks('GET')])
    t.match(await corsOf(app, request, page), { 'access-control-allow-credentials': 'true' })
})

t.test('a route for all pages takes no cookies, also where those of the plugin do', async (t) => {
  const app = Fastify()
  await app.register(cors, { origin: [page], credentials: true })
  app.get('/v1/public', { config: { cors: { origin: '*' } } }, async () => ({}))
  const { headers } = await app.inject({ url: '/v1/public', headers: { origin: page } })
  t.equal(headers['access-control-allow-origin'], '*')
  t.notOk('access-control-allow-credentials' in headers)
})

t.test('an OPTIONS that is not a preflight names the methods in Allow', async (t) => {
  const app = await appWith()
  for (const headers of [{}, { origin: page }, { 'access-control-request-method': 'PUT' }]) {
    const answer = await app.inject({ method: 'OPTIONS', url: '/v1/users', headers })
    t.match(answer, { statusCode: 204, headers: { allow: 'GET, HEAD, OPTIONS, PUT', vary: 'Origin' } })
    const allowed = 'origin' in headers ? page : undefined
    t.equal(answer.headers['access-control-allow-origin'], allowed)
    t.notOk('access-control-allow-methods' in answer.headers)
  }
  t.equal((await app.inject({ method: 'OPTIONS', url: '/v1/nothing' })).statusCode, 404)
})

t.test('an OPTIONS without Origin is not a preflight where all origins are allowed, either', async (t) => {
  const app = await appWith({ origin: '*' })
  const { headers } = await app.inject(asks('PUT'))
  t.equal(headers.allow, 'GET, HEAD, OPTIONS, PUT')
  t.notOk('access-control-allow-methods' in headers)
})

t.test('a page may read errors too: 404, 405, 400, 429, 500, 503', async (t) => {
  const app = await appWith()
  app.get('/v1/status/:status', (request) => {
    const { status } = request.params as { status: string }
    throw new ProblemError('told', { status: Number(status), headers: { 'retry-after': '5' } })
  })
  app.get('/v1/late', { onSend: async () => Promise.reject(new Error('late')) }, () => ({}))
  app.get('/v1/closed', { onRequest: async (_, reply) => reply.code(503).send({}) }, () => ({}))
  const asked = [
    '/v1/status/400',
    '/v1/status/429',
    '/v1/status/503',
    '/v1/status/500',
    '/v1/late',
    '/v1/closed',
  ]
  for (const request of [
    ...asked.map((url) => ({ url })),
    { url: '/v1/nothing' },
    { method: 'DELETE', ...users },
  ]) {
    const { statusCode, headers } = await app.inject({
      ...request,
      headers: { origin: page },
    } as InjectOptions)
    t.ok(statusCode >= 400, `${statusCode}`)
    t.match(headers, {
      'access-control-allow-origin': page,
      'access-control-expose-headers': /Retry-After/,
      vary: 'Origin',
    })
  }
})

t.test('Vary: Origin is added to the Vary of the handler, also on a 304 and in a web Response', async (t) => {
  const app = Fastify()
  await app.register(cors, { origin: [page] })
  await app.register(caching)
  app.get('/v1/own', (_, reply) => reply.header('vary', 'Accept-Language').send({}))
  app.get('/v1/list', (_, reply) => reply.header('vary', ['Accept', 'Accept-Language']).send({}))
  app.get('/v1/named', (_, reply) => reply.header('vary', 'accept, ORIGIN').send({}))
  app.get('/v1/all', (_, reply) => reply.header('vary', '*').send({}))
  app.get('/v1/none', () => ({}))
  app.get(
    '/v1/response',
    () => new Response('{}', { status: 201, headers: { vary: 'Accept', 'x-own': '1' } }),
  )
  app.get('/v1/cached', { config: { caching: { validators: () => ({ version: 1 }) } } }, () => ({}))
  const expected: Readonly<Record<string, string>> = {
    '/v1/own': 'Accept-Language, Origin',
    '/v1/list': 'Accept, Accept-Language, Origin',
    '/v1/named': 'accept, ORIGIN',
    '/v1/all': '*',
    '/v1/none': 'Origin',
    '/v1/response': 'Accept, Origin',
  }
  for (const [url, vary] of Object.entries(expected))
    t.equal((await corsOf(app, { url }, page)).vary, vary, url)
  t.match(await app.inject('/v1/response'), { statusCode: 201, headers: { 'x-own': '1' }, payload: '{}' })
  const headers = { origin: page, 'if-none-match': '"1"' }
  const answer = await app.inject({ url: '/v1/cached', headers })
  t.equal(answer.statusCode, 304)
  t.match(answer.headers, { vary: 'Origin', 'access-control-allow-origin': page })
})

t.test('a route may allow fewer origins, and headers of the app are exposed once', async (t) => {
  const app = await appWith({ origin: [page], exposedHeaders: ['X-Tenant', 'etag'] })
  t.equal((await corsOf(app, users, page))['access-control-expose-headers'], `${exposed}, X-Tenant`)
  const everybody = await appWith({ origin: '*' })
  everybody.get('/v1/some', { config: { cors: { origin: [page] } } }, () => ({}))
  t.match(await corsOf(everybody, { url: '/v1/some' }, page), { vary: 'Origin' })
  t.same(await corsOf(everybody, { url: '/v1/some' }), { vary: 'Origin' })
})

t.test(
  'a route with named origins adds Origin to its own Vary, where the app allows all origins',
  async (t) => {
    const app = await appWith({ origin: '*' })
    const vary = (_: unknown, reply: FastifyReply) => reply.header('vary', 'Accept').send({})
    app.get('/v1/some', { config: { cors: { origin: [page] } } }, vary)
    app.get('/v1/all', vary)
    t.match(await corsOf(app, { url: '/v1/some' }, page), { vary: 'Accept, Origin' })
    t.match(await corsOf(app, { url: '/v1/all' }, page), { vary: 'Accept' })
  },
)

t.test(
  'a web Response without Vary has that of the reply, and names are compared without case',
  async (t) => {
    const app = await appWith()
    app.get('/v1/plain', () => new Response('{}'))
    app.get('/v1/named', () => new Response('{}', { headers: { vary: 'origin, accept' } }))
    t.equal((await corsOf(app, { url: '/v1/plain' }, page)).vary, 'Origin')
    t.equal((await corsOf(app, { url: '/v1/named' }, page)).vary, 'origin, accept')
  },
)

t.test('the flags of a regular expression of origins hold', async (t) => {
  const app = await appWith({ origin: /^https:\/\/APP\.example$/i })
  t.match(await corsOf(app, users, page), { 'access-control-allow-origin': page })
})

t.test('a hidden route for preflights is declared below a prefix only', async (t) => {
  for (const [prefix, expected] of [
    ['', []],
    ['/v1', [true]],
  ] as const) {
    const app = Fastify()
    const hidden: unknown[] = []
    app.addHook('onRoute', ({ method, schema }) => {
      if (method === 'OPTIONS') hidden.push(schema?.hide)
    })
    const setUp = async (context: FastifyInstance) => {
      await context.register(cors, { origin: page })
      context.get('/users', () => ({}))
    }
    if (prefix === '') await setUp(app)
    else await app.register(setUp, { prefix })
    for (const url of [`${prefix}/users`, `${prefix}/unknown`]) {
      const request = { method: 'OPTIONS', url, headers: { 'access-control-request-method': 'GET' } } as const
      t.equal((await corsOf(app, request, page))['access-control-allow-origin'], page, url)
    }
    t.equal((await app.inject({ method: 'OPTIONS', url: `${prefix}/unknown` })).statusCode, 404)
    t.same(hidden, expected)
  }
})

t.test('responses of a route vary by origin if its own options do', async (t) => {
  const app = await appWith({ origin: [page] })
  app.get('/v1/all', { config: { cors: { origin: '*' } } }, () => ({}))
  app.get('/v1/none', { config: { cors: false } }, () => ({}))
  for (const origin of [page, other, undefined]) {
    t.match(await corsOf(app, { url: '/v1/all' }, origin), { 'access-control-allow-origin': '*' })
    t.notOk('vary' in (await corsOf(app, { url: '/v1/all' }, origin)))
    t.same(await corsOf(app, { url: '/v1/none' }, origin), {})
  }
})

t.test('beside @fastify/cors in either order, that one answers, and the report says so', async (t) => {
  for (const order of ['before', 'after']) {
    const app = Fastify()
    const register = async () => void (await app.register(cors, { origin: page }))
    if (order === 'before') await register()
    await app.register(fastifyCors, { origin: other, methods: ['GET'] })
    if (order === 'after') await register()
    app.get('/v1/users', () => ({}))
    t.same(await corsOf(app, users, page), { 'access-control-allow-origin': other }, order)
    const preflight = { ...users, headers: { 'access-control-request-method': 'GET' } } as const
    const answer = await corsOf(app, { ...preflight, method: 'OPTIONS' }, page)
    t.equal(answer['access-control-allow-methods'], 'GET', order)
    t.match(app.conventions.report().findings, [
      { plugin: 'cors', rule: 'overlap', route: '(all)', mode: 'report', problem: /^@fastify\/cors answers/ },
    ])
  }
})

t.test('a route at the root of a prefix has its own options, with and without the slash', async (t) => {
  const app = await appWith()
  await app.register(
    async (child) => {
      child.get('/', { config: { cors: { origin: other } } }, () => ({}))
    },
    { prefix: '/v1/part' },
  )
  for (const method of ['GET', 'HEAD'] as const)
    for (const url of ['/v1/part', '/v1/part/'])
      t.equal(
        (await corsOf(app, { method, url }, page))['access-control-allow-origin'],
        other,
        `${method} ${url}`,
      )
})

t.test('in report mode no header is added, and requests with Origin are counted', async (t) => {
  const app = await appWith({ mode: 'report', origin: [page] })
  t.same(await corsOf(app, users, page), {})
  t.same(await corsOf(app, users), {})
  t.match(app.conventions.report().observations, [
    { plugin: 'cors', rule: 'origin', route: '/v1/users', count: 1, example: `asked from ${page}` },
  ])
  t.same(await corsOf(await appWith({ mode: 'off', origin: [page] }), users, page), {})
})

t.test('an invalid option fails the boot by its name', async (t) => {
  const mistakes: readonly (readonly [options: object, message: RegExp])[] = [
    [{ origins: [page] }, /cors\.origins: there is no such option; expected one of .*origin/],
    [{ origin: `${page}/` }, /cors\.origin: expected an origin such as/],
    [{ origin: [page, 'app.example'] }, /cors\.origin\[1\]: expected an origin/],
    [{ origin: [page, '*'] }, /cors\.origin\[1\]: expected an origin, or '\*' alone without a list/],
    [{ origin: [] }, /cors\.origin: expected at least one origin, or false/],
    [{ origin: 'null' }, /cors\.origin: expected an origin/],
    [{ origin: /app\.example/ }, /cors\.origin: expected a regular expression from \^ to \$/],
    [{ origin: '*', credentials: true }, /cors\.origin: expected named origins, because credentials is true/],
    [{ origin: true }, /cors\.origin: expected an origin/],
    [{ origin: 7 }, /cors\.origin: expected/],
    [{ origin: (_: string, done: () => void) => done() }, /cors\.origin: .*without a callback/],
    [{ origin: /^https:\/\/app\.example/ }, /cors\.origin: expected a regular expression from \^ to \$/],
    [
      { origin: page, exposedHeaders: ['a b'] },
      /cors\.exposedHeaders\[0\]: expected the name of a header field/,
    ],
    [{ origin: page, strictPreflight: false }, /cors\.strictPreflight: there is no such option/],
    [{ origin: page, mode: 'on' }, /cors\.mode/],
  ]
  for (const [options, message] of mistakes)
    await t.rejects(Promise.resolve(Fastify().register(cors, options)), { message }, String(message))
  const app = await appWith()
  for (const own of [{ origin: 'x' }, { exposedHeaders: [] }, { maxAge: 5 }])
    t.throws(() => app.get('/v1/x', { config: { cors: own } }, () => ({})), /GET \/v1\/x config\.cors\./)
})

t.test('a route may be in another mode', async (t) => {
  const app = await appWith({ origin: [page] })
  app.get('/v1/report', { config: { cors: { mode: 'report' } } }, () => ({}))
  t.same(await corsOf(app, { url: '/v1/report' }, page), {})
  t.match(await corsOf(app, users, page), { vary: 'Origin' })
  t.match(app.conventions.report().observations, [
    { rule: 'origin', route: 'GET /v1/report', example: `asked from ${page}` },
    { rule: 'vary', route: 'GET /v1/report' },
  ])
})
