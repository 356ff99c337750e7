/** Token introspection: RFC 7662. */
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { bearer, type IntrospectionOptions, problems } from '../../../src/index.js'
import { keepLogs, type Logs } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'

const issuer = 'https://id.test'
const audience = 'https://api.test'
const endpoint = `${issuer}/introspect`
const metadata = `${issuer}/.well-known/oauth-authorization-server`
const unavailable = { status: 503, code: 'authentication-unavailable' }
const active = { active: true, sub: 'ada', aud: audience, scope: 'users:read', iss: issuer, exp: 4e9 }

/** A service whose issuer answers introspection with what a test says. */
async function serviceWith(t: Test, introspection: Partial<IntrospectionOptions> = {}, now = Date.now) {
  const log = keepLogs()
  const state = { answer: active as unknown, status: 200, isAway: false, metadataRequests: 0 }
  const requests: { url: string; init: RequestInit | undefined }[] = []
  const fetch: typeof globalThis.fetch = async (url, init) => {
    if (url === metadata) {
      state.metadataRequests += 1
      return Response.json({ issuer, introspection_endpoint: endpoint })
    }
    requests.push({ url: String(url), init })
    if (state.isAway) throw new TypeError('fetch failed')
    return Response.json(state.answer, { status: state.status })
  }
  const app = Fastify({ logger: log.logger })
  t.teardown(() => app.close())
  await app.register(problems)
  const client = { clientId: 'api', clientSecret: 'SECRET', ...introspection }
  await app.register(bearer, { issuer, audience, introspection: client, fetch, now })
  app.get('/protected', { config: { bearer: { scopes: ['users:read'] } } }, async ({ caller }) => caller)
  const ask = (token = 'opaque') =>
    app.inject({ url: '/protected', headers: { authorization: `Bearer ${token}` } })
  return { app, ask, state, requests, log }
}

const refusals = (log: Logs) => log.lines.filter(({ msg }) => msg === 'bearer: the token is refused')

t.test('the issuer says who the caller of an opaque token is', async (t) => {
  const { ask, requests } = await serviceWith(t, { clientId: 'a:b', clientSecret: 'ü &' })
  const answer = await ask('mF_9.B5f-4.1JqM')
  t.equal(answer.statusCode, 200)
  t.match(answer.json(), { subject: 'ada', scopes: ['users:read'], claims: { sub: 'ada', iss: issuer } })
  t.equal(requests.length, 1)
  const body = 'token=mF_9.B5f-4.1JqM&token_type_hint=access_token'
  // RFC 6749 §2.3.1: id and secret are encoded.
  const authorization = `Basic ${btoa('a%3Ab:%C3%BC+%26')}`
  const accept = 'application/json'
  const headers = { accept, authorization, 'content-type': 'application/x-www-form-urlencoded' }
  t.match(requests[0], { url: endpoint, init: { method: 'POST', redirect: 'error', body, headers } })
})

t.test('only a token that is valid here and now is accepted, with a tolerance of 10 seconds', async (t) => {
  const now = 1_800_000_000
  const { ask, state, log } = await serviceWith(t, {}, () => now * 1000)
  const rows: [claims: object, refusal?: RegExp][] = [
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
  ]
  for (const [claims, reason] of rows) {
    log.lines.length = 0
    state.answer = { ...active, ...claims }
    const answer = await ask()
    if (reason === undefined) t.match(answer.json(), { subject: 'ada' }, JSON.stringify(claims))
    else isProblem(t, injected(answer), { status: 401, code: 'invalid-token' }, JSON.stringify(claims))
    t.match(refusals(log), reason === undefined ? [] : [{ reason }])
  }
})

t.test('each request asks the issuer, unless cacheFor says how long its response is used', async (t) => {
  const always = await serviceWith(t)
  await always.ask()
  await always.ask()
  t.equal(always.requests.length, 2)
  t.equal(always.state.metadataRequests, 1, 'the endpoint is found once')

  let now = Date.parse('2026-01-01T00:00:00Z')
  const cached = await serviceWith(t, { cacheFor: '10s' }, () => now)
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
  const { ask, app, state, requests, log } = await serviceWith(t, {}, () => now)
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
  const answers = [
    [200, {}] as const,
    [200, []] as const,
    [200, { active: 'true' }] as const,
    [500, active] as const,
  ]
  for (const [status, answer] of answers) {
    const { ask, state, requests } = await serviceWith(t)
    Object.assign(state, { status, answer })
    for (let round = 0; round < 2; round += 1)
      isProblem(t, injected(await ask()), unavailable, JSON.stringify(answer))
    t.equal(requests.length, 1)
  }
})

t.test('a 4xx of the issuer is a 401, or a 503 if about this service, of the one request', async (t) => {
  const { ask, state, log } = await serviceWith(t, {}, () => 0)
  const refused = { status: 401, code: 'invalid-token' }
  for (const [status, expected] of [
    [400, refused],
    [404, refused],
    [422, refused],
    [401, unavailable],
    [408, unavailable],
    [429, unavailable],
  ] as const) {
    log.lines.length = 0
    Object.assign(state, { status, answer: { error: 'unsupported_token_type' } })
    isProblem(t, injected(await ask('eyJhbGciOiJub25lIn0.e30.')), expected, String(status))
    const reason = `${endpoint} answered ${status}`
    t.match(refusals(log), expected === refused ? [{ reason }] : [])
    Object.assign(state, { status: 200, answer: active })
    t.equal((await ask()).statusCode, 200, String(status))
  }
})

t.test('neither the token nor the secret is in the log', async (t) => {
  const { ask, state, log } = await serviceWith(t)
  await ask('TOKEN-1')
  state.answer = { active: false, hint: 'TOKEN-2' }
  await ask('TOKEN-2')
  state.isAway = true
  await ask('TOKEN-3')
  t.ok(log.lines.length > 5)
  t.notMatch(JSON.stringify(log.lines), /SECRET|TOKEN|U0VDUkVU/)
})
