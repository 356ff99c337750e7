/** The metadata and the keys of the issuer, introspection (RFC 7662), and what only a socket shows. */
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { bearer, type IntrospectionOptions, problems } from '../../../src/index.js'
import { testIssuer } from '../../../src/testing/index.js'
import { keepLogs, type Logs } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'
import { ask } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { until } from '../../support/until.js'

type Answers = Record<string, (init: RequestInit) => Response | Promise<Response>>

const host = 'https://id.test'
const byRfc8414 = '/.well-known/oauth-authorization-server'
const unavailable = { status: 503, code: 'authentication-unavailable' }

/** A service, the paths of its issuer that it has asked for, and a request with a token. */
async function serviceOf(t: Test, answers: Answers = {}, path = '') {
  const issuer = await testIssuer({ issuer: host + path })
  const { audience, jwks } = issuer.options
  const asked: string[] = []
  const all: Answers = {
    [byRfc8414 + path]: () => Response.json({ issuer: host + path, jwks_uri: `${host}/jwks` }),
    '/jwks': () => Response.json(jwks),
    ...answers,
  }
  const fetch = async (input: unknown, init: RequestInit = {}) => {
    const { pathname } = new URL(String(input))
    asked.push(pathname)
    t.equal(init.redirect, 'error', 'a redirect is not followed')
    return all[pathname]?.(init) ?? new Response('', { status: 404 })
  }
  const log = keepLogs()
  const app = Fastify({ logger: log.logger })
  t.teardown(() => app.close())
  await app.register(problems)
  t.intercept(globalThis, 'fetch', { value: fetch })
  await app.register(bearer, { issuer: host + path, audience })
  app.get('/protected', async ({ caller }) => ({ subject: caller?.subject }))
  const headers = { authorization: `Bearer ${await issuer.token()}` }
  return { app, asked, log, request: { url: '/protected', headers } }
}

t.test('metadata is found by RFC 8414, else by OpenID Connect Discovery, also with a path', async (t) => {
  for (const path of ['', '/realms/one']) {
    const { app, request } = await serviceOf(t, {}, path)
    t.equal((await app.inject(request)).statusCode, 200, 'RFC 8414')
    const found = { issuer: host + path, jwks_uri: `${host}/jwks` }
    const answers: Answers = {
      [byRfc8414 + path]: () => new Response('', { status: 404 }),
      [`${path}/.well-known/openid-configuration`]: () => Response.json(found),
    }
    const other = await serviceOf(t, answers, path)
    t.equal((await other.app.inject(other.request)).statusCode, 200, 'OpenID Connect')
  }
})

t.test('the keys are fetched when the service listens, not with the first request', async (t) => {
  const { app, asked, request } = await serviceOf(t)
  await app.ready()
  t.same(asked, [], 'the issuer may be part of this service')
  await serve(t, app)
  await until(async () => asked.length === 2, Boolean)
  t.equal((await app.inject(request)).statusCode, 200)
  t.same(asked, [byRfc8414, '/jwks'])
})

t.test('metadata and keys that cannot be trusted are not used', async (t) => {
  const keys = { issuer: host, jwks_uri: `${host}/jwks` }
  const long = { keys: [], more: 'x'.repeat(300_000) }
  const rows: [about: string, path: string, answer: unknown, cause: RegExp][] = [
    ['another issuer', byRfc8414, { ...keys, issuer: `${host}/` }, /of another issuer/],
    ['http', byRfc8414, { ...keys, jwks_uri: 'http://id.test/jwks' }, /https is required/],
    ['no keys', byRfc8414, { issuer: host }, /no jwks_uri/],
    ['no JSON', byRfc8414, new Response('<html>'), /did not answer with JSON/],
    ['an error', byRfc8414, new Response('', { status: 500 }), /answered 500/],
    ['a response that is too long', '/jwks', long, /cannot be read/],
    ['no key set', '/jwks', { keys: 1 }, /is not what was asked for/],
  ]
  for (const [about, path, answer, cause] of rows) {
    const given = () => (answer instanceof Response ? answer : Response.json(answer))
    const { app, request, log } = await serviceOf(t, { [path]: given })
    const refused = await app.inject(request)
    isProblem(t, injected(refused), unavailable, about)
    t.equal(refused.headers['retry-after'], '5')
    const errors = log.lines.filter(({ msg }) => msg === 'bearer: the issuer cannot be used')
    t.match(errors, [{ level: 50, err: { message: cause } }], `${about}: the log has the cause`)
  }
})

