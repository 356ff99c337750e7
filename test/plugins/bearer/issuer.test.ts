/** The metadata and the keys of the issuer, and what only a socket shows. test/dev-issuer has one that is reached by HTTP. */
import { once } from 'node:events'
import { connect } from 'node:http2'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { bearer, problems } from '../../../src/index.js'
import { testIssuer } from '../../../src/testing/index.js'
import { keepLogs } from '../../support/logs.js'
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
  await until(
    async () => asked.length,
    (length) => length === 2,
  )
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

t.test('HTTP/2: a token opens the route, and none is a 401', async (t) => {
  const issuer = await testIssuer()
  const app = Fastify({ http2: true })
  await app.register(bearer, issuer.options)
  app.get('/protected', async () => ({}))
  const session = connect((await serve(t, app as unknown as FastifyInstance)).origin)
  t.teardown(() => session.close())
  for (const [headers, status] of [
    [{ authorization: `Bearer ${await issuer.token()}` }, 200],
    [{}, 401],
  ] as const) {
    const stream = session.request({ ':path': '/protected', ...headers })
    const [answered] = await once(stream, 'response')
    stream.resume()
    await once(stream, 'end')
    t.equal(answered[':status'], status)
  }
})
