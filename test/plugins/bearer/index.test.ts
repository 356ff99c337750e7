/** Access tokens: RFC 6750, RFC 9068. */
import { generateKeyPairSync } from 'node:crypto'
import fastifyCors from '@fastify/cors'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose'
import t from 'tap'
import { knownSubject } from '../../../src/convention/caller.js'
import {
  type BearerOptions,
  bearer,
  type CachingOptions,
  caching,
  cors,
  methodOverride,
  operations,
  problems,
} from '../../../src/index.js'
import { tokenCache } from '../../../src/plugins/bearer/tokens.js'
import { type TestTokenOptions, testIssuer } from '../../../src/testing/index.js'
import { keepLogs } from '../../support/logs.js'
import { manualClock } from '../../support/manual-clock.js'
import { injected, isProblem } from '../../support/problem.js'

const issuer = await testIssuer()

/** A service with a protected route, one with a scope, one that is open, and one that knows callers if it can. */
async function serviceWith(options: Partial<BearerOptions> = {}, log = keepLogs()): Promise<FastifyInstance> {
  const app = Fastify({ logger: log.logger })
  await app.register(problems)
  await app.register(bearer, { ...issuer.options, ...options })
  app.get('/protected', async ({ caller }) => ({ caller }))
  app.post('/protected', async ({ caller }) => ({ caller }))
  app.get(
    '/scoped',
    { config: { bearer: { scopes: ['users:read', 'users:list'] } } },
    async ({ caller }) => ({ caller }),
  )
  app.get('/open', { config: { bearer: false } }, async ({ caller }) => ({ caller }))
  app.get('/optional', { config: { bearer: { optional: true } } }, async ({ caller }) => ({ caller }))
  return app
}

async function bearing(options?: TestTokenOptions) {
  return { authorization: `Bearer ${await issuer.token(options)}` }
}

t.test('a request without a token is a 401 whose challenge has no error code', async (t) => {
  const app = await serviceWith()
  for (const headers of [{}, { authorization: 'Basic YTpi' }]) {
    const answer = await app.inject({ url: '/protected', headers })
    isProblem(t, injected(answer), { status: 401, code: 'unauthorized' })
    t.equal(answer.headers['www-authenticate'], 'Bearer realm="https://api.test"')
    t.equal(answer.headers['cache-control'], 'no-store')
  }
  const { headers } = await app.inject('/scoped')
  t.match(headers['www-authenticate'], ', scope="users:read users:list"', 'it names the scopes to ask for')
})