t.test('an issuer that does not answer delays a request up to 5 seconds', async (t) => {
  const waits: number[] = []
  t.intercept(AbortSignal, 'timeout', {
    value(milliseconds: number) {
      waits.push(milliseconds)
      return AbortSignal.abort()
    },
  })
  const silent = async ({ signal }: RequestInit) => {
    signal?.throwIfAborted()
    return Response.json({ keys: [] })
  }
  const { app, request, log } = await serviceOf(t, { '/jwks': silent })
  isProblem(t, injected(await app.inject(request)), unavailable)
  t.strictSame(waits, [5000, 5000], 'for the metadata and for the keys')
  t.match(log.lines.find(({ level }) => level === 50)?.err, { message: /jwks cannot be read/ })
})

t.test('Authorization that is sent twice is a 400', async (t) => {
  const { app, request } = await serviceOf(t)
  const { port } = await serve(t, app)
  const line = `Authorization: ${request.headers.authorization}\r\n`
  const fields = `Host: a\r\n${line}${line.toLowerCase()}Connection: close\r\n`
  const twice = await ask(port, `GET /protected HTTP/1.1\r\n${fields}\r\n`)
  isProblem(t, twice, { status: 400, code: 'authorization-malformed' })
})

const audience = 'https://api.test'
const endpoint = `${host}/introspect`
const active = { active: true, sub: 'ada', aud: audience, scope: 'users:read', iss: host, exp: 4e9 }

/** A service whose issuer answers introspection with what a test says. */
async function introspectingService(
  t: Test,
  introspection: Partial<IntrospectionOptions> = {},
  now = Date.now,
) {
  const log = keepLogs()
  const state = { answer: active as unknown, status: 200, isAway: false, metadataRequests: 0 }
  const requests: { url: string; init: RequestInit | undefined }[] = []
  const fetch: typeof globalThis.fetch = async (url, init) => {
    if (url === host + byRfc8414) {
      state.metadataRequests += 1
      return Response.json({ issuer: host, introspection_endpoint: endpoint })
    }
    requests.push({ url: String(url), init })
    if (state.isAway) throw new TypeError('fetch failed')
    return Response.json(state.answer, { status: state.status })
  }
  const app = Fastify({ logger: log.logger })
  t.teardown(() => app.close())
  await app.register(problems)
  const client = { clientId: 'api', clientSecret: 'SECRET', ...introspection }
  await app.register(bearer, { issuer: host, audience, introspection: client, fetch, now })
  app.get('/protected', { config: { bearer: { scopes: ['users:read'] } } }, async ({ caller }) => caller)
  const ask = (token = 'opaque') =>
    app.inject({ url: '/protected', headers: { authorization: `Bearer ${token}` } })
  return { app, ask, state, requests, log }
}

const refusals = (log: Logs) => log.lines.filter(({ msg }) => msg === 'bearer: the token is refused')

t.test('the issuer says who the caller of an opaque token is', async (t) => {
  const { ask, requests } = await introspectingService(t, { clientId: 'a:b', clientSecret: 'ü &' })
  const answer = await ask('mF_9.B5f-4.1JqM~+/==')
  t.equal(answer.statusCode, 200)
  t.match(answer.json(), { subject: 'ada', scopes: ['users:read'], claims: { sub: 'ada', iss: host } })
  t.equal(requests.length, 1)
  const body = 'token=mF_9.B5f-4.1JqM%7E%2B%2F%3D%3D&token_type_hint=access_token'
  // RFC 6749 §2.3.1: id and secret are encoded.
  const authorization = `Basic ${btoa('a%3Ab:%C3%BC+%26')}`
  const accept = 'application/json'
  const headers = { accept, authorization, 'content-type': 'application/x-www-form-urlencoded' }
  t.match(requests[0], { url: endpoint, init: { method: 'POST', redirect: 'error', body, headers } })
})

