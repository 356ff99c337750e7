import cors from '@fastify/cors'
import Fastify, { type FastifyInstance, type FastifyServerOptions, type HTTPMethods } from 'fastify'
import t from 'tap'
import { problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'
import { ask } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const nothing = async (): Promise<object> => ({})

t.test('an unknown path is a 404 by any method (RFC 9110 §15.5.5)', async (t) => {
  const app = await appWithRoutes()
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    for (const url of ['/', '/v1', '/v1//users', '/v1/users/42/orders', '/v1/user', '/v1/dates/soon']) {
      const expected = { status: 404, code: 'not-found', title: 'Not found' }
      const response = await app.inject({ method, url: `${url}?token=secret` })
      const detail = `There is nothing at ${url}`
      isProblem(t, injected(response), { ...expected, detail }, `${method} ${url}`)
      t.notOk('allow' in response.headers, `${method} ${url}: no Allow`)
    }
  }
  const long = `/${'ab/'.repeat(1000)}`
  t.equal((await app.inject(long)).json().detail, `There is nothing at ${long.slice(0, 200)}…`)
})

t.test('a known path by another method is a 405 with Allow (RFC 9110 §15.5.6)', async (t) => {
  const app = await appWithRoutes()
  app.addHttpMethod('PROPFIND')
  app.route({ method: 'PROPFIND' as HTTPMethods, url: '/v1/own', handler: nothing })
  for (const [method, url, allow] of [
    ['DELETE', '/v1/users', 'GET, HEAD, OPTIONS, POST'],
    ['PATCH', '/v1/users?limit=3', 'GET, HEAD, OPTIONS, POST'],
    ['GET', '/v1/users/42/follow', 'OPTIONS, POST'],
    ['HEAD', '/v1/users/42/follow', 'OPTIONS, POST'],
    ['POST', '/v1/users/42', 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
    ['POST', '/files/a/b.txt', 'GET, HEAD, OPTIONS'],
    ['POST', '/child/orders', 'GET, HEAD, OPTIONS'],
    ['GET', '/v1/dates/2026-01', 'OPTIONS, PUT'],
    ['DELETE', '/v1/own', 'OPTIONS, PROPFIND'],
  ] as const) {
    const response = await app.inject({ method, url })
    t.equal(response.headers.allow, allow, `${method} ${url}`)
    t.equal(response.statusCode, 405, `${method} ${url}`)
    if (method === 'HEAD') continue
    const detail = `${method} is not among the methods of ${url.split('?')[0]}: ${allow}`
    isProblem(t, injected(response), { status: 405, code: 'method-not-allowed', detail }, `${method} ${url}`)
  }
})

t.test('Allow has no HEAD if the app has no HEAD routes', async (t) => {
  const app = await appWith({ exposeHeadRoutes: false })
  app.get('/v1/users', nothing)

  t.equal((await app.inject({ method: 'POST', url: '/v1/users' })).headers.allow, 'GET, OPTIONS')
})

t.test('OPTIONS on a known path is a 204 with Allow and no body (RFC 9110 §9.3.7)', async (t) => {
  const app = await appWithRoutes()
  app.options('/v1/own', async () => ({ own: true }))
  for (const [url, allow, patch] of [
    ['/v1/users', 'GET, HEAD, OPTIONS, POST', undefined],
    ['/v1/users/42', 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT', 'application/json'],
    ['/v1/users/42/follow?x=1', 'OPTIONS, POST', undefined],
  ] as const) {
    const { statusCode, headers, payload } = await app.inject({ method: 'OPTIONS', url })
    t.strictSame([statusCode, payload, headers.allow], [204, '', allow], url)
    t.equal(headers['accept-patch'], patch, `${url}: Accept-Patch where there is a PATCH, RFC 5789 §3.1`)
    t.notOk('content-type' in headers, url)
  }
  const refused = await app.inject({ method: 'POST', url: '/v1/users/42' })
  t.equal(refused.headers['accept-patch'], 'application/json', 'a 405 has it too')
  const own = await app.inject({ method: 'OPTIONS', url: '/v1/own' })
  t.strictSame(own.json(), { own: true }, 'an OPTIONS route of the app is not changed')
})

t.test('OPTIONS * is 204 without Allow, whatever the app parses (RFC 9110 §9.3.7)', async (t) => {
  const app = await appWithRoutes()
  app.get('/', nothing)
  const { port } = await serve(t, app)
  const answer = await ask(port, 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  t.equal(answer.status, 204)
  t.notOk('allow' in answer.headers)
  for (const target of ['*', '*?a', '*/'])
    t.equal((await ask(port, `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)).status, 400)
})

t.test('Accept-Patch names what any context with PATCH routes parses', async (t) => {
  const app = await appWith({})
  for (const name of ['merge', 'other']) {
    app.register(async (child) => {
      if (name === 'merge')
        child.addContentTypeParser('application/merge-patch+json', (_request, _payload, done) => done(null))
      child.patch(`/v1/${name}`, nothing)
    })
  }
  const { headers } = await app.inject({ method: 'OPTIONS', url: '/v1/merge' })
  t.equal(headers['accept-patch'], 'application/merge-patch+json, application/json')
})

t.test('the OPTIONS route of @fastify/cors does not make all paths known', async (t) => {
  const origin = { origin: 'https://a.example' }
  const preflight = { ...origin, 'access-control-request-method': 'GET' }
  for (const order of ['before', 'after']) {
    const app = Fastify()
    if (order === 'before') await app.register(cors)
    await app.register(problems)
    if (order === 'after') await app.register(cors)
    app.get('/v1/users', nothing)
    for (const [method, url, headers, status] of [
      ['GET', '/nothing', origin, 404],
      ['POST', '/nothing', origin, 404],
      ['DELETE', '/v1/users', origin, 405],
      ['OPTIONS', '/v1/users', preflight, 204],
    ] as const) {
      const answer = await app.inject({ method, url, headers })
      const code = status === 404 ? 'not-found' : 'method-not-allowed'
      if (status === 204) t.equal(answer.statusCode, 204, `cors ${order}: a preflight`)
      else isProblem(t, injected(answer), { status, code }, `cors ${order}: ${method} ${url}`)
      t.equal(answer.headers['access-control-allow-origin'], '*', `cors ${order}: a browser can read it`)
    }
  }
})

t.test('routes with constraints count for requests that match them', async (t) => {
  const app = await appWith({})
  app.get('/v1/hosted', { constraints: { host: 'a.example' } }, nothing)
  app.get('/v1/versioned', { constraints: { version: '1.2.0' } }, nothing)
  app.get('/v1/both', nothing)
  app.put('/v1/both', { constraints: { version: '2.0.0' } }, nothing)
  const table = [
    ['/v1/hosted', { host: 'a.example' }, 405, 'GET, HEAD, OPTIONS'],
    ['/v1/hosted', { host: 'b.example' }, 404, undefined],
    ['/v1/versioned', { 'accept-version': '1.x' }, 405, 'GET, HEAD, OPTIONS'],
    ['/v1/versioned', { 'accept-version': '2.x' }, 404, undefined],
    ['/v1/versioned', {}, 404, undefined],
    ['/v1/both', {}, 405, 'GET, HEAD, OPTIONS'],
    ['/v1/both', { 'accept-version': '2.x' }, 405, 'OPTIONS, PUT'],
  ] as const

  for (const [url, headers, status, allow] of table) {
    const response = await app.inject({ method: 'POST', url, headers })
    t.equal(response.statusCode, status, `${url} ${JSON.stringify(headers)}`)
    t.equal(response.headers.allow, allow, `${url} ${JSON.stringify(headers)}`)
  }
})

t.test('options of the router, such as ignoreTrailingSlash, apply to known paths', async (t) => {
  const app = await appWith({ routerOptions: { ignoreTrailingSlash: true, caseSensitive: false } })
  app.get('/v1/users', nothing)

  for (const url of ['/v1/users/', '/V1/Users']) {
    t.equal((await app.inject({ method: 'POST', url })).statusCode, 405, url)
  }
})

t.test('RFC 9110 §15.5.15: a segment too long for a parameter is a 414 at every position', async (t) => {
  for (const [options, longest] of [
    [{}, 100],
    [{ routerOptions: { maxParamLength: 150 } }, 150],
  ] as const) {
    const app = await appWith(options)
    app.get('/v1/users', nothing)
    for (const prefix of ['/', '/v1/', '/v1/users/', '/nothing/']) {
      const fits = await app.inject(`${prefix}${'x'.repeat(longest)}/y`)
      isProblem(t, injected(fits), { status: 404, code: 'not-found' }, `${prefix} ${longest}`)
      const over = await app.inject(`${prefix}${'x'.repeat(longest + 1)}/y`)
      const detail = 'A segment of the path is too long'
      isProblem(t, injected(over), { status: 414, code: 'uri-too-long', detail }, `${prefix} ${longest + 1}`)
    }
    t.equal((await app.inject(`/v1/users?name=${'x'.repeat(5000)}`)).statusCode, 200, 'a query may be long')
  }
})

async function appWith(options: FastifyServerOptions): Promise<FastifyInstance> {
  const app = Fastify(options)
  await app.register(problems)
  return app
}

async function appWithRoutes(): Promise<FastifyInstance> {
  const app = await appWith({})
  app.get('/v1/users', nothing)
  app.post('/v1/users', nothing)
  app.route({ method: ['GET', 'PUT', 'PATCH', 'DELETE'], url: '/v1/users/:id', handler: nothing })
  app.post('/v1/users/:id/follow', nothing)
  app.put('/v1/dates/:year(^\\d{4})-:month', nothing)
  app.get('/files/*', nothing)
  app.register(async (child) => void child.get('/orders', nothing), { prefix: '/child' })
  return app
}