t.test('a weak or broken key of the issuer is a 401 for its tokens, with one warning', async (t) => {
  const { publicKey: weak } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const keys = [
    ...issuer.options.jwks.keys,
    { ...weak.export({ format: 'jwk' }), kid: 'weak', alg: 'RS256' },
    { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA', kid: 'broken', alg: 'ES256' },
    { kty: 'RSA', kid: 'empty', alg: 'PS256' },
  ]
  const fetchKeys = {
    jwks: undefined,
    jwksUri: 'https://id.test/jwks',
    fetch: async () => Response.json({ keys }),
  }
  for (const options of [{ jwks: { keys } }, fetchKeys]) {
    const log = keepLogs()
    const app = await serviceWith(options as Partial<BearerOptions>, log)
    for (const [alg, kid] of [
      ['RS256', 'weak'],
      ['ES256', 'broken'],
      ['PS256', 'empty'],
      ['RS256', 'weak'],
    ] as const) {
      const parts = [{ alg, kid, typ: 'at+jwt' }, { sub: 'eve' }]
      const token = `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.AAAA`
      const answer = await app.inject({ url: '/protected', headers: { authorization: `Bearer ${token}` } })
      isProblem(t, injected(answer), { status: 401, code: 'invalid-token' }, kid)
    }
    t.equal((await app.inject({ url: '/protected', headers: await bearing() })).statusCode, 200)
    t.match(
      log.lines.filter(({ level }) => level === 40),
      [{ kid: 'weak' }, { kid: 'broken' }, { kid: 'empty' }].map((key) => ({
        ...key,
        msg: 'bearer: a key of the issuer cannot be used, and its tokens are refused',
      })),
    )
  }
})

t.test('a valid token identifies the caller', async (t) => {
  const app = await serviceWith()
  const headers = await bearing({ subject: 'ada', scopes: ['a', 'b'], claims: { tenant: { id: 7 } } })
  for (const round of ['verified', 'from the cache']) {
    const { statusCode, json } = await app.inject({ url: '/protected', headers })
    t.equal(statusCode, 200, round)
    t.match(
      json(),
      { caller: { subject: 'ada', scopes: ['a', 'b'], claims: { sub: 'ada', tenant: { id: 7 } } } },
      round,
    )
  }
  t.equal((await app.inject({ method: 'HEAD', url: '/protected', headers })).statusCode, 200)
  t.equal(
    (await app.inject({ method: 'HEAD', url: '/protected' })).statusCode,
    401,
    'HEAD is protected like GET',
  )
  t.equal((await app.inject({ method: 'POST', url: '/protected' })).statusCode, 401)
})

t.test('tokens that are not valid are a 401 that does not say why, and a log that does', async (t) => {
  const other = await testIssuer()
  const rows: [about: string, token: string, reason: RegExp][] = [
    ['expired', await issuer.token({ expiresIn: -11 }), /JWT_EXPIRED exp/],
    ['not valid yet', await issuer.token({ claims: { nbf: 4e9 } }), /nbf/],
    ['of another issuer', await issuer.token({ claims: { iss: 'https://else.test' } }), /iss/],
    ['for another audience', await issuer.token({ claims: { aud: ['https://else.test'] } }), /aud/],
    ['an ID token', await issuer.token({ typ: 'JWT' }), /typ/],
    ['without sub', await issuer.token({ claims: { sub: undefined } }), /sub/],
    ['with a sub that is not a text', await issuer.token({ claims: { sub: 7 } }), /sub/],
    ['without exp', await issuer.token({ claims: { exp: undefined } }), /exp/],
    ['of a key that is not known', await other.token(), /no key|NO_MATCHING/],
    ['bound to a key', await issuer.token({ claims: { cnf: { jkt: 'x' } } }), /cnf/],
    ['with scopes that are no texts', await issuer.token({ claims: { scope: [1] } }), /scope/],
    ['no JWT', 'opaque', /JWS_INVALID/],
  ]
  for (const [about, token, reason] of rows) {
    const log = keepLogs()
    const app = await serviceWith({}, log)
    const answer = await app.inject({ url: '/protected', headers: { authorization: `Bearer ${token}` } })
    const detail = 'The token is not valid'
    isProblem(t, injected(answer), { status: 401, code: 'invalid-token', detail }, about)
    t.equal(
      answer.headers['www-authenticate'],
      `Bearer realm="https://api.test", error="invalid_token", error_description="${detail}"`,
      about,
    )
    t.match(
      log.lines.filter(({ msg }) => msg === 'bearer: the token is refused'),
      [{ reason }],
      about,
    )
  }
})

t.test('malformed authorization is a 400 invalid_request', async (t) => {
  const app = await serviceWith()
  const token = await issuer.token()
  for (const authorization of [
    'Bearer',
    'Bearer ',
    'bearer a b',
    'Bearer a,b',
    'Bearer ä',
    `Bearer ${'a'.repeat(16_385)}`,
  ]) {
    const answer = await app.inject({ url: '/protected', headers: { authorization } })
    isProblem(
      t,
      injected(answer),
      { status: 400, code: 'authorization-malformed' },
      authorization.slice(0, 20),
    )
    t.match(
      answer.headers['www-authenticate'],
      /^Bearer realm="https:\/\/api\.test", error="invalid_request", error_desc/,
    )
  }
  for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
    const headers = { authorization: `${scheme} ${token}` }
    t.equal(
      (await app.inject({ url: '/protected', headers })).statusCode,
      200,
      `the scheme ${scheme} has no case`,
    )
  }
})

