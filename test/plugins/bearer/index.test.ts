/** Access tokens: RFC 6750, RFC 9068. No token of an attacker is accepted, and none is an error of the server. */
import { generateKeyPairSync } from 'node:crypto'
import fastifyCors from '@fastify/cors'
import swagger from '@fastify/swagger'
import fc from 'fast-check'
import Fastify, { type FastifyInstance } from 'fastify'
import { base64url, decodeJwt, SignJWT, UnsecuredJWT } from 'jose'
import t from 'tap'
import { knownSubject } from '../../../src/convention/caller.js'
import { type BearerOptions, bearer, caching, methodOverride, problems } from '../../../src/index.js'
import { tokenCache } from '../../../src/plugins/bearer/tokens.js'
import { type TestTokenOptions, testIssuer } from '../../../src/testing/index.js'
import { appOf } from '../../support/app.js'
import { keepLogs, levels } from '../../support/logs.js'
import { manualClock } from '../../support/manual-clock.js'
import { documentOf } from '../../support/openapi.js'
import { headerOf, injected, isProblem } from '../../support/problem.js'

const issuer = await testIssuer()

/** A service with a protected route, one with a scope, one that is open, and one that knows callers if it can. */
async function serviceWith(options: Partial<BearerOptions> = {}, log = keepLogs()): Promise<FastifyInstance> {
  const app = Fastify({ logger: log.logger })
  await app.register(problems)
  await app.register(bearer, { ...issuer.options, ...options })
  app.get('/protected', async ({ caller }) => ({ caller }))
  app.post('/protected', async ({ caller }) => ({ caller }))
  const scoped = { config: { bearer: { scopes: ['users:read', 'users:list'] } } }
  app.get('/scoped', scoped, async ({ caller }) => ({ caller }))
  app.get('/open', { config: { bearer: false } }, async ({ caller }) => ({ caller }))
  app.get('/optional', { config: { bearer: { optional: true } } }, async ({ caller }) => ({ caller }))
  return app
}

async function bearing(options?: TestTokenOptions) {
  return { authorization: `Bearer ${await issuer.token(options)}` }
}

/** Asks for `/protected` with a token. */
async function ask(app: FastifyInstance, token: string, scheme = 'Bearer') {
  return injected(await app.inject({ url: '/protected', headers: { authorization: `${scheme} ${token}` } }))
}

t.test('a request without a token in its header is a 401 whose challenge has no error code', async (t) => {
  const app = await serviceWith()
  const access_token = await issuer.token()
  for (const request of [
    {},
    ...['', 'Basic bearer a', 'Bearerx'].map((authorization) => ({ headers: { authorization } })),
    { url: `/protected?access_token=${access_token}` },
    { method: 'POST', payload: { access_token } } as const,
  ]) {
    const answer = await app.inject({ url: '/protected', ...request })
    isProblem(t, injected(answer), { status: 401, code: 'unauthorized' })
    t.equal(answer.headers['www-authenticate'], 'Bearer realm="https://api.test"')
    t.equal(answer.headers['cache-control'], 'no-store')
  }
  const { headers } = await app.inject('/scoped')
  t.match(headers['www-authenticate'], ', scope="users:read users:list"', 'it names the scopes to ask for')
})

