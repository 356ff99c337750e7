import { once } from 'node:events'
import { type IncomingMessage, request as requestOverHttp } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { request as requestOverHttps } from 'node:https'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { generate } from 'selfsigned'
import t from 'tap'
import conventions, { type HttpsOnlyOptions, httpsOnly, serverOptions } from '../../../src/index.js'
import { type AnyAnswer, injected, isProblem } from '../../support/problem.js'
import { exchange, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const refused = {
  status: 403,
  code: 'https-required',
  detail: 'Use HTTPS; a token sent over plain HTTP has to be replaced',
}
const proxied = (proto: string) => ({ 'x-forwarded-proto': proto })

t.test('a request over plain HTTP is refused with 403, whatever it asks for', async (t) => {
  const { app, handled } = await appWith()
  for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS'] as const) {
    for (const url of ['/v1/users', '/nothing']) {
      const response = await app.inject({ method, url, headers: { authorization: 'Bearer secret' } })
      t.equal(response.statusCode, 403, `${method} ${url}`)
      t.notOk('location' in response.headers, 'no redirect')
      t.notOk('strict-transport-security' in response.headers, 'RFC 6797 §7.2')
      t.equal(response.headers['cache-control'], 'no-store')
      if (method !== 'HEAD') isProblem(t, injected(response), refused)
    }
  }
  t.strictSame(handled, [])
})

t.test('the OpenAPI document has the refusal, where it is enforced', async (t) => {
  for (const mode of ['enforce', 'report'] as const) {
    const app = Fastify({ trustProxy: true })
    await app.register(swagger, { openapi: {} })
    await app.register(httpsOnly, { mode })
    app.get('/v1/users', async () => [])
    await app.ready()
    t.equal(JSON.stringify(app.swagger()).includes('https-required'), mode === 'enforce', mode)
  }
})

t.test('X-Forwarded-Proto counts with trustProxy only: the last one, in any case', async (t) => {
  const { app } = await appWith()
  const statuses = { HTTPS: 200, 'http, https': 200, 'https, http': 403, http: 403, httpsx: 403, '': 403 }
  for (const [proto, status] of Object.entries(statuses)) {
    const { statusCode } = await app.inject({ url: '/v1/users', headers: proxied(proto) })
    t.equal(statusCode, status, proto)
  }
  const other = await appWith({}, { trustProxy: '192.0.2.1' })
  t.equal((await other.app.inject({ url: '/v1/users', headers: proxied('https') })).statusCode, 403)
})

t.test('routes with config.httpsOnly: false serve plain HTTP', async (t) => {
  const { app } = await appWith({})
  const refusedUrls = ['/ready/', '/ready/../v1/users', '/v1/users?/ready']
  for (const url of ['/ready', '/ready?verbose=1', ...refusedUrls])
    t.equal((await app.inject(url)).statusCode, refusedUrls.includes(url) ? 403 : 200, url)
  const { exceptions } = app.conventions.report()
  const own = exceptions.filter(({ plugin }) => plugin === 'httpsOnly')
  t.match(own, [{ route: 'GET /ready', reason: 'config.httpsOnly is false' }])
  t.equal(own.length, 1)
})

t.test('a server that can have no HTTPS fails the boot', async (t) => {
  const message = /httpsOnly\.plain.*every request would be refused.*trustProxy/
  await t.rejects(appWith({}, { trustProxy: false }), { code: 'FST_CONV_FINDINGS', message })
  const { app } = await appWith({ mode: 'report' }, { trustProxy: false })
  t.match(app.conventions.report().findings, [{ plugin: 'httpsOnly', route: '*', mode: 'report' }])
  const { app: off } = await appWith({ mode: 'off' }, { trustProxy: false })
  t.notOk(off.conventions.report().findings.some(({ plugin }) => plugin === 'httpsOnly'))
})

t.test('report changes nothing and counts; off does nothing; a route may differ', async (t) => {
  const { app: reporting } = await appWith({ mode: 'report' })
  t.equal((await reporting.inject('/v1/users')).statusCode, 200)
  t.equal((await reporting.inject('/strict')).statusCode, 403)
  t.match(reporting.conventions.report().observations, [
    { plugin: 'httpsOnly', rule: 'plain', route: '/v1/users', count: 1, example: 'GET over plain HTTP' },
  ])
  const { app: off } = await appWith({ mode: 'off' })
  t.equal((await off.inject('/v1/users')).statusCode, 200)
  t.strictSame(off.conventions.report().observations, [])
})