t.test('a token in the query or in the body is not read', async (t) => {
  const app = await serviceWith()
  const token = await issuer.token()
  const query = await app.inject(`/protected?access_token=${token}`)
  isProblem(t, injected(query), { status: 401, code: 'unauthorized' })
  const headers = { 'content-type': 'application/json' }
  const body = await app.inject({
    method: 'POST',
    url: '/protected',
    headers,
    payload: { access_token: token },
  })
  isProblem(t, injected(body), { status: 401, code: 'unauthorized' })
})

t.test('a token without the scopes of the route is a 403 that names them', async (t) => {
  const app = await serviceWith()
  for (const scopes of [[], ['users:read'], ['users:read', 'users:listing']]) {
    const answer = await app.inject({ url: '/scoped', headers: await bearing({ scopes }) })
    isProblem(t, injected(answer), {
      status: 403,
      code: 'insufficient-scope',
      detail: /users:read users:list$/,
    })
    t.match(
      answer.headers['www-authenticate'],
      /error="insufficient_scope", error_description="[^"]+", scope="users:read users:list"$/,
    )
  }
  const headers = await bearing({ scopes: ['users:list', 'other', 'users:read'] })
  t.equal((await app.inject({ url: '/scoped', headers })).statusCode, 200)
})

t.test(
  'scopes of the plugin hold for routes that name none, and scopes may be a list in another claim',
  async (t) => {
    const app = await serviceWith({ scopes: ['api'], scopeClaim: 'scp' })
    const withScp = (scp: unknown) => bearing({ claims: { scp } })
    const statusOf = async (url: string, scp: unknown) =>
      (await app.inject({ url, headers: await withScp(scp) })).statusCode
    t.equal(await statusOf('/protected', ['api']), 200)
    t.equal(await statusOf('/protected', 'api'), 200)
    t.equal(await statusOf('/protected', []), 403)
    t.equal(await statusOf('/scoped', ['users:read', 'users:list']), 200, 'those of a route replace them')
    t.equal(await statusOf('/optional', []), 200, 'an optional route needs none')
  },
)

t.test('an open route reads no token, an optional one accepts callers without', async (t) => {
  const app = await serviceWith()
  const wrong = { authorization: 'Bearer wrong' }
  t.same((await app.inject({ url: '/open', headers: wrong })).json(), { caller: null })
  t.same((await app.inject('/optional')).json(), { caller: null })
  const { caller } = (await app.inject({ url: '/optional', headers: await bearing() })).json()
  t.equal(caller.subject, 'test-user')
  const answer = await app.inject({ url: '/optional', headers: wrong })
  isProblem(t, injected(answer), { status: 401, code: 'invalid-token' })
})

t.test('paths without a route need no token', async (t) => {
  const app = await serviceWith()
  isProblem(t, injected(await app.inject('/nothing')), { status: 404, code: 'not-found' })
  const wrongMethod = await app.inject({ method: 'DELETE', url: '/protected' })
  isProblem(t, injected(wrongMethod), { status: 405, code: 'method-not-allowed' })
})

const preflightHeaders = { origin: 'https://shop.test', 'access-control-request-method': 'GET' }
const preflight = { method: 'OPTIONS', url: '/everything', headers: preflightHeaders } as const

/** A service whose handlers serve OPTIONS, and who ran them. */
async function serviceWithOptions(...plugins: ((app: FastifyInstance) => PromiseLike<unknown>)[]) {
  const app = Fastify()
  const callers: unknown[] = []
  for (const plugin of plugins) await plugin(app)
  app.all('/everything', async ({ caller }) => {
    callers.push(caller?.subject)
    return {}
  })
  return { app, callers }
}

const withBearer = (app: FastifyInstance) => app.register(bearer, issuer.options)