t.test('a weak or broken key of the issuer is a 401 for its tokens, with one warning', async (t) => {
  const { publicKey: weak } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const unusable = [
    { ...weak.export({ format: 'jwk' }), kid: 'weak', alg: 'RS256' },
    { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA', kid: 'broken', alg: 'ES256' },
    { kty: 'RSA', kid: 'empty', alg: 'PS256' },
  ]
  const keys = [...issuer.options.jwks.keys, ...unusable]
  const fetch = async () => Response.json({ keys })
  const base64 = (part: object) => base64url.encode(JSON.stringify(part))
  for (const options of [{ jwks: { keys } }, { jwks: undefined, jwksUri: 'https://id.test/jwks', fetch }]) {
    const log = keepLogs()
    const app = await serviceWith(options as Partial<BearerOptions>, log)
    for (const { alg, kid } of [...unusable, ...unusable]) {
      const token = `${base64({ alg, kid, typ: 'at+jwt' })}.${base64({ sub: 'eve' })}.AAAA`
      isProblem(t, await ask(app, token), { status: 401, code: 'invalid-token' }, kid)
    }
    t.equal((await app.inject({ url: '/protected', headers: await bearing() })).statusCode, 200)
    const warned = log.lines.flatMap(({ level, kid }) => (level === levels.warn ? [kid] : []))
    t.strictSame(warned, ['weak', 'broken', 'empty'])
  }
})

t.test('a valid token identifies the caller', async (t) => {
  const app = await serviceWith()
  const headers = await bearing({ subject: 'ada', scopes: ['a', '', 'b'], claims: { tenant: { id: 7 } } })
  const caller = { subject: 'ada', scopes: ['a', 'b'], claims: { sub: 'ada', tenant: { id: 7 } } }
  for (const round of ['verified', 'from the cache'])
    t.match((await app.inject({ url: '/protected', headers })).json(), { caller }, round)
  for (const method of ['HEAD', 'POST'] as const)
    t.equal((await app.inject({ method, url: '/protected' })).statusCode, 401, method)
  t.equal((await app.inject({ method: 'HEAD', url: '/protected', headers })).statusCode, 200)
})

t.test('tokens that are not valid are a 401 that does not say why, and a log that does', async (t) => {
  const other = await testIssuer()
  const log = keepLogs()
  const app = await serviceWith({}, log)
  const withClaims = (claims: Record<string, unknown>) => issuer.token({ claims })
  const detail = 'The token is not valid'
  const rows: [about: string, token: string, reason: RegExp][] = [
    ['expired', await issuer.token({ expiresIn: -11 }), /JWT_EXPIRED exp/],
    ['not valid yet', await withClaims({ nbf: 4e9 }), /nbf/],
    ['of another issuer', await withClaims({ iss: 'https://else.test' }), /iss/],
    ['for another audience', await withClaims({ aud: ['https://else.test'] }), /aud/],
    ['an ID token', await issuer.token({ typ: 'JWT' }), /typ/],
    ['without sub', await withClaims({ sub: undefined }), /sub/],
    ['with a sub that is not a text', await withClaims({ sub: 7 }), /sub/],
    ['with an empty sub', await withClaims({ sub: '' }), /sub/],
    ['without exp', await withClaims({ exp: undefined }), /exp/],
    ['of a key that is not known', await other.token(), /no key|NO_MATCHING/],
    ['bound to a key', await withClaims({ cnf: { jkt: 'x' } }), /cnf/],
    ['with scopes that are no texts', await withClaims({ scope: [1] }), /scope/],
    ['no JWT', 'opaque', /JWS_INVALID/],
  ]
  for (const [about, token, reason] of rows) {
    log.lines.length = 0
    const answer = await ask(app, token)
    isProblem(t, answer, { status: 401, code: 'invalid-token', detail }, about)
    const challenge = `Bearer realm="https://api.test", error="invalid_token", error_description="${detail}"`
    t.equal(headerOf(answer, 'www-authenticate'), challenge, about)
    const told = log.lines.filter(({ msg }) => msg === 'bearer: the token is refused')
    t.match(told, { length: 1, 0: { reason } }, about)
  }
})

t.test('malformed authorization is a 400 invalid_request; the scheme has no case', async (t) => {
  const app = await serviceWith()
  const challenge = /^Bearer realm="https:\/\/api\.test", error="invalid_request", error_desc/
  const long = `Bearer ${'a'.repeat(16_385)}`
  for (const authorization of ['Bearer', 'Bearer ', 'bearer a b', 'Bearer a,b', 'Bearer ä', long]) {
    const answer = await app.inject({ url: '/protected', headers: { authorization } })
    const expected = { status: 400, code: 'authorization-malformed' }
    isProblem(t, injected(answer), expected, authorization.slice(0, 20))
    t.match(answer.headers['www-authenticate'], challenge)
  }
  for (const scheme of ['bearer', 'BEARER', 'Bearer  '])
    t.equal((await ask(app, await issuer.token(), scheme)).status, 200, scheme)
})

t.test('a token without the scopes of the route is a 403 that names them', async (t) => {
  const app = await serviceWith()
  const expected = { status: 403, code: 'insufficient-scope', detail: /users:read users:list$/ }
  const challenge = /error="insufficient_scope", error_description="[^"]+", scope="users:read users:list"$/
  for (const scopes of [[], ['users:read'], ['users:read', 'users:listing']]) {
    const answer = await app.inject({ url: '/scoped', headers: await bearing({ scopes }) })
    isProblem(t, injected(answer), expected)
    t.match(answer.headers['www-authenticate'], challenge)
  }
  const headers = await bearing({ scopes: ['users:list', 'other', 'users:read'] })
  t.equal((await app.inject({ url: '/scoped', headers })).statusCode, 200)
})

