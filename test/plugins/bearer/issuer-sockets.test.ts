/** The issuer over HTTP: discovery, rotation under load, and outages. */
import { once } from 'node:events'
import { connect } from 'node:http2'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { type BearerOptions, bearer, problems } from '../../../src/index.js'
import { fasterClock } from '../../support/faster-clock.js'
import { keepLogs } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'
import { ask } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { until } from '../../support/until.js'
import { type IssuerServer, issuerServer, sendJson } from './issuer-server.js'

const audience = 'https://api.test'

async function serviceOf(
  t: Test,
  issuer: Pick<IssuerServer, 'url'>,
  options: Partial<BearerOptions> = {},
  log = keepLogs(),
): Promise<FastifyInstance> {
  const app = Fastify({ logger: log.logger })
  t.teardown(() => app.close())
  await app.register(problems)
  await app.register(bearer, { issuer: issuer.url, audience, ...options })
  app.get('/protected', async ({ caller }) => ({ subject: caller?.subject }))
  return app
}

const bearing = (token: string) => ({ authorization: `Bearer ${token}` })

t.test('no request is refused while the issuer replaces its keys under load', async (t) => {
  const issuer = await issuerServer(t)
  const app = await serviceOf(t, issuer, fasterClock(5))
  const { origin } = await serve(t, app)
  const [clients, rotations, requestsPerRotation] = [20, 4, 300]
  const statuses = new Map<number, number>()
  let sent = 0

  async function client(): Promise<void> {
    while (sent < rotations * requestsPerRotation) {
      sent += 1
      if (sent % requestsPerRotation === 0) await issuer.rotate()
      // A new token each time, so that each one needs a key.
      const answer = await fetch(`${origin}/protected`, { headers: bearing(await issuer.token()) })
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      await answer.text()
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  t.strictSame([...statuses.keys()], [200])
  const fetches = issuer.requests.filter((path) => path === '/jwks').length
  t.ok(fetches <= rotations + 2, `${fetches} fetches of keys for ${sent} requests`)
})

t.test('the keys are fetched when the service listens, not with the first request', async (t) => {
  const issuer = await issuerServer(t)
  const app = await serviceOf(t, issuer)
  await app.ready()
  t.same(issuer.requests, [], 'the issuer may be part of this service')
  await serve(t, app)
  await until(
    async () => issuer.requests.length,
    (length) => length === 2,
  )
  const headers = bearing(await issuer.token())
  t.equal((await app.inject({ url: '/protected', headers })).statusCode, 200)
  t.same(issuer.requests, ['/.well-known/oauth-authorization-server', '/jwks'])
})

t.test('metadata is found by RFC 8414, else by OpenID Connect Discovery, also with a path', async (t) => {
  for (const path of ['', '/realms/one']) {
    const issuer = await issuerServer(t, path)
    const request = { url: '/protected', headers: bearing(await issuer.token()) }
    t.equal((await (await serviceOf(t, issuer)).inject(request)).statusCode, 200, 'RFC 8414')
    const byRfc8414 = `/.well-known/oauth-authorization-server${path}`
    issuer.answers.set(byRfc8414, (_, response) => response.writeHead(404).end())
    issuer.answers.set(`${path}/.well-known/openid-configuration`, (_, response) =>
      sendJson(response, { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }),
    )
    t.equal((await (await serviceOf(t, issuer)).inject(request)).statusCode, 200, 'OpenID Connect')
  }
})

t.test('metadata and keys that cannot be trusted are not used', async (t) => {
  const metadata = '/.well-known/oauth-authorization-server'
  const keysOf = (url: string) => ({ issuer: url, jwks_uri: `${url}/jwks` })
  const long = { keys: [], more: 'x'.repeat(300_000) }
  const rows: [about: string, path: string, answer: (url: string) => unknown, cause: RegExp][] = [
    ['another issuer', metadata, (url) => ({ ...keysOf(url), issuer: `${url}/` }), /of another issuer/],
    ['http', metadata, (url) => ({ ...keysOf(url), jwks_uri: 'http://id.test/jwks' }), /https is required/],
    ['no keys', metadata, (issuer) => ({ issuer }), /no jwks_uri/],
    ['no JSON', metadata, () => 'text', /did not answer with JSON/],
    ['an error', metadata, () => 500, /answered 500/],
    ['a redirect', '/jwks', () => '/elsewhere', /cannot be read/],
    ['a response that is too long', '/jwks', () => long, /cannot be read/],
    ['no key set', '/jwks', () => ({ keys: 1 }), /is not what was asked for/],
  ]
  for (const [about, path, answer, cause] of rows) {
    const issuer = await issuerServer(t)
    issuer.answers.set(path, (_, response) => {
      const given = answer(issuer.url)
      if (typeof given === 'number') response.writeHead(given).end()
      else if (given === 'text') response.end('<html>')
      else if (typeof given === 'string') response.writeHead(302, { location: given }).end()
      else sendJson(response, given)
    })
    const log = keepLogs()
    const app = await serviceOf(t, issuer, {}, log)
    const answered = await app.inject({ url: '/protected', headers: bearing(await issuer.token()) })
    isProblem(t, injected(answered), { status: 503, code: 'authentication-unavailable' }, about)
    t.equal(answered.headers['retry-after'], '5')
    const errors = log.lines.filter(({ msg }) => msg === 'bearer: the issuer cannot be used')
    t.match(errors, [{ level: 50, err: { message: cause } }], `${about}: the log has the cause`)
    t.notOk(issuer.requests.includes('/elsewhere'))
  }
})

t.test('an issuer that does not answer delays a request up to 5 seconds', async (t) => {
  const issuer = await issuerServer(t)
  const { timeout } = AbortSignal
  t.intercept(AbortSignal, 'timeout', {
    value: (milliseconds: number) => timeout.call(AbortSignal, milliseconds / 50),
  })
  issuer.answers.set('/jwks', () => {})
  const app = await serviceOf(t, issuer, { jwksUri: `${issuer.url}/jwks` })
  const headers = bearing(await issuer.token())
  isProblem(t, injected(await app.inject({ url: '/protected', headers })), {
    status: 503,
    code: 'authentication-unavailable',
  })
})

t.test('Authorization that is sent twice is a 400', async (t) => {
  const issuer = await issuerServer(t)
  const { port, origin } = await serve(t, await serviceOf(t, issuer))
  const token = await issuer.token()
  const line = `Authorization: Bearer ${token}\r\n`
  const once = await fetch(`${origin}/protected`, { headers: bearing(token) })
  t.equal(once.status, 200)
  const fields = `Host: a\r\n${line}${line.toLowerCase()}Connection: close\r\n`
  const twice = await ask(port, `GET /protected HTTP/1.1\r\n${fields}\r\n`)
  isProblem(t, twice, { status: 400, code: 'authorization-malformed' })
})

t.test('HTTP/2: a token opens the route, and none is a 401', async (t) => {
  const issuer = await issuerServer(t)
  const app = Fastify({ http2: true })
  await app.register(bearer, { issuer: issuer.url, audience })
  app.get('/protected', async () => ({}))
  const session = connect((await serve(t, app)).origin)
  t.teardown(() => session.close())
  for (const [headers, status] of [
    [bearing(await issuer.token()), 200],
    [{}, 401],
  ] as const) {
    const stream = session.request({ ':path': '/protected', ...headers })
    const [answered] = await once(stream, 'response')
    stream.resume()
    await once(stream, 'end')
    t.equal(answered[':status'], status)
  }
})