t.test('OPTIONS needs a token, as a preflight that no CORS answers too', async (t) => {
  const { app, callers } = await serviceWithOptions(withBearer)
  t.equal((await app.inject({ method: 'OPTIONS', url: '/everything' })).statusCode, 401)
  t.equal((await app.inject(preflight)).statusCode, 401)
  const headers = { ...preflightHeaders, ...(await bearing()) }
  t.equal((await app.inject({ ...preflight, headers })).statusCode, 200)
  t.same(callers, ['test-user'])
})

t.test(
  'a preflight that the app has @fastify/cors for needs no token, unless it is left to a handler',
  async (t) => {
    const allowed = (app: FastifyInstance) => app.register(fastifyCors, { origin: 'https://shop.test' })
    const refused = (app: FastifyInstance) => app.register(fastifyCors, { origin: async () => false })
    for (const [name, plugins, status] of [
      ['answered, before', [allowed, withBearer], 204],
      ['answered, after', [withBearer, allowed], 204],
      ['left to the handler, before', [refused, withBearer], 401],
      ['left to the handler, after', [withBearer, refused], 401],
    ] as const) {
      const { app, callers } = await serviceWithOptions(...plugins)
      t.equal((await app.inject(preflight)).statusCode, status, name)
      t.same(callers, [], name)
    }
  },
)

t.test('pages of other origins can read a refusal', async (t) => {
  const app = Fastify()
  await app.register(bearer, issuer.options)
  await app.register(cors, { origin: ['https://shop.test'] })
  app.get('/protected', async () => ({}))
  const { headers, statusCode } = await app.inject({
    url: '/protected',
    headers: { origin: 'https://shop.test' },
  })
  t.equal(statusCode, 401)
  t.equal(headers['access-control-allow-origin'], 'https://shop.test')
})

t.test('the method that a POST stands for is protected', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(methodOverride)
  await app.register(bearer, issuer.options)
  app.delete('/things/:id', async () => ({ deleted: true }))
  app.post('/things/:id', { config: { bearer: false } }, async () => ({}))
  const request = {
    method: 'POST',
    url: '/things/1',
    headers: { 'x-http-method-override': 'DELETE' },
  } as const
  isProblem(t, injected(await app.inject(request)), { status: 401, code: 'unauthorized' })
  t.equal((await app.inject({ method: 'POST', url: '/things/1' })).statusCode, 200)
})

t.test('routes that are declared before the plugin are protected, too', async (t) => {
  const app = Fastify()
  await app.register(async (scope) => {
    scope.get('/early', async () => ({}))
    await scope.register(bearer, { ...issuer.options, earlierRoutes: [{ url: '/early', reason: 'a test' }] })
  })
  isProblem(t, { ...injected(await app.inject('/early')) }, { status: 401, code: 'unauthorized' })
})

t.test('a plugin in a child context protects that context only', async (t) => {
  const app = Fastify()
  app.get('/public', async (request) => ({ hasCaller: 'caller' in request }))
  await app.register(
    async (scope) => {
      await scope.register(bearer, { ...issuer.options, audience: 'https://api.test/v1' })
      scope.get('/users', async ({ caller }) => ({ subject: caller?.subject }))
    },
    { prefix: '/v1' },
  )
  t.same((await app.inject('/public')).json(), { hasCaller: false })
  t.equal((await app.inject('/v1/users')).statusCode, 401)
  const headers = await bearing({ claims: { aud: 'https://api.test/v1' } })
  t.same((await app.inject({ url: '/v1/users', headers })).json(), { subject: 'test-user' })
})