t.test('scopes of the plugin hold for routes that name none; another claim may list them', async (t) => {
  const app = await serviceWith({ scopes: ['api'], scopeClaim: 'scp' })
  for (const [url, scp, status] of [
    ['/protected', ['api'], 200],
    ['/protected', 'api', 200],
    ['/protected', [], 403],
    // Those of a route replace them, and an optional route needs none.
    ['/scoped', ['users:read', 'users:list'], 200],
    ['/optional', [], 200],
  ] as const) {
    const { statusCode } = await app.inject({ url, headers: await bearing({ claims: { scp } }) })
    t.equal(statusCode, status, `${url} ${scp}`)
  }
})

t.test('an open route reads no token, an optional one accepts callers without', async (t) => {
  const app = await serviceWith()
  const wrong = { authorization: 'Bearer wrong' }
  for (const [url, headers, body] of [
    ['/open', wrong, { caller: null }],
    ['/optional', {}, { caller: null }],
    ['/optional', await bearing(), { caller: { subject: 'test-user' } }],
  ] as const)
    t.match((await app.inject({ url, headers })).json(), body, url)
  const refused = injected(await app.inject({ url: '/optional', headers: wrong }))
  isProblem(t, refused, { status: 401, code: 'invalid-token' })
  t.equal((await app.inject('/nothing')).statusCode, 404, 'a path without a route needs no token')
  t.equal((await app.inject({ method: 'DELETE', url: '/protected' })).statusCode, 405)
})

t.test('OPTIONS needs a token, except for a preflight that @fastify/cors answers', async (t) => {
  const headers = { origin: 'https://shop.test', 'access-control-request-method': 'GET' }
  for (const [origin, status] of [
    ['https://shop.test', 204],
    [false, 401],
  ] as const) {
    const app = await serviceWith()
    await app.register(fastifyCors, { origin })
    app.all('/everything', async ({ caller }) => ({ caller }))
    const request = { method: 'OPTIONS', url: '/everything' } as const
    t.equal((await app.inject({ ...request, headers })).statusCode, status)
    t.equal((await app.inject(request)).statusCode, 401, 'not a preflight')
    if (origin !== false) continue
    const answer = await app.inject({ ...request, headers: { ...headers, ...(await bearing()) } })
    t.match(answer.json(), { caller: { subject: 'test-user' } })
  }
})

t.test('the method that a POST stands for is protected', async (t) => {
  const app = await appOf(methodOverride, [bearer, issuer.options])
  app.delete('/things/:id', async () => ({ deleted: true }))
  app.post('/things/:id', { config: { bearer: false } }, async () => ({}))
  const headers = { 'x-http-method-override': 'DELETE' }
  const asked = { method: 'POST', url: '/things/1' } as const
  t.equal((await app.inject(asked)).statusCode, 200)
  t.equal((await app.inject({ ...asked, headers })).statusCode, 401)
})

