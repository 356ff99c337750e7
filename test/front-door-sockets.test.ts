/** Security headers, CORS and rate limit as they come over the wire, also where no hook runs. */
import { request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import websocket from '@fastify/websocket'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { type CorsOriginFunction, cors } from '../src/plugins/cors/index.js'
import { problems } from '../src/plugins/problems/index.js'
import { rateLimit } from '../src/plugins/rate-limit/index.js'
import { securityHeaders } from '../src/plugins/security-headers/index.js'
import { serverOptions } from '../src/server-options.js'
import { ask, openConnection, requestBytes } from './support/raw.js'
import { serve } from './support/serve.js'

const page = 'https://app.example'
const ofApi = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

async function frontDoor(max = 1000) {
  const app = Fastify(serverOptions())
  await app.register(problems)
  await app.register(cors, { origin: [page] })
  await app.register(securityHeaders)
  await app.register(rateLimit, { max })
  app.get('/v1/users/:id', () => ({ id: 1 }))
  return app
}

t.test('every response has the headers of cors, securityHeaders and rateLimit', async (t) => {
  const { port } = await serve(t, await frontDoor())
  for (const [method, target, status] of [
    ['GET', '/v1/users/1', 200],
    ['GET', '/v1/nothing', 404],
    ['DELETE', '/v1/users/1', 405],
    ['OPTIONS', '/v1/users/1', 204],
  ] as const) {
    const answer = await ask(port, requestBytes(method, target, { origin: page }))
    t.equal(answer.status, status)
    t.match(answer.headers, {
      ...ofApi,
      'access-control-allow-origin': page,
      vary: 'Origin',
      'ratelimit-policy': '"default";q=1000;w=60',
      ratelimit: /^"default";r=99\d;t=60$/,
    })
  }
})

t.test('a page can read the errors of a malformed URL and of a segment that is too long', async (t) => {
  const { port } = await serve(t, await frontDoor())
  for (const [target, status] of [
    ['/%zz', 400],
    [`/v1/users/${'a'.repeat(5000)}`, 414],
  ] as const) {
    const answer = await ask(port, requestBytes('GET', target, { origin: page }))
    t.equal(answer.status, status)
    t.match(answer.headers, {
      ...ofApi,
      'content-type': 'application/problem+json',
      'access-control-allow-origin': page,
      'access-control-expose-headers': /Retry-After/,
      vary: 'Origin',
    })
    const other = await ask(port, requestBytes('GET', target, { origin: 'https://other.example' }))
    t.notOk('access-control-allow-origin' in other.headers)
    t.equal(other.headers.vary, 'Origin')
  }
})

t.test('a function of origins is called for a malformed URL too, and may fail', async (t) => {
  const check = (origin: string | undefined): boolean => {
    if (origin !== page) throw new Error('no')
    return true
  }
  const ways: readonly CorsOriginFunction[] = [
    async (origin: string | undefined) => check(origin),
    (origin) => check(origin),
  ]
  for (const origin of ways) {
    const app = Fastify(serverOptions())
    await app.register(cors, { origin })
    const { port } = await serve(t, app)
    const allowed = await ask(port, requestBytes('GET', '/%zz', { origin: page }))
    t.match(allowed, { status: 400, headers: { 'access-control-allow-origin': page } })
    const failed = await ask(port, requestBytes('GET', '/%zz', { origin: 'https://other.example' }))
    t.equal(failed.status, 400)
    t.notOk('access-control-allow-origin' in failed.headers)
  }
})

t.test('the response to a malformed request line has security headers, and none of CORS', async (t) => {
  const { port } = await serve(t, await frontDoor())
  const answer = await ask(port, 'NONSENSE\r\n\r\n')
  t.equal(answer.status, 400)
  t.equal(answer.headers['x-content-type-options'], 'nosniff')
  t.notOk('vary' in answer.headers || 'access-control-allow-origin' in answer.headers)
})

t.test('the connection of a refused WebSocket handshake ends with the response', async (t) => {
  const app = await frontDoor(1)
  await app.register(websocket)
  app.get('/v1/events', { websocket: true }, (socket) => socket.close())
  const { port } = await serve(t, app)
  const fields = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  await app.inject('/v1/users/1')
  const connection = await openConnection(port)
  connection.send(
    requestBytes('GET', '/v1/events', { ...fields, 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }),
  )
  t.match(await connection.ended(), /^HTTP\/1\.1 429 .*connection: close/s)
})

t.test('over TLS there is Strict-Transport-Security, whatever the client says', async (t) => {
  const keys = { ciphers: 'PSK', maxVersion: 'TLSv1.2' } as const
  const psk = Buffer.alloc(16, 1)
  const app = Fastify({ https: { ...keys, pskCallback: () => psk } })
  await app.register(securityHeaders)
  app.get('/v1/users', () => ({}))
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const field = await strictTransport(t, { ...keys, port, pskCallback: () => ({ psk, identity: 'test' }) })
  t.equal(field, 'max-age=31536000; includeSubDomains')
})

/** What a service on TLS says of Strict-Transport-Security, to a client that claims to have come without. */
function strictTransport(t: Test, options: object): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest({
      host: '127.0.0.1',
      path: '/v1/users',
      headers: { 'x-forwarded-proto': 'http' },
      agent: false,
      checkServerIdentity: () => undefined,
      ...options,
    })
    request.on('error', reject)
    request.on('response', (response) => {
      response.resume()
      resolve(response.headers['strict-transport-security'])
    })
    t.teardown(() => request.destroy())
    request.end()
  })
}