t.test('nothing of a token is in the log', async (t) => {
  const log = keepLogs('debug')
  const app = await serviceWith({}, log)
  const other = await testIssuer()
  const tokens = [
    await issuer.token({ subject: 'SECRET-SUBJECT', scopes: ['SECRET-SCOPE'] }),
    await issuer.token({ expiresIn: -100, claims: { secret: 'SECRET-CLAIM' } }),
    await issuer.token({ claims: { iss: 'SECRET-ISSUER', aud: 'SECRET-AUDIENCE' } }),
    await other.token(),
    'SECRET.SECRET.SECRET',
  ]
  for (const token of tokens) {
    for (const url of ['/protected', '/scoped']) {
      await app.inject({ url, headers: { authorization: `Bearer ${token}` } })
    }
  }
  await app.inject({ url: '/protected', headers: { authorization: 'Bearer SECRET SECRET' } })
  const text = JSON.stringify(log.lines)
  t.match(text, 'the token is refused', 'the log has the refusals')
  t.notMatch(text, 'SECRET')
  for (const token of tokens) {
    for (const part of token.split('.').slice(1)) t.notMatch(text, part)
  }
})

t.test('in report mode no response changes, and refusals are counted', async (t) => {
  const bare = Fastify()
  const reporting = Fastify()
  await reporting.register(bearer, { ...issuer.options, mode: 'report', scopes: ['api'] })
  for (const app of [bare, reporting]) {
    app.get('/v1/users', async (request) => ({ caller: 'caller' in request }))
    app.get('/v1/open', { config: { bearer: false } }, async () => ({}))
  }
  const valid = await bearing({ scopes: ['api'] })
  const requests = [
    {},
    valid,
    await bearing(),
    { authorization: 'Bearer wrong' },
    { authorization: 'Bearer' },
  ]
  for (const url of ['/v1/users', '/v1/open', '/nothing']) {
    for (const headers of requests) {
      const [expected, answer] = [
        await bare.inject({ url, headers }),
        await reporting.inject({ url, headers }),
      ]
      t.equal(answer.body, expected.body)
      t.same({ ...answer.headers, date: '' }, { ...expected.headers, date: '' })
    }
  }
  t.match(
    reporting.conventions
      .report()
      .observations.map(({ rule, route, count, status }) => [rule, route, count, status]),
    [
      ['credentials', 'GET /v1/users', 1, 401],
      ['scope', 'GET /v1/users', 1, 403],
      ['token', 'GET /v1/users', 1, 401],
      ['credentials', 'GET /v1/users', 1, 400],
    ],
  )
})

t.test('off does nothing', async (t) => {
  const app = await serviceWith({ mode: 'off' })
  t.equal((await app.inject('/protected')).statusCode, 200)
})

t.test('a cached token is refused when it expires, and handlers cannot change what it says', async (t) => {
  let now = Date.parse('2026-01-01T00:00:00Z')
  const clocked = await testIssuer({ now: () => now })
  const app = Fastify()
  await app.register(bearer, { ...clocked.options, now: () => now })
  app.get('/protected', async ({ caller }) => {
    const claims = caller?.claims as { roles: string[] }
    t.throws(() => claims.roles.push('admin'), TypeError)
    t.throws(() => Object.assign(caller as object, { subject: 'eve' }), TypeError)
    return caller
  })
  const token = await clocked.token({ expiresIn: 300, claims: { roles: ['user'] } })
  const read = async () =>
    (await app.inject({ url: '/protected', headers: { authorization: `Bearer ${token}` } })).statusCode
  t.equal(await read(), 200)
  now += 309_999
  t.equal(await read(), 200, 'within the clock tolerance')
  now += 1
  t.equal(await read(), 401)
})

t.test('hooks that run before see the caller of a token that is cached', async (t) => {
  const app = Fastify()
  const seen: unknown[] = []
  app.addHook('onRequest', async (request) => void seen.push(knownSubject.get(request.server)?.(request)))
  await app.register(bearer, issuer.options)
  app.get('/protected', async ({ caller }) => ({ subject: caller?.subject }))
  const headers = await bearing({ subject: 'ada' })
  for (let round = 0; round < 2; round += 1)
    t.same((await app.inject({ url: '/protected', headers })).json(), { subject: 'ada' })
  await app.inject({ url: '/protected', headers: { authorization: 'Bearer x' } })
  await app.inject('/protected')
  t.same(seen, [null, 'ada', null, null])
})