t.test('a plugin in a child context protects that context only, and routes before it too', async (t) => {
  const app = Fastify()
  app.get('/public', async (request) => ({ hasCaller: 'caller' in request }))
  const audience = 'https://api.test/v1'
  await app.register(async (scope) => {
    scope.get('/v1/early', async () => ({}))
    const earlierRoutes = [{ url: '/v1/early', reason: 'a test' }]
    await scope.register(bearer, { ...issuer.options, audience, earlierRoutes })
    scope.get('/v1/users', async ({ caller }) => ({ subject: caller?.subject }))
  })
  t.same((await app.inject('/public')).json(), { hasCaller: false })
  for (const url of ['/v1/users', '/v1/early'])
    isProblem(t, injected(await app.inject(url)), { status: 401, code: 'unauthorized' }, url)
  const headers = await bearing({ claims: { aud: audience } })
  t.same((await app.inject({ url: '/v1/users', headers })).json(), { subject: 'test-user' })
})

t.test('nothing of a token is in the log', async (t) => {
  const log = keepLogs('debug')
  const app = await serviceWith({}, log)
  const tokens = [
    await issuer.token({ subject: 'SECRET-SUBJECT', scopes: ['SECRET-SCOPE'] }),
    await issuer.token({ expiresIn: -100, claims: { secret: 'SECRET-CLAIM' } }),
    await issuer.token({ claims: { iss: 'SECRET-ISSUER', aud: 'SECRET-AUDIENCE' } }),
    await (await testIssuer()).token(),
    'SECRET.SECRET.SECRET',
  ]
  for (const token of [...tokens, 'SECRET SECRET'])
    await app.inject({ url: '/scoped', headers: { authorization: `Bearer ${token}` } })
  const text = JSON.stringify(log.lines)
  t.match(text, 'the token is refused', 'the log has the refusals')
  for (const part of ['SECRET', ...tokens.flatMap((token) => token.split('.').slice(1))])
    t.notMatch(text, part)
})

t.test('in report mode no response changes, and refusals are counted; off does nothing', async (t) => {
  const wrong = ['Bearer wrong', 'Bearer'].map((authorization) => ({ authorization }))
  const requests = [{}, await bearing({ scopes: ['api'] }), await bearing(), ...wrong]
  const counted = [
    ['credentials', 'GET /users', 1, 401],
    ['scope', 'GET /users', 1, 403],
    ['token', 'GET /users', 1, 401],
    ['credentials', 'GET /users', 1, 400],
  ]
  const answersOf = async (app: FastifyInstance) => {
    app.get('/users', async (request) => ({ hasCaller: 'caller' in request }))
    app.get('/open', { config: { bearer: false } }, async () => ({}))
    const answers: object[] = []
    for (const headers of requests)
      for (const url of ['/users', '/open', '/nothing']) {
        const { statusCode, headers: sent, body } = await app.inject({ url, headers })
        answers.push({ statusCode, body, headers: { ...sent, date: '' } })
      }
    return answers
  }
  const bare = await answersOf(Fastify())
  for (const mode of ['report', 'off'] as const) {
    const app = await appOf([bearer, { ...issuer.options, mode, scopes: ['api'] }])
    t.strictSame(await answersOf(app), bare)
    const told = app.conventions.report().observations
    const rows = told.map(({ rule, route, count, status }) => [rule, route, count, status])
    t.strictSame(rows, mode === 'report' ? counted : [])
  }
})

