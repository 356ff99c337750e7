/** The authorization server for development. The login flow is tested on the demo: test/demo/logins.test.ts. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { type DevIssuerOptions, devIssuer } from '../../src/dev-issuer/index.js'
import { conventions } from '../../src/index.js'

const options: DevIssuerOptions = {
  issuer: 'http://localhost:3000',
  audience: 'https://api.example',
  scopes: ['orders:read', 'orders:write'],
  clients: [
    { id: 'program', secret: 'secret' },
    { id: 'reader', secret: 'secret', scopes: ['orders:read'] },
    { id: 'app', redirectUris: ['/callback', 'https://app.example/callback'] },
  ],
  users: [{ id: 'ada', name: 'Ada' }],
}
const form = 'application/x-www-form-urlencoded'
const ada = { grant_type: 'urn:fastify-conventions:demo:user', client_id: 'app', user_id: 'ada' }

t.test('a service takes the tokens of its own issuer: it fetches the keys from itself', async (t) => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  const service = await start(t, { ...options, issuer: `http://127.0.0.1:${port}` }, port)
  const { access_token } = (await token(service, ada)).json()
  const answer = await service.inject({ url: '/v1/me', headers: { authorization: `Bearer ${access_token}` } })
  t.strictSame(answer.json(), { subject: 'ada', scopes: ['orders:read', 'orders:write'] })
  t.equal((await service.inject('/v1/me')).statusCode, 401)
})

t.test('clients have all scopes, or those that they are given', async (t) => {
  const app = await start(t, options)
  const scopeOf = async (id: string) =>
    (await token(app, { grant_type: 'client_credentials' }, btoa(`${id}:secret`))).json().scope
  t.equal(await scopeOf('program'), 'orders:read orders:write')
  t.equal(await scopeOf('reader'), 'orders:read')
})

t.test('users are a list, or a function that may return more than the one it is asked for', async (t) => {
  const list = ['alan', 'ada'].map((id) => ({ id, name: id }))
  for (const users of [list, async () => list]) {
    const app = await start(t, { ...options, users })
    t.equal((await token(app, ada)).statusCode, 200)
    t.match((await token(app, { ...ada, user_id: 'grace' })).json(), { error: 'invalid_request' })
  }
  t.equal((await token(await start(t, { ...options, users: [] }), ada)).statusCode, 400)
})

t.test('a redirect to a path leads to each name of this machine, and to no other host', async (t) => {
  const app = await start(t, options)
  const login = (redirect_uri: string, issuer = app) => beginLogin(issuer, redirect_uri)
  const names = ['localhost', '127.0.0.1', '[::1]'].map((name) => `http://${name}:3000`)
  for (const origin of [...names, 'https://app.example'])
    t.equal((await login(`${origin}/callback`)).statusCode, 303, origin)
  for (const origin of ['http://localhost:3001', 'https://localhost:3000', 'http://evil.example:3000'])
    t.match((await login(`${origin}/callback`)).json(), { error: 'invalid_redirect_uri' }, origin)
  const elsewhere = await start(t, { ...options, issuer: 'https://shop.example' })
  t.equal((await login('https://shop.example/callback', elsewhere)).statusCode, 303)
  const local = await login('http://localhost:3000/callback', elsewhere)
  t.match(local.json(), { error: 'invalid_redirect_uri' })
})

t.test('the login page shows the first 20 users, refuses other ids, and is good for one login', async (t) => {
  const users = Array.from({ length: 21 }, (_, index) => ({ id: `u${index}`, name: `User ${index}` }))
  const app = await start(t, { ...options, users })
  const { cookies, headers } = await beginLogin(app, 'http://localhost:3000/callback')
  const url = String(headers.location)
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  const page = await app.inject({ url, headers: { cookie } })
  t.equal(page.body.match(/<button name="user_id"/g)?.length, 20)
  const post = (payload: string, type: object = { 'content-type': form }) =>
    app.inject({ method: 'POST', url, headers: { cookie, ...type }, payload })
  t.match((await post('', {})).json(), { code: 'login-failed' })
  for (const nobody of ['', 'user_id=', 'user_id=eve'])
    t.match((await post(nobody)).json(), { code: 'login-failed' }, nobody)
  const next = String((await post('user_id=u20')).headers.location)
  t.match(next, '/oauth/authorize/')
  const { pathname } = new URL(next, 'http://localhost:3000')
  const finished = await app.inject({ url: pathname, headers: { cookie } })
  t.match(finished.headers.location, /^http:\/\/localhost:3000\/callback\?code=/)
  t.match((await post('user_id=u20')).json(), { code: 'login-failed' }, 'a login is good once')
})

t.test('its URLs are those of the issuer, whatever a request says', async (t) => {
  const app = await start(t, options)
  const headers = { host: 'localhost:3000', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
  const { body } = await app.inject({ url: '/.well-known/openid-configuration', headers })
  t.match(body, '"jwks_uri":"http://localhost:3000/oauth/jwks"')
  t.notMatch(body, 'evil.example')
  t.match(body, '"id_token_signing_alg_values_supported":["ES256"]')
  t.match(body, '"scopes_supported":["openid","orders:read","orders:write"]')
  t.notMatch(body, /dpop|end_session|pushed_authorization/, 'what it does not offer')
  t.strictSame(Object.keys(app.swagger().paths ?? {}), ['/v1/me'], 'they are not of the API')
})

t.test('OPTIONS says which methods there are, and to a page of a client that it may ask', async (t) => {
  const app = await start(t, options)
  const ask = async (headers = {}) =>
    (await app.inject({ method: 'OPTIONS', url: '/oauth/token', headers })).headers
  t.equal((await ask()).allow, 'POST, OPTIONS')
  const preflight = { origin: 'http://localhost:3000', 'access-control-request-method': 'POST' }
  t.equal((await ask(preflight))['access-control-allow-methods'], 'POST')
})

t.test('it does not start in production', async (t) => {
  const { NODE_ENV } = process.env
  process.env.NODE_ENV = 'production'
  t.teardown(() => {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = NODE_ENV
  })
  await t.rejects(boot(options), {
    code: 'FST_CONV_DEVELOPMENT_ONLY',
    message: 'devIssuer is for development only, and NODE_ENV is production: remove it here',
  })
})

t.test('options that are wrong throw when it is registered', async (t) => {
  const anOrigin = "expected an origin such as 'http://localhost:3000', received"
  const aPath = "expected a path or URL such as '/login/callback', received"
  const [noPath, admin] = [
    { id: 'x', redirectUris: ['callback'] },
    { id: 'x', scopes: ['admin'] },
  ]
  const aUrl = "expected a URL such as 'https://api.example.com', received"
  for (const [wrong, message] of [
    [{ issuer: 'http://localhost:3000/' }, `issuer: ${anOrigin} 'http://localhost:3000/'`],
    [{ issuer: 'ftp://localhost' }, `issuer: ${anOrigin} 'ftp://localhost'`],
    [{ issuer: undefined }, `issuer: ${anOrigin} undefined`],
    [{ audience: undefined }, `audience: ${aUrl} undefined`],
    [{ audience: 'shop' }, `audience: ${aUrl} 'shop'`],
    [{ scopes: ['a b'] }, "scopes[0]: expected a scope without spaces (RFC 6749 §3.3), received 'a b'"],
    [{ clients: [noPath] }, `clients[0].redirectUris[0]: ${aPath} 'callback'`],
    [{ clients: [admin] }, "clients[0].scopes: expected scopes of devIssuer.scopes, received 'admin'"],
    [{ users: 'ada' }, "users: expected an array of users, or a function that returns them, received 'ada'"],
    [{ users: [{ id: 'ada' }] }, 'users[0].name: expected a non-empty string, received undefined'],
  ] as const) {
    const given = { ...options, ...wrong } as DevIssuerOptions
    await t.rejects(boot(given), { message: `devIssuer.${message}` })
  }
  const plugin = async (scope: FastifyInstance) => void (await scope.register(devIssuer, options))
  const below = Fastify().register(plugin, { prefix: '/api' })
  const message = "devIssuer.prefix: expected none: its URLs begin at the origin, received '/api'"
  await t.rejects(async () => below.ready(), { message })
})

function beginLogin(app: FastifyInstance, redirect_uri: string) {
  const query = { client_id: 'app', response_type: 'code', code_challenge: 'a'.repeat(43), redirect_uri }
  const method = { code_challenge_method: 'S256', scope: 'orders:read' }
  return app.inject(`/oauth/authorize?${new URLSearchParams({ ...query, ...method })}`)
}

const boot = async (given: DevIssuerOptions) => void (await Fastify().register(devIssuer, given).ready())

async function start(t: Test, given: DevIssuerOptions, port?: number): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger)
  await app.register(conventions, { bearer: { issuer: given.issuer, audience: given.audience } })
  await app.register(devIssuer, given)
  app.get('/v1/me', async ({ caller }) => ({ subject: caller?.subject, scopes: caller?.scopes }))
  if (port !== undefined) await app.listen({ host: '127.0.0.1', port })
  return app
}

function token(app: FastifyInstance, fields: Record<string, string>, secret?: string) {
  const headers = { 'content-type': form, ...(secret && { authorization: `Basic ${secret}` }) }
  const payload = new URLSearchParams(fields).toString()
  return app.inject({ method: 'POST', url: '/oauth/token', headers, payload })
}
