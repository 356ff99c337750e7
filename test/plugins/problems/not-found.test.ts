import cors from '@fastify/cors'
import Fastify, { type FastifyInstance, type FastifyServerOptions, type HTTPMethods } from 'fastify'
import t, { type Test } from 'tap'
import { problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'
import { ask } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const nothing = async (): Promise<object> => ({})

t.test('an unknown path is a 404 by any method (RFC 9110 §15.5.5)', async (t) => {
  const app = await appWithRoutes()
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    for (const url of [
      '/',
      '/nothing',
      '/v1',
      '/v1//users',
      '/v1/users/42/orders',
      '/v2/users',
      '/v1/user',
    ]) {
      const expected = {
        status: 404,
        code: 'not-found',
        title: 'Not found',
        detail: `There is nothing at ${url}`,
      }
      const response = await app.inject({ method, url })
      isProblem(t, injected(response), expected, `${method} ${url}`)
      t.notOk('allow' in response.headers, `${method} ${url}: no Allow`)
    }
  }
})

t.test('the detail has no query, and a long path is cut', async (t) => {
  const app = await appWithRoutes()

  t.equal((await app.inject('/nothing?token=secret')).json().detail, 'There is nothing at /nothing')
  const long = `/${'ab/'.repeat(1000)}`
  t.equal((await app.inject(long)).json().detail, `There is nothing at ${long.slice(0, 200)}…`)
})

t.test('a known path by another method is a 405 with Allow (RFC 9110 §15.5.6)', async (t) => {
  const app = await appWithRoutes()
  const table = [
    ['DELETE', '/v1/users', 'GET, HEAD, OPTIONS, POST'],
    ['PATCH', '/v1/users?limit=3', 'GET, HEAD, OPTIONS, POST'],
    ['GET', '/v1/users/42/follow', 'OPTIONS, POST'],
    ['HEAD', '/v1/users/42/follow', 'OPTIONS, POST'],
    ['POST', '/v1/users/42', 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
    ['POST', '/files/a/b.txt', 'GET, HEAD, OPTIONS'],
    ['POST', '/child/orders', 'GET, HEAD, OPTIONS'],
    ['GET', '/v1/dates/2026-01', 'OPTIONS, PUT'],
  ] as const

  for (const [method, url, allow] of table) {
    const response = await app.inject({ method, url })
    t.equal(response.headers.allow, allow, `${method} ${url}`)
    const path = url.split('?')[0]
    const detail = `${method} is not among the methods of ${path}: ${allow}`
    if (method === 'HEAD') t.equal(response.statusCode, 405)
    else
      isProblem(
        t,
        injected(response),
        { status: 405, code: 'method-not-allowed', detail },
        `${method} ${url}`,
      )
  }
})

t.test('a path that only a parameter with a regular expression could serve is a 404', async (t) => {
  const app = await appWithRoutes()

  isProblem(t, injected(await app.inject('/v1/dates/soon')), { status: 404, code: 'not-found' })
})

t.test('Allow has no HEAD if the app has no HEAD routes', async (t) => {
  const app = await appWith({ exposeHeadRoutes: false })
  app.get('/v1/users', nothing)

  t.equal((await app.inject({ method: 'POST', url: '/v1/users' })).headers.allow, 'GET, OPTIONS')
})

t.test('Allow names methods that the app added itself', async (t) => {
  const app = await appWith({})
  app.addHttpMethod('PROPFIND')
  app.route({ method: 'PROPFIND' as HTTPMethods, url: '/v1/users', handler: nothing })

  t.equal((await app.inject({ method: 'DELETE', url: '/v1/users' })).headers.allow, 'OPTIONS, PROPFIND')
})

t.test('OPTIONS on a known path is a 204 with Allow and no body (RFC 9110 §9.3.7)', async (t) => {
  const app = await appWithRoutes()
  const table = [
    ['/v1/users', 'GET, HEAD, OPTIONS, POST', undefined],
    ['/v1/users/42', 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT', 'application/json'],
    ['/v1/users/42/follow?x=1', 'OPTIONS, POST', undefined],
  ] as const

  for (const [url, allow, patch] of table) {
    const { statusCode, headers, payload } = await app.inject({ method: 'OPTIONS', url })
    t.equal(statusCode, 204, url)
    t.equal(headers.allow, allow, url)
    t.equal(headers['accept-patch'], patch, `${url}: Accept-Patch where there is a PATCH, RFC 5789 §3.1`)
    t.equal(payload, '', url)
    t.notOk('content-type' in headers, url)
  }
})

t.test('a 405 has Accept-Patch too', async (t) => {
  const app = await appWithRoutes()
  const response = await app.inject({ method: 'POST', url: '/v1/users/42' })

  t.equal(response.headers['accept-patch'], 'application/json')
})

t.test('Accept-Patch has the media types of the route’s context, not those of the root', async (t) => {
  const app = await appWith({})
  app.register(async (child) => {
    child.addContentTypeParser('application/merge-patch+json', (_request, _payload, done) => done(null, {}))
    child.patch('/v1/users/:id', nothing)
  })

  const { headers } = await app.inject({ method: 'OPTIONS', url: '/v1/users/42' })
  t.equal(headers['accept-patch'], 'application/merge-patch+json, application/json')
})

t.test('OPTIONS * is 204 without Allow, whatever the app parses (RFC 9110 §9.3.7)', async (t) => {
  const { port } = await serve(t, await appWithRoutes())
  const answer = await ask(port, 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  t.equal(answer.status, 204)
  t.notOk('allow' in answer.headers)
  t.equal((await ask(port, 'GET * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).status, 404)
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

t.test('an OPTIONS route of the app is not changed', async (t) => {
  const app = await appWith({})
  app.get('/v1/users', nothing)
  app.options('/v1/users', async () => ({ own: true }))

  t.strictSame((await app.inject({ method: 'OPTIONS', url: '/v1/users' })).json(), { own: true })
})

t.test('the OPTIONS route of @fastify/cors does not make all paths known', async (t) => {
  for (const order of ['before', 'after']) {
    const app = Fastify()
    if (order === 'before') await app.register(cors)
    await app.register(problems)
    if (order === 'after') await app.register(cors)
    app.get('/v1/users', nothing)

    for (const method of ['GET', 'POST'] as const) {
      const answer = injected(await app.inject({ method, url: '/nothing' }))
      isProblem(t, answer, { status: 404, code: 'not-found' }, `cors ${order}: ${method}`)
    }
    const other = await app.inject({
      method: 'DELETE',
      url: '/v1/users',
      headers: { origin: 'https://a.example' },
    })
    isProblem(t, injected(other), { status: 405, code: 'method-not-allowed' }, `cors ${order}: DELETE`)
    t.equal(other.headers['access-control-allow-origin'], '*', `cors ${order}: a browser can read the 405`)
    const preflight = await app.inject({
      method: 'OPTIONS',
      url: '/v1/users',
      headers: { origin: 'https://a.example', 'access-control-request-method': 'GET' },
    })
    t.equal(preflight.statusCode, 204, `cors ${order}: a preflight`)
    t.equal(preflight.headers['access-control-allow-origin'], '*', `cors ${order}: a preflight`)
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

t.test(
  'a segment that is too long for a parameter is a 414 at every position (RFC 9110 §15.5.15)',
  async (t) => {
    await isLimit(t, {}, 100)
    await isLimit(t, { routerOptions: { maxParamLength: 150 } }, 150)
  },
)

async function isLimit(t: Test, options: FastifyServerOptions, longest: number): Promise<void> {
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