t.test('a cached token is refused when it expires, and handlers cannot change what it says', async (t) => {
  let now = Date.parse('2026-01-01T00:00:00Z')
  const clocked = await testIssuer({ now: () => now })
  const app = await serviceWith({ ...clocked.options, now: () => now })
  app.get('/own', async ({ caller }) => {
    const claims = caller?.claims as { roles: string[] }
    t.throws(() => claims.roles.push('admin'), TypeError)
    t.throws(() => Object.assign(caller as object, { subject: 'eve' }), TypeError)
    return caller
  })
  const token = await clocked.token({ expiresIn: 300, claims: { roles: ['user'] } })
  const own = { url: '/own', headers: { authorization: `Bearer ${token}` } }
  t.equal((await app.inject(own)).statusCode, 200)
  now += 309_999
  t.equal((await app.inject(own)).statusCode, 200)
  t.equal((await ask(app, token)).status, 200, 'within the clock tolerance')
  now += 1
  t.equal((await ask(app, token)).status, 401)
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
  for (const isFirst of [true, false]) {
    const own = [bearer, issuer.options] as const
    const app = await (isFirst ? appOf(own, caching) : appOf(caching, own))
    const config = { caching: { vary: ['accept-language'] } }
    app.get('/v1/users', { config }, async () => ({}))
    app.get('/v1/open', { config: { ...config, bearer: false } }, async () => ({}))
    const { headers } = await app.inject({ url: '/v1/users', headers: await bearing() })
    t.match(headers, { vary: 'accept-language, authorization', 'cache-control': 'no-cache, private' })
    t.match((await app.inject('/v1/open')).headers, { vary: 'accept-language', 'cache-control': 'no-cache' })
  }
})

t.test('a protected route that shared caches may store does not boot', async (t) => {
  for (const cacheControl of [{ public: true, maxAge: 60 }, { sMaxAge: 60 }]) {
    const app = await appOf([bearer, issuer.options], caching)
    app.get('/v1/open', { config: { caching: { cacheControl }, bearer: false } }, async () => ({}))
    app.get('/v1/users', { config: { caching: { cacheControl } } }, async () => ({}))
    const message = /(?<!open.*)GET \/v1\/users +caching\.private +callers are auth(?!.*open)/s
    await t.rejects(async () => app.ready(), { message })
  }
})

t.test('a key that the issuer has removed: its cached tokens are refused after 10 minutes', async (t) => {
  const clock = manualClock('2026-01-01T00:00:00Z')
  const { now, schedule } = clock
  const [one, two] = [await testIssuer({ now }), await testIssuer({ now })]
  let fetches = 0
  const published = { keys: one.options.jwks.keys }
  const fetch = async () => {
    fetches += 1
    return Response.json(published)
  }
  const remote = { jwks: undefined, jwksUri: 'https://id.test/jwks', fetch, now, schedule }
  const app = await serviceWith(remote as object)
  const token = await one.token({ expiresIn: 3600 })
  t.equal((await ask(app, token)).status, 200)
  published.keys = two.options.jwks.keys
  clock.skip(10 * 60_000 - 1)
  t.equal((await ask(app, token)).status, 200)
  t.equal(fetches, 1)
  clock.skip(1)
  t.equal((await ask(app, token)).status, 401)
  t.equal(fetches, 2)
})

t.test('a verification that began before the keys changed is not kept', async (t) => {
  const verified = { caller: { subject: 'ada', scopes: [], claims: {} }, verifyAgainAt: 1 }
  let finish = () => {}
  const verify = () =>
    new Promise<typeof verified>((resolve) => {
      finish = () => resolve(verified)
    })
  const tokens = tokenCache(verify, () => 0)
  const begun = tokens.get('token')
  tokens.clear()
  finish()
  t.equal(await begun, verified)
  t.equal(tokens.known('token'), undefined)
  const again = tokens.get('token')
  finish()
  await again
  t.equal(tokens.known('token'), verified)
})