t.test('only a token that is valid here and now is accepted, with a tolerance of 10 seconds', async (t) => {
  const now = 1_800_000_000
  const { ask, state, log } = await introspectingService(t, {}, () => now * 1000)
  for (const [claims, reason] of [
    [{ active: false }, /not active/],
    [{ iss: 'https://else.test' }, /another issuer/],
    [{ iss: undefined, exp: undefined, token_type: 'Bearer' }],
    [{ aud: 'https://else.test' }, /another audience/],
    [{ aud: undefined }, /another audience/],
    [{ aud: ['https://else.test', audience] }],
    [{ exp: now - 9 }],
    [{ exp: now - 10 }, /expired/],
    [{ exp: 'soon' }, /expired/],
    [{ nbf: now + 10 }],
    [{ nbf: now + 11 }, /not valid yet/],
    [{ nbf: 'soon' }, /not valid yet/],
    [{ sub: undefined }, /sub/],
    [{ sub: undefined, client_id: 'ada' }],
    [{ cnf: { jkt: 'x' } }, /cnf/],
    [{ token_type: 'DPoP' }, /not a bearer token/],
    [{ token_type: 'x-bearer' }, /not a bearer token/],
    [{ token_type: 'bearer-x' }, /not a bearer token/],
    [{ token_type: 'x_access_token' }, /not a bearer token/],
    [{ token_type: 'access_token' }],
  ] as const) {
    log.lines.length = 0
    state.answer = { ...active, ...claims }
    const answer = await ask()
    if (reason === undefined) t.match(answer.json(), { subject: 'ada' }, JSON.stringify(claims))
    else isProblem(t, injected(answer), { status: 401, code: 'invalid-token' }, JSON.stringify(claims))
    t.match(refusals(log), reason === undefined ? [] : [{ reason }])
  }
})

t.test('each request asks the issuer, unless cacheFor says how long its response is used', async (t) => {
  const always = await introspectingService(t)
  await always.ask()
  await always.ask()
  t.equal(always.requests.length, 2)
  t.equal(always.state.metadataRequests, 1, 'the endpoint is found once')

  let now = Date.parse('2026-01-01T00:00:00Z')
  const cached = await introspectingService(t, { cacheFor: '10s' }, () => now)
  await cached.ask()
  now += 9999
  await cached.ask()
  t.equal(cached.requests.length, 1)
  cached.state.answer = { active: false }
  now += 1
  t.equal((await cached.ask()).statusCode, 401, 'a revoked token is refused after that')
  cached.state.answer = { ...active, exp: now / 1000 + 1 }
  t.equal((await cached.ask()).statusCode, 200)
  now += 1000 + 10_000
  t.equal((await cached.ask()).statusCode, 401, 'at most until the token expires')
})

t.test('while the issuer is away, requests get 503 and do not pile up', async (t) => {
  let now = 0
  const { ask, app, state, requests, log } = await introspectingService(t, {}, () => now)
  state.isAway = true
  for (let round = 0; round < 3; round += 1) {
    const answer = await ask()
    isProblem(t, injected(answer), unavailable)
    t.match(answer.headers, { 'retry-after': '5', 'cache-control': 'no-store' })
  }
  t.equal(requests.length, 1)
  t.equal((await app.inject('/protected')).statusCode, 401)
  state.isAway = false
  now += 5000
  t.equal((await ask()).statusCode, 200)
  const told = log.lines.filter(({ level }) => level > 30)
  t.match(told, [{ level: 50, msg: 'bearer: the issuer cannot be used' }])
})

t.test('a response that is no introspection is an outage', async (t) => {
  for (const [status, answer] of [
    [200, {}],
    [200, []],
    [200, { active: 'true' }],
    [500, active],
  ] as const) {
    const { ask, state, requests } = await introspectingService(t)
    Object.assign(state, { status, answer })
    for (let round = 0; round < 2; round += 1)
      isProblem(t, injected(await ask()), unavailable, JSON.stringify(answer))
    t.equal(requests.length, 1)
  }
})

t.test('a 4xx of the issuer is a 401, or a 503 if about this service, of the one request', async (t) => {
  const { ask, state, log } = await introspectingService(t, {}, () => 0)
  const refused = { status: 401, code: 'invalid-token' }
  const ofToken = { 400: refused, 404: refused, 422: refused }
  const ofService = { 401: unavailable, 408: unavailable, 429: unavailable }
  for (const [status, expected] of Object.entries({ ...ofToken, ...ofService })) {
    log.lines.length = 0
    Object.assign(state, { status: Number(status), answer: { error: 'unsupported_token_type' } })
    isProblem(t, injected(await ask('eyJhbGciOiJub25lIn0.e30.')), expected, status)
    const reason = `${endpoint} answered ${status}`
    t.match(refusals(log), expected === refused ? [{ reason }] : [])
    Object.assign(state, { status: 200, answer: active })
    t.equal((await ask()).statusCode, 200, status)
  }
})

t.test('neither the token nor the secret is in the log', async (t) => {
  const { ask, state, log } = await introspectingService(t)
  await ask('TOKEN-1')
  state.answer = { active: false, hint: 'TOKEN-2' }
  await ask('TOKEN-2')
  state.isAway = true
  await ask('TOKEN-3')
  t.ok(log.lines.length > 5)
  t.notMatch(JSON.stringify(log.lines), /SECRET|TOKEN|U0VDUkVU/)
})
