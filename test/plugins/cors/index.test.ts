/** CORS: what pages of other origins may do, and `Vary` for caches. */
import fastifyCors from '@fastify/cors'
import Fastify, { type FastifyInstance, type FastifyReply, type InjectOptions } from 'fastify'
import t from 'tap'
import { caching } from '../../../src/plugins/caching/index.js'
import { type CorsOptions, cors } from '../../../src/plugins/cors/index.js'
import { problems } from '../../../src/plugins/problems/index.js'
import { ProblemError } from '../../../src/problem/problem-error.js'
import { appOf } from '../../support/app.js'

const page = 'https://app.example'
const other = 'https://other.example'
const exposed =
  'Location, Operation-Location, Link, ETag, Retry-After, RateLimit, RateLimit-Policy, Deprecation, Sunset, ' +
  'Preference-Applied, Idempotent-Replayed'

async function appWith(options: CorsOptions = { origin: [page] }) {
  const app = await appOf([cors, options], problems)
  app.get('/v1/users', () => ({}))
  app.put('/v1/users', () => ({}))
  return app
}

/** The CORS headers of a response, with its `Vary`. */
async function corsOf(app: FastifyInstance, request: InjectOptions, origin?: string) {
  const sent = { ...request.headers, ...(origin !== undefined && { origin }) }
  const { headers } = await app.inject({ ...request, headers: sent })
  const entries = Object.entries(headers)
  return Object.fromEntries(entries.filter(([name]) => name === 'vary' || name.startsWith('access-control-')))
}

const users: InjectOptions = { url: '/v1/users' }

const asks = (method: string, more = {}, url = '/v1/users') => {
  return { method: 'OPTIONS', url, headers: { 'access-control-request-method': method, ...more } } as const
}

t.test('without origins nothing is added, so that an app may have @fastify/cors', async (t) => {
  for (const options of [{}, { origin: false }, { origin: page, mode: 'off' }] as const) {
    const app = await appWith(options)
    t.same(await corsOf(app, users, page), {})
    t.notOk(app.hasRequestDecorator('corsPreflightEnabled'))
  }
})

t.test('a page of an allowed origin may read the response and the headers of the conventions', async (t) => {
  const ways: NonNullable<CorsOptions['origin']>[] = [
    ['https://first.example', page],
    /^https:\/\/[a-z]+\.example$/,
    /^https:\/\/APP\.example$/i,
    (origin) => origin === page,
    async (origin: string | undefined) => origin === page,
  ]
  const allowed = { 'access-control-allow-origin': page, vary: 'Origin' }
  for (const origin of ways) {
    const app = await appWith({ origin, exposedHeaders: ['X-Tenant', 'etag'] })
    const answer = { ...allowed, 'access-control-expose-headers': `${exposed}, X-Tenant` }
    t.same(await corsOf(app, users, page), answer, String(origin))
  }
})

t.test('other origins are not allowed, and caches keep the responses apart', async (t) => {
  const either = /^https:\/\/app\.example|https:\/\/b\.example$/
  const evil = [`${page}.evil.example`, 'https://evil.example?https://b.example', 'null', page.toUpperCase()]
  for (const way of [either, new RegExp(either.source, 'gmy'), ['https://b.example', either], [page]]) {
    const app = await appWith({ origin: way })
    // Twice: an expression with the flag `g` has a state.
    for (const origin of [page, ...evil, page, undefined]) {
      const { 'access-control-allow-origin': allowed, vary } = await corsOf(app, users, origin)
      t.same([allowed, vary], [origin === page ? page : undefined, 'Origin'], `${way}: ${origin}`)
    }
  }
})

t.test('one origin, or all origins, give the same response for all, without Vary', async (t) => {
  for (const origin of [page, '*']) {
    const app = await appWith({ origin })
    const answer = { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed }
    t.same(await corsOf(app, users, page), answer)
    t.same(await corsOf(app, users), answer, 'what is stored without Origin serves a page too')
    t.equal((await corsOf(app, asks('PUT'), page)).vary, 'Access-Control-Request-Headers')
  }
})