t.test('the OpenAPI document has the scheme, and each route its requirement and refusals', async (t) => {
  const schema = { response: { 200: { type: 'object', properties: {} } } }
  async function documentWith(options: object = {}, own = {}, openapi = '3.1.0') {
    const app = Fastify()
    await app.register(bearer, { ...issuer.options, scopes: ['api'], ...options })
    await app.register(swagger, { openapi: { openapi, components: { securitySchemes: own } } })
    app.get('/users', { schema }, async () => ({}))
    app.get('/plain', async () => ({}))
    app.get('/optional', { schema, config: { bearer: { optional: true } } }, async () => ({}))
    app.get('/open', { schema, config: { bearer: false } }, async () => ({}))
    app.get('/own', { schema: { security: [] } }, async () => ({}))
    const { paths = {}, components } = await documentOf(app)
    const operations = Object.values(paths).map(({ get }) => get)
    const securities = operations.map((one) => one?.security)
    const statuses = operations.map((one) => Object.keys(one?.responses ?? {}).join(' '))
    const ofUsers = operations[0]?.responses
    return { schemes: components?.securitySchemes ?? {}, securities, statuses, ofUsers }
  }

  const described = await documentWith()
  const withScopes = [[{ bearer: ['api'] }], [{ bearer: ['api'] }], [{}, { bearer: [] }], [], []]
  t.match(described, {
    schemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: /issuer\.test/ } },
    securities: withScopes,
    statuses: ['200 400 401 403 503', '200 400 401 403 503', '200 400 401 503', '200', '200 400 401 403 503'],
  })
  const challenge = { headers: { 'WWW-Authenticate': { schema: { type: 'string' } } } }
  const of401 = { ...challenge, description: /no token/ }
  t.match(described.ofUsers, { 400: challenge, 401: of401, 403: challenge })
  const opaque = { jwks: undefined, introspection: { clientId: 'a', clientSecret: 'b' } }
  const { schemes } = await documentWith(opaque)
  t.notMatch(schemes, { bearer: { bearerFormat: /./ } }, 'an opaque token has no format')
  const openIdConnectUrl = 'https://issuer.test/.well-known/openid-configuration'
  const own = { bearer: { type: 'openIdConnect', openIdConnectUrl } }
  // OpenAPI 3.0 allows scopes there, and not in the type http.
  t.match(await documentWith({}, own, '3.0.3'), { schemes: own, securities: withScopes })
  const withoutScopes = [[{ bearer: [] }], [{ bearer: [] }], [{}, { bearer: [] }], [], []]
  t.same((await documentWith({}, {}, '3.0.3')).securities, withoutScopes)
  const named = await documentWith({ securityScheme: 'tokens' })
  t.same([Object.keys(named.schemes), named.securities[0]], [['tokens'], [{ tokens: ['api'] }]])
  t.same((await documentWith({ mode: 'report' })).schemes, {}, 'report mode leaves the document alone')
})

t.test('invalid options are refused', async (t) => {
  const { issuer: url, audience, jwks } = issuer.options
  const jwksUri = 'https://id.test/jwks'
  const client = { clientId: 'a', clientSecret: 'b' }
  for (const [options, message] of [
    [{ issuer: undefined }, /bearer\.issuer: expected an absolute URL/],
    [{ audience: undefined }, /bearer\.audience\[0\]: expected an audience such as/],
    [{ audience: [] }, /bearer\.audience: expected at least one/],
    [{ issuer: 'http://id.test' }, /bearer\.issuer: expected an https URL, or http on the loopback/],
    [{ issuer: 'https://a@id.test' }, /bearer\.issuer: expected an absolute URL/],
    [{ issuer: 'https://id.test/#a' }, /bearer\.issuer: expected an absolute URL/],
    [{ issuer: 'xhttps://id.test' }, /bearer\.issuer: expected an absolute URL/],
    [{ issuer: 'http://127.0.0.1.evil.test' }, /bearer\.issuer: expected an https URL/],
    [{ issuer: 'http://my-localhost' }, /bearer\.issuer: expected an https URL/],
    [{ securityScheme: 'a b' }, /bearer\.securityScheme: expected a name/],
    [{ scopes: ['a"b'] }, /bearer\.scopes\[0\]: expected a scope/],
    [{ jwksUri: 'http://id.test/jwks' }, /bearer\.jwksUri: expected an https URL/],
    [{ algorithms: ['ES256', 'none'] }, /bearer\.algorithms\[1\]: expected one of 'RS256'/],
    [{ algorithms: [] }, /bearer\.algorithms: expected at least one/],
    [{ jwks: { keys: [] } }, /bearer\.jwks: expected an object with keys: public keys/],
    [{ jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } }, /bearer\.jwks: .* received 'object'/],
    [{ jwks: { keys: [{ kty: 'EC', d: 'AAAA' }] } }, /bearer\.jwks/],
    [{ jwks, jwksUri }, /bearer: expected one of jwksUri, jwks and intro/],
    [{ introspection: { clientId: 'a' } }, /introspection\.clientSecret: expected a non-empty string/],
    [{ introspection: { ...client, cacheFor: 5 } }, /cacheFor: expected at least a second/],
  ] as const) {
    const all = { issuer: url, audience, ...(options as object) }
    await t.rejects(async () => Fastify().register(bearer, all as BearerOptions), { message })
  }
  const loopback = ['http://localhost:1', 'http://id.localhost', 'http://[::1]', 'http://127.1.2.3']
  for (const url of loopback) await Fastify().register(bearer, { issuer: url, audience, jwks })
  await Fastify().register(bearer, { issuer: 'http://id.test', audience, jwks, allowHttp: true })
  const app = await serviceWith()
  const config = { bearer: { optional: true, scopes: ['a'] } }
  const message = /^GET \/x config\.bearer\.scopes: expected no scopes on a route whose token is optional/
  t.throws(() => app.get('/x', { config }, async () => ({})), { message })
})