t.test('responses of protected routes vary by Authorization and are private', async (t) => {
  for (const order of [
    [bearer, caching],
    [caching, bearer],
  ]) {
    const app = Fastify()
    await app.register(problems)
    for (const plugin of order)
      await app.register(plugin as typeof bearer, plugin === bearer ? issuer.options : ({} as never))
    const config = { caching: { vary: ['accept-language'] } }
    app.get('/v1/users', { config }, async () => ({}))
    app.get('/v1/open', { config: { ...config, bearer: false } }, async () => ({}))
    const { headers } = await app.inject({ url: '/v1/users', headers: await bearing() })
    t.match(headers, { vary: 'accept-language, authorization', 'cache-control': 'no-cache, private' })
    t.match((await app.inject('/v1/open')).headers, { vary: 'accept-language', 'cache-control': 'no-cache' })
  }
})

t.test('a protected route that shared caches may store does not boot', async (t) => {
  const build = async (config: { caching: CachingOptions; bearer?: false }) => {
    const app = Fastify()
    await app.register(bearer, issuer.options)
    await app.register(caching)
    app.get('/v1/users', { config }, async () => ({}))
    return app
  }
  for (const cacheControl of [{ public: true, maxAge: 60 }, { sMaxAge: 60 }]) {
    const app = await build({ caching: { cacheControl } })
    await t.rejects(async () => app.ready(), {
      message: /GET \/v1\/users +caching\.private +callers are auth/,
    })
    await (await build({ caching: { cacheControl }, bearer: false })).ready()
  }
})

t.test('operations belong to the caller of the token', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(bearer, issuer.options)
  await app.register(operations, { drain: 0, unwind: 0 })
  app.operations.define('work', async () => {})
  app.post('/v1/work', async (_request, reply) => reply.startOperation('work'))
  t.teardown(() => app.close())
  const [ada, eve] = [await bearing({ subject: 'ada' }), await bearing({ subject: 'eve' })]
  const { headers } = await app.inject({ method: 'POST', url: '/v1/work', headers: ada })
  const url = `${headers.location}/status`
  t.equal((await app.inject({ url, headers: ada })).statusCode, 200)
  t.equal((await app.inject({ url, headers: eve })).statusCode, 404)
  t.equal((await app.inject(url)).statusCode, 401)
  t.equal(
    (await app.inject({ url: '/v1/operations', headers: ada })).json().operations.length,
    1,
    'their list exists',
  )
  t.same(app.conventions.report().findings, [])
})

t.test('operations whose callers are not known are a finding that does not stop the boot', async (t) => {
  const app = Fastify()
  await app.register(operations)
  app.operations.define('work', async () => {})
  t.teardown(() => app.close())
  await app.ready()
  t.match(app.conventions.report().findings, [
    { plugin: 'operations', rule: 'identify', mode: 'report', problem: /all callers who know the id/ },
  ])
})

t.test('a token that names none of several keys is refused', async (t) => {
  const pairs = await Promise.all([1, 2].map(() => generateKeyPair('ES256')))
  const keys = await Promise.all(pairs.map(({ publicKey }) => exportJWK(publicKey)))
  const app = await serviceWith({ jwks: { keys } })
  const signer = new SignJWT(decodeJwt(await issuer.token())).setProtectedHeader({
    alg: 'ES256',
    typ: 'at+jwt',
  })
  const token = await signer.sign((pairs[0] as (typeof pairs)[number]).privateKey)
  const answer = await app.inject({ url: '/protected', headers: { authorization: `Bearer ${token}` } })
  isProblem(t, injected(answer), { status: 401, code: 'invalid-token' })
})