t.test('a function of origins that fails is a 500', async (t) => {
  const failing: NonNullable<CorsOptions['origin']>[] = [
    () => {
      throw new Error('sync')
    },
    async () => Promise.reject(new Error('async')),
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

t.test('a preflight is answered before all other hooks, for every method of a REST API', async (t) => {
  const app = await appWith()
  app.addHook('onRequest', async () => {
    throw new ProblemError('unauthorized', { status: 401 })
  })
  const requested = 'content-type,if-match'
  for (const url of ['/v1/users', '/v1/nothing']) {
    for (const wanted of [{ 'access-control-request-headers': requested }, {}]) {
      const preflight = asks('PATCH', { ...wanted, origin: page }, url)
      const { statusCode, headers, payload } = await app.inject(preflight)
      const { date: _, connection: __, ...others } = headers
      t.same([statusCode, payload], [204, ''])
      t.same(others, {
        'access-control-allow-origin': page,
        'access-control-expose-headers': exposed,
        'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
        ...('access-control-request-headers' in wanted && { 'access-control-allow-headers': requested }),
        'access-control-max-age': '7200',
        vary: 'Origin, Access-Control-Request-Headers',
      })
    }
  }
})

t.test('a preflight from another origin gets no permission', async (t) => {
  for (const origin of [[page], () => false, async () => false]) {
    const app = await appWith({ origin })
    const { statusCode, headers } = await app.inject(asks('DELETE', { origin: other }))
    t.equal(statusCode, 204)
    t.notOk('access-control-allow-origin' in headers)
    t.match(headers.vary, /^Origin/)
  }
})

t.test('with credentials, pages may send cookies, but not to a route for all pages', async (t) => {
  const app = await appWith({ origin: [page], credentials: true })
  app.get('/v1/some', { config: { cors: { origin: [page] } } }, () => ({}))
  app.get('/v1/public', { config: { cors: { origin: '*' } } }, () => ({}))
  for (const request of [users, asks('GET'), { url: '/v1/some' }])
    t.match(await corsOf(app, request, page), { 'access-control-allow-credentials': 'true' })
  const answer = await corsOf(app, { url: '/v1/public' }, page)
  t.same(answer, { 'access-control-allow-origin': '*', 'access-control-expose-headers': exposed })
})

t.test('an OPTIONS that is not a preflight names the methods in Allow', async (t) => {
  for (const allowed of [[page], '*']) {
    const app = await appWith({ origin: allowed })
    for (const headers of [{}, { origin: page }, { 'access-control-request-method': 'PUT' }]) {
      const answer = await app.inject({ method: 'OPTIONS', url: '/v1/users', headers })
      t.match(answer, { statusCode: 204, headers: { allow: 'GET, HEAD, OPTIONS, PUT' } })
      t.notOk('access-control-allow-methods' in answer.headers)
    }
    t.equal((await app.inject({ method: 'OPTIONS', url: '/v1/nothing' })).statusCode, 404)
  }
})

t.test('a page may read errors too', async (t) => {
  const app = await appWith()
  app.get('/v1/refused', () => {
    throw new ProblemError('told', { status: 429, headers: { 'retry-after': '5' } })
  })
  app.get('/v1/late', { onSend: async () => Promise.reject(new Error('late')) }, () => ({}))
  app.get('/v1/closed', { onRequest: async (_, reply) => reply.code(503).send({}) }, () => ({}))
  for (const [method, url, status] of [
    ['GET', '/v1/refused', 429],
    ['GET', '/v1/late', 500],
    ['GET', '/v1/closed', 503],
    ['GET', '/v1/nothing', 404],
    ['DELETE', '/v1/users', 405],
  ] as const) {
    const { statusCode, headers } = await app.inject({ method, url, headers: { origin: page } })
    t.equal(statusCode, status)
    t.match(headers, { 'access-control-allow-origin': page, vary: 'Origin' }, url)
  }
})

t.test('Vary: Origin is added to the Vary of the app, also on a 304 and in a web Response', async (t) => {
  const app = Fastify()
  app.addHook('onRequest', async ({ url }, reply) => {
    if (url === '/v1/early') reply.header('vary', 'Early')
  })
  await app.register(cors, { origin: [page] })
  await app.register(caching)
  const ofReply = (vary: string | string[]) => (_: unknown, reply: FastifyReply) =>
    reply.code(201).header('vary', vary).send({})
  const ofResponse = (headers: Record<string, string>) => () => new Response('{}', { status: 201, headers })
  const rows = [
    ['/v1/own', ofReply('Accept-Language'), 'Accept-Language, Origin'],
    ['/v1/list', ofReply(['Accept', 'Accept-Language']), 'Accept, Accept-Language, Origin'],
    ['/v1/named', ofReply('accept, ORIGIN'), 'accept, ORIGIN'],
    ['/v1/all', ofReply('*'), '*'],
    ['/v1/response', ofResponse({ vary: 'Accept' }), 'Accept, Origin'],
    ['/v1/response-named', ofResponse({ vary: 'origin, accept' }), 'origin, accept'],
    ['/v1/response-without', ofResponse({}), 'Origin'],
    ['/v1/early', (_: unknown, reply: FastifyReply) => reply.code(201).send({}), 'Early, Origin'],
  ] as const
  for (const [url, handler] of rows) app.get(url, handler)
  app.get('/v1/cached', { config: { caching: { validators: () => ({ version: 1 }) } } }, () => ({}))
  for (const [url, , vary] of rows)
    t.match(await app.inject({ url, headers: { origin: page } }), { statusCode: 201, headers: { vary } }, url)
  const preflight = await corsOf(app, asks('GET', {}, '/v1/early'), page)
  t.equal(preflight.vary, 'Early, Origin, Access-Control-Request-Headers')
  const headers = { origin: page, 'if-none-match': '"1"' }
  const answer = await app.inject({ url: '/v1/cached', headers })
  t.match(answer, { statusCode: 304, headers: { vary: 'Origin', 'access-control-allow-origin': page } })
})

t.test('a route may allow other origins than the app, and its responses vary by them', async (t) => {
  const app = await appWith()
  app.get('/v1/all', { config: { cors: { origin: '*' } } }, () => ({}))
  const without = { none: false, nobody: { origin: false }, off: { mode: 'off' } } as const
  for (const [name, own] of Object.entries(without))
    app.get(`/v1/${name}`, { config: { cors: own } }, () => ({}))
  for (const origin of [page, other, undefined]) {
    const { 'access-control-allow-origin': allowed, vary } = await corsOf(app, { url: '/v1/all' }, origin)
    t.same([allowed, vary], ['*', undefined])
    for (const name of Object.keys(without))
      t.same(await corsOf(app, { url: `/v1/${name}` }, origin), {}, name)
  }
  const everybody = await appWith({ origin: '*' })
  everybody.get('/v1/some', { config: { cors: { origin: [page] } } }, (_, reply) =>
    reply.header('vary', 'Accept').send({}),
  )
  t.same(await corsOf(everybody, { url: '/v1/some' }), { vary: 'Accept, Origin' })
})

t.test('a hidden route for preflights is declared below a prefix, if they are answered', async (t) => {
  for (const [prefix, options, expected] of [
    ['', { origin: page }, []],
    ['/v1', { origin: page }, [true]],
    ['/v1', { origin: page, mode: 'report' }, []],
    ['/v1', {}, []],
  ] as const) {
    const app = Fastify()
    const hidden: unknown[] = []
    app.addHook('onRoute', ({ method, schema }) => void (method === 'OPTIONS' && hidden.push(schema?.hide)))
    const setUp = async (context: FastifyInstance) => {
      await context.register(cors, options)
      context.get('/users', () => ({}))
    }
    await (prefix === '' ? setUp(app) : app.register(setUp, { prefix }))
    const isAnswered = 'origin' in options && !('mode' in options)
    for (const url of [`${prefix}/users`, `${prefix}/unknown`]) {
      const { 'access-control-allow-origin': allowed } = await corsOf(app, asks('GET', {}, url), page)
      t.equal(allowed, isAnswered ? page : undefined, url)
    }
    t.equal((await app.inject({ method: 'OPTIONS', url: `${prefix}/unknown` })).statusCode, 404)
    t.same(hidden, expected)
  }
})

t.test('beside @fastify/cors in either order, that one answers, and the report says so', async (t) => {
  for (const [order, origin] of [
    ['before', page],
    ['after', page],
    ['before', false],
  ] as const) {
    const app = Fastify()
    if (order === 'before') await app.register(cors, { origin })
    await app.register(fastifyCors, { origin: other, methods: ['GET'] })
    if (order === 'after') await app.register(cors, { origin })
    app.get('/v1/users', () => ({}))
    t.same(await corsOf(app, users, page), { 'access-control-allow-origin': other }, order)
    t.equal((await corsOf(app, asks('GET'), page))['access-control-allow-methods'], 'GET', order)
    const finding = { plugin: 'cors', rule: 'overlap', route: '(all)', mode: 'report' }
    const { findings } = app.conventions.report()
    t.match(findings, origin === false ? [] : [{ ...finding, problem: /^@fastify\/cors answers/ }])
    t.equal(findings.length, origin === false ? 0 : 1)
  }
})

t.test('in report mode no header is added, and requests with Origin are counted', async (t) => {
  for (const origin of [[page], '*']) {
    const app = await appWith({ mode: 'report', origin })
    app.get('/v1/named', (_, reply) => reply.header('vary', 'Origin').send({}))
    t.same(await corsOf(app, users, page), {})
    t.same(await corsOf(app, users), {})
    t.same(await corsOf(app, { url: '/v1/named' }), { vary: 'Origin' })
    const { observations } = app.conventions.report()
    t.match(observations, [
      { plugin: 'cors', rule: 'origin', route: '/v1/users', count: 1, example: `asked from ${page}` },
      ...(origin === '*' ? [] : [{ rule: 'vary', route: '/v1/users', count: 2 }]),
    ])
    t.equal(observations.length, origin === '*' ? 1 : 2)
  }
})

t.test('an invalid option fails the boot by its name', async (t) => {
  const mistakes: readonly (readonly [options: object, message: RegExp])[] = [
    [{ origins: [page] }, /cors\.origins: there is no such option; expected one of .*origin/],
    [{ origin: `${page}/` }, /cors\.origin: expected an origin such as/],
    [{ origin: [page, 'app.example'] }, /cors\.origin\[1\]: expected an origin/],
    [{ origin: [page, '*'] }, /cors\.origin\[1\]: expected an origin, or '\*' alone without a list/],
    [{ origin: [] }, /cors\.origin: expected at least one origin, or false/],
    [{ origin: '*', credentials: true }, /cors\.origin: expected named origins, because credentials is true/],
    [{ origin: (_: string, done: () => void) => done() }, /cors\.origin: .*without a callback/],
    [{ origin: /^https:\/\/app\.example/ }, /cors\.origin: expected a regular expression from \^ to \$/],
    [{ origin: /app\.example$/ }, /cors\.origin: expected a regular expression from \^ to \$/],
    [{ origin: page, exposedHeaders: ['a b'] }, /cors\.exposedHeaders\[0\]: expected the name of a header/],
  ]
  for (const [options, message] of mistakes)
    await t.rejects(Promise.resolve(Fastify().register(cors, options)), { message }, String(message))
  const app = await appWith()
  for (const own of [{ origin: 'x' }, { exposedHeaders: [] }])
    t.throws(() => app.get('/v1/x', { config: { cors: own } }, () => ({})), /GET \/v1\/x config\.cors\./)
})