/** The status of a request to `/protected` with an `Authorization`. */
async function statusBy(options: Partial<BearerOptions> = {}) {
  const app = await serviceWith(options)
  return async (authorization: string): Promise<number> =>
    (await app.inject({ url: '/protected', headers: { authorization } })).statusCode
}

const valid = await issuer.token({ scopes: ['a'] })

t.test('no change of a token is accepted', async (t) => {
  const statusOf = await statusBy()
  t.equal(await statusOf(`Bearer ${valid}`), 200)
  // The last character of the signature has bits without a meaning.
  const position = fc.integer({ min: 0, max: valid.length - 2 })
  const character = fc.constantFrom(...'AZaz09-_.=+/~')
  await fc.assert(
    fc.asyncProperty(position, character, async (at, replaced) => {
      fc.pre(valid[at] !== replaced)
      const status = await statusOf(`Bearer ${valid.slice(0, at)}${replaced}${valid.slice(at + 1)}`)
      return status === 401 || status === 400
    }),
    { numRuns: 300 },
  )
})

t.test('no header field is an error of the server', async () => {
  const statusOf = await statusBy()
  const text = fc.string({ unit: fc.constantFrom(...'Bearer .=,"\t~aZ09-_'), maxLength: 200 })
  const json = fc.json().map((value) => base64url.encode(value))
  const token = fc.tuple(json, json, json).map((parts) => `Bearer ${parts.join('.')}`)
  await fc.assert(
    fc.asyncProperty(fc.oneof(text, token), async (authorization) => {
      const status = await statusOf(authorization)
      return status === 401 || status === 400
    }),
    { numRuns: 300 },
  )
})

t.test('tokens without a signature, or signed with the public or a key of their own: 401', async (t) => {
  const statusOf = await statusBy()
  const [key] = issuer.options.jwks.keys as { kid: string; x: string }[]
  const [, payload = ''] = valid.split('.')
  const claims = decodeJwt(valid)
  const kid = key?.kid ?? ''
  const unsigned = (header: object) => {
    const all = { alg: 'ES256', typ: 'at+jwt', ...header }
    return `${base64url.encode(JSON.stringify(all))}.${payload}.AAAA`
  }
  const hmac = new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid })
  const tokens = {
    none: new UnsecuredJWT(claims).encode(),
    HS256: await hmac.sign(Buffer.from(JSON.stringify(key).padEnd(32))),
    jwk: unsigned({ jwk: key }),
    crit: unsigned({ kid, crit: ['x'], x: 1 }),
    encrypted: 'a.b.c.d.e',
  }
  for (const [about, token] of Object.entries(tokens)) t.equal(await statusOf(`Bearer ${token}`), 401, about)
  const ofOthers = await statusBy({ algorithms: ['RS256', 'EdDSA'] })
  t.equal(await ofOthers(`Bearer ${valid}`), 401, 'an algorithm that is not listed, although the key fits')
})