t.test('a key that the issuer has removed: its cached tokens are refused after 10 minutes', async (t) => {
  const clock = manualClock('2026-01-01T00:00:00Z')
  const { now, schedule } = clock
  const [one, two] = [await testIssuer({ now }), await testIssuer({ now })]
  let fetches = 0
  const published = { keys: one.options.jwks.keys }
  const app = await serviceWith({
    jwks: undefined,
    jwksUri: 'https://id.test/jwks',
    fetch: async () => {
      fetches += 1
      return Response.json(published)
    },
    now,
    schedule,
  } as object)
  const token = await one.token({ expiresIn: 3600 })
  const read = async () =>
    (await app.inject({ url: '/protected', headers: { authorization: `Bearer ${token}` } })).statusCode
  t.equal(await read(), 200)
  published.keys = two.options.jwks.keys
  clock.skip(10 * 60_000 - 1)
  t.equal(await read(), 200)
  t.equal(fetches, 1)
  clock.skip(1)
  t.equal(await read(), 401)
  t.equal(fetches, 2)
})

t.test('a verification that began before the keys changed is not kept', async (t) => {
  const verified = { caller: { subject: 'ada', scopes: [], claims: {} }, verifyAgainAt: 1 }
  let finish = () => {}
  const tokens = tokenCache(
    () =>
      new Promise((resolve) => {
        finish = () => resolve(verified)
      }),
    () => 0,
  )
  const begun = tokens.get('token')
  tokens.clear()
  finish()
  t.equal(await begun, verified)
  t.equal(tokens.known('token'), null)
  const again = tokens.get('token')
  finish()
  await again
  t.equal(tokens.known('token'), verified)
})

t.test(
  'the OpenAPI document has the security scheme, and each route its requirement and refusals',
  async (t) => {
    const schema = { response: { 200: { type: 'object', properties: {} } } }
    async function documentOf(
      plugins: readonly ('swagger' | 'bearer')[],
      options: Partial<BearerOptions> = {},
      own = {},
      openapi = '3.1.0',
    ) {
      const app = Fastify()
      for (const plugin of plugins) {
        if (plugin === 'bearer')
          await app.register(bearer, { ...issuer.options, scopes: ['api'], ...options })
        else await app.register(swagger, { openapi: { openapi, components: { securitySchemes: own } } })
      }
      app.get('/v1/users', { schema }, async () => ({}))
      app.get('/v1/plain', async () => ({}))
      app.get('/v1/optional', { schema, config: { bearer: { optional: true } } }, async () => ({}))
      app.get('/v1/open', { schema, config: { bearer: false } }, async () => ({}))
      await app.ready()
      const { paths, components } = app.swagger() as unknown as {
        paths: Record<string, { get: { security: unknown; responses: object } }>
        components: { securitySchemes?: Record<string, unknown> }
      }
      const routes = Object.entries(paths).map(([path, { get }]) => [
        path,
        get.security,
        Object.keys(get.responses).sort().join(' '),
      ])
      return { schemes: components.securitySchemes, routes }
    }

    const described = await documentOf(['swagger', 'bearer'])
    t.match(described.schemes, {
      bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: /issuer\.test/ },
    })
    const routes = [
      ['/v1/users', [{ bearer: ['api'] }], '200 400 401 403 503'],
      ['/v1/plain', [{ bearer: ['api'] }], '200 400 401 403 503'],
      ['/v1/optional', [{}, { bearer: [] }], '200 400 401 503'],
      ['/v1/open', [], '200'],
    ]
    t.same(described.routes, routes)
    const opaque = { jwks: undefined, introspection: { clientId: 'a', clientSecret: 'b' } }
    const { schemes: ofOpaque } = await documentOf(['swagger', 'bearer'], opaque as object)
    t.notOk('bearerFormat' in ((ofOpaque?.bearer ?? {}) as object), 'an opaque token has no format')
    const openIdConnectUrl = 'https://issuer.test/.well-known/openid-configuration'
    const own = { bearer: { type: 'openIdConnect', openIdConnectUrl } }
    const withOwn = await documentOf(['swagger', 'bearer'], {}, own, '3.0.3')
    t.same(withOwn.schemes, own, 'a scheme of the app stays')
    t.same(withOwn.routes, routes, 'OpenAPI 3.0 allows scopes there')
    const old = await documentOf(['swagger', 'bearer'], {}, {}, '3.0.3')
    t.same(
      old.routes.map(([, security]) => security),
      [[{ bearer: [] }], [{ bearer: [] }], [{}, { bearer: [] }], []],
      'OpenAPI 3.0 allows no scopes of the type http',
    )
    const named = await documentOf(['bearer', 'swagger'], { securityScheme: 'tokens' })
    t.same(Object.keys(named.schemes ?? {}), ['tokens'])
    t.same(named.routes[0], ['/v1/users', [{ tokens: ['api'] }], '200 400 401 403 503'])
    t.same(await documentOf(['bearer', 'swagger']), described, 'in any order of the plugins')
    t.same(
      (await documentOf(['swagger', 'bearer'], { mode: 'report' })).schemes,
      {},
      'report mode leaves the document alone',
    )
  },
)