t.test('the refusal precedes the quota, maintenance and hooks of the app; a page may read it', async (t) => {
  const app = Fastify({ ...serverOptions(), trustProxy: true })
  const seen: string[] = []
  const cors = { origin: ['https://app.example'] }
  await app.register(conventions, { httpsOnly: {}, rateLimit: { max: 1 }, cors })
  app.addHook('onRequest', async ({ url }) => void seen.push(url))
  app.get('/v1/users', async () => ({}))
  await app.ready()
  await app.maintenance.enable()
  for (const _ of [1, 2, 3]) {
    const response = await app.inject({ url: '/v1/users', headers: { origin: 'https://app.example' } })
    isProblem(t, injected(response), refused)
    t.equal(response.headers['access-control-allow-origin'], 'https://app.example')
  }
  t.strictSame(seen, [])
  await app.maintenance.disable()
  const { statusCode, headers } = await app.inject({ url: '/v1/users', headers: proxied('https') })
  t.equal(statusCode, 200, 'refused requests do not count')
  t.match(headers['strict-transport-security'], /max-age=/)
})

t.test('over sockets', async (t) => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }])

  await t.test('plain HTTP is refused, and X-Forwarded-Proto of the proxy counts', async (t) => {
    const { app, handled } = await appWith()
    const { origin, port } = await serve(t, app)
    isProblem(t, await asked(requestOverHttp(`${origin}/v1/users`)), refused)
    const headers = { 'content-type': 'application/json', 'x-forwarded-proto': 'https' }
    t.match(await exchange(port, requestBytes('POST', '/v1/users', headers, '{}')), /^HTTP\/1\.1 200 /)
    const absolute = await exchange(port, requestBytes('GET', 'http://a/v1/users'))
    t.match(absolute, /^HTTP\/1\.1 403 /, 'absolute form')
    t.strictSame(handled, ['POST /v1/users'])
  })

  await t.test('HTTPS of the server itself is served, without trustProxy', async (t) => {
    const { app } = await appWith({}, { https: { key, cert } } as FastifyServerOptions)
    const { port } = await serve(t, app)
    const options = { rejectUnauthorized: false, headers: proxied('http') }
    t.match(await asked(requestOverHttps(`https://127.0.0.1:${port}/v1/users`, options)), { status: 200 })
  })

  await t.test('HTTP/2 is served over TLS alone', async (t) => {
    for (const [scheme, server, expected] of [
      ['https', { https: { key, cert } }, 200],
      ['http', { trustProxy: true }, 403],
    ] as const) {
      const { app } = await appWith({}, { http2: true, ...server } as unknown as FastifyServerOptions)
      const { port } = await serve(t, app)
      const session = connectHttp2(`${scheme}://127.0.0.1:${port}`, { rejectUnauthorized: false })
      t.teardown(() => session.close())
      const stream = session.request({ ':path': '/v1/users' }).resume()
      const [headers] = await once(stream, 'response')
      t.equal(headers[':status'], expected, scheme)
    }
  })
})

async function appWith(options: HttpsOnlyOptions = {}, server: FastifyServerOptions = { trustProxy: true }) {
  const app: FastifyInstance = Fastify({ ...server, forceCloseConnections: true })
  const handled: string[] = []
  await app.register(conventions, { httpsOnly: options, pathGuard: false })
  app.addHook('preHandler', async ({ method, url }) => void handled.push(`${method} ${url}`))
  app.route({ method: ['GET', 'POST'], url: '/v1/users', handler: async () => ({}) })
  app.get('/ready', { config: { httpsOnly: false } }, async () => ({}))
  app.get('/strict', { config: { httpsOnly: { mode: 'enforce' } } }, async () => ({}))
  await app.ready()
  return { app, handled }
}

async function asked(request: ReturnType<typeof requestOverHttp>): Promise<AnyAnswer> {
  const [response] = (await once(request.end(), 'response')) as [IncomingMessage]
  const body = (await response.setEncoding('utf8').toArray()).join('')
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}