t.test('invalid options are refused', async (t) => {
  const { issuer: url, audience } = issuer.options
  const rows: readonly (readonly [options: object, message: RegExp])[] = [
    [{ issuer: undefined }, /bearer\.issuer: expected an absolute URL/],
    [{ audience: undefined }, /bearer\.audience\[0\]: expected an audience such as/],
    [{ audience: [] }, /bearer\.audience: expected at least one/],
    [{ issuer: 'id.test' }, /bearer\.issuer: expected an absolute URL/],
    [{ issuer: 'http://id.test' }, /bearer\.issuer: expected an https URL, or http on the loopback/],
    [{ issuer: 'http://127.0.0.1.evil.test' }, /bearer\.issuer: expected an https URL/],
    [{ issuer: 'https://a:b@id.test' }, /bearer\.issuer: expected an absolute URL/],
    [{ jwksUri: 'http://id.test/jwks' }, /bearer\.jwksUri: expected an https URL/],
    [{ algorithms: ['none'] }, /bearer\.algorithms\[0\]: expected one of 'RS256'/],
    [{ algorithms: ['ES256', 'HS256'] }, /bearer\.algorithms\[1\]/],
    [{ algorithms: [] }, /bearer\.algorithms: expected at least one/],
    [{ jwks: { keys: [] } }, /bearer\.jwks: expected an object with keys: public keys/],
    [{ jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } }, /bearer\.jwks: .* received 'object'/],
    [{ jwks: { keys: [{ kty: 'EC', d: 'AAAA' }] } }, /bearer\.jwks/],
    [
      { jwks: issuer.options.jwks, jwksUri: 'https://id.test/jwks' },
      /bearer: expected one of jwksUri, jwks and intro/,
    ],
    [
      { introspection: { clientId: 'a' } },
      /bearer\.introspection\.clientSecret: expected a non-empty string/,
    ],
    [{ introspection: { clientId: 'a', clientSecret: 7 } }, /clientSecret: .* received 'number'/],
    [
      { introspection: { clientId: 'a', clientSecret: 'b', cacheFor: 5 } },
      /cacheFor: expected at least a second/,
    ],
    [{ scopes: ['a b'] }, /bearer\.scopes\[0\]: expected a scope/],
    [{ tokens: 1 }, /bearer\.tokens: there is no such option/],
  ]
  for (const [options, message] of rows) {
    const all = { issuer: url, audience, ...options }
    await t.rejects(async () => Fastify().register(bearer, all as BearerOptions), { message })
  }
  const app = await serviceWith()
  const routes: readonly (readonly [own: unknown, message: RegExp])[] = [
    [true, /GET \/x config\.bearer: expected an object or false/],
    [{ scope: 'a' }, /config\.bearer\.scope: there is no such option/],
    [{ scopes: 'a' }, /config\.bearer\.scopes: expected an array/],
    [
      { optional: true, scopes: ['a'] },
      /config\.bearer\.scopes: expected no scopes on a route whose token is optional/,
    ],
  ]
  for (const [own, message] of routes)
    t.throws(() => app.get('/x', { config: { bearer: own as false } }, async () => ({})), { message })
})
