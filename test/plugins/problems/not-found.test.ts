import cors from '@fastify/cors'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type HTTPMethods,
} from 'fastify'
import t from 'tap'
import conventions, { problems } from '../../../src/index.js'
import { ask, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { appWith, refuses } from './support.js'

const nothing = async (): Promise<object> => ({})

async function appWithRoutes(): Promise<FastifyInstance> {
  const app = await appWith()
  app.route({ method: ['GET', 'POST'], url: '/v1/users', handler: nothing })
  app.route({ method: ['GET', 'PUT', 'PATCH', 'DELETE'], url: '/v1/users/:id', handler: nothing })
  app.post('/v1/users/:id/follow', nothing)
  app.put('/v1/dates/:year(^\\d{4})-:month', nothing)
  app.get('/files/*', nothing)
  app.register(
    async (child) => {
      child.addContentTypeParser('application/merge-patch+json', (_request, _payload, done) => done(null))
      child.route({ method: ['GET', 'PATCH'], url: '/orders', handler: nothing })
    },
    { prefix: '/child' },
  )
  return app
}

t.test('an unknown path is a 404 by any method (RFC 9110 §15.5.5)', async (t) => {
  const app = await appWithRoutes()
  for (const method of ['GET', 'POST', 'OPTIONS'] as const) {
    for (const path of ['/', '/v1', '/v1//users', '/v1/users/42/orders', '/v1/user', '/v1/dates/soon']) {
      const detail = `There is nothing at ${path}`
      const expected = { status: 404, code: 'not-found', title: 'Not found', detail }
      const request = { method, url: `${path}?token=secret` }
      const { headers } = await refuses(t, app, request, expected, `${method} ${path}`)
      t.notOk('allow' in headers, `${method} ${path}: no Allow`)
    }
  }
  const long = `/${'ab/'.repeat(1000)}`
  t.equal((await app.inject(long)).json().detail, `There is nothing at ${long.slice(0, 200)}…`)
})

t.test('a known path by another method is a 405 with Allow, by OPTIONS a 204 with it', async (t) => {
  const app = await appWithRoutes()
  app.options('/v1/options', async () => ({ own: true }))
  app.addHttpMethod('PROPFIND')
  app.route({ method: 'PROPFIND' as HTTPMethods, url: '/v1/own', handler: nothing })
  for (const [method, url, allow] of [
    ['DELETE', '/v1/users', 'GET, HEAD, OPTIONS, POST'],
    ['PATCH', '/v1/users?limit=3', 'GET, HEAD, OPTIONS, POST'],
    ['GET', '/v1/users/42/follow', 'OPTIONS, POST'],
    ['POST', '/v1/users/42', 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
    ['POST', '/files/a/b.txt', 'GET, HEAD, OPTIONS'],
    ['POST', '/child/orders', 'GET, HEAD, OPTIONS, PATCH'],
    ['GET', '/v1/dates/2026-01', 'OPTIONS, PUT'],
    ['DELETE', '/v1/own', 'OPTIONS, PROPFIND'],
  ] as const) {
    const detail = `${method} is not among the methods of ${url.split('?')[0]}: ${allow}`
    const expected = { status: 405, code: 'method-not-allowed', detail }
    const refused = await refuses(t, app, { method, url }, expected, `RFC 9110 §15.5.6: ${method} ${url}`)
    const options = await app.inject({ method: 'OPTIONS', url })
    t.strictSame([options.statusCode, options.payload], [204, ''], `RFC 9110 §9.3.7: OPTIONS ${url}`)
    t.notOk('content-type' in options.headers, url)
    // What any context with PATCH routes parses.
    const patch = allow.includes('PATCH') ? 'application/merge-patch+json, application/json' : undefined
    for (const { headers } of [refused, options])
      t.strictSame([headers.allow, headers['accept-patch']], [allow, patch], `RFC 5789 §3.1: ${url}`)
  }
  const own = await app.inject({ method: 'OPTIONS', url: '/v1/options' })
  t.strictSame(own.json(), { own: true }, 'an OPTIONS route of the app is not changed')
})

t.test('OPTIONS * is 204 without Allow, whatever the app parses (RFC 9110 §9.3.7)', async (t) => {
  const app = await appWithRoutes()
  app.get('/', nothing)
  const { port } = await serve(t, app)
  const answer = await ask(port, requestBytes('OPTIONS', '*'))
  t.strictSame([answer.status, answer.headers.allow], [204, undefined])
  for (const target of ['*', '*?a', '*/'])
    t.equal((await ask(port, requestBytes('GET', target))).status, 400, target)
})

t.test('the OPTIONS route of @fastify/cors does not make all paths known', async (t) => {
  const origin = { origin: 'https://a.example' }
  for (const order of ['before', 'after']) {
    const app = Fastify()
    if (order === 'before') await app.register(cors)
    await app.register(problems)
    if (order === 'after') await app.register(cors)
    app.get('/v1/users', nothing)
    for (const [method, url, status, code] of [
      ['GET', '/nothing', 404, 'not-found'],
      ['DELETE', '/v1/users', 405, 'method-not-allowed'],
    ] as const) {
      const about = `cors ${order}: ${method} ${url}`
      const { headers } = await refuses(t, app, { method, url, headers: origin }, { status, code }, about)
      t.equal(headers['access-control-allow-origin'], '*', `${about}: a browser can read it`)
    }
  }
})

t.test('known paths are those of the router, by its options and constraints', async (t) => {
  const routerOptions = { ignoreTrailingSlash: true, caseSensitive: false }
  const app = await appWith({}, { routerOptions, exposeHeadRoutes: false })
  app.get('/v1/users', nothing)
  app.get('/v1/hosted', { constraints: { host: 'a.example' } }, nothing)
  app.get('/v1/versioned', { constraints: { version: '1.2.0' } }, nothing)
  app.get('/v1/both', nothing)
  app.put('/v1/both', { constraints: { version: '2.0.0' } }, nothing)
  for (const [url, headers, status, allow] of [
    ['/v1/users/', {}, 405, 'GET, OPTIONS'],
    ['/V1/Users', {}, 405, 'GET, OPTIONS'],
    ['/v1/hosted', { host: 'a.example' }, 405, 'GET, OPTIONS'],
    ['/v1/hosted', { host: 'b.example' }, 404, undefined],
    ['/v1/versioned', { 'accept-version': '1.x' }, 405, 'GET, OPTIONS'],
    ['/v1/versioned', { 'accept-version': '2.x' }, 404, undefined],
    ['/v1/versioned', {}, 404, undefined],
    ['/v1/both', {}, 405, 'GET, OPTIONS'],
    ['/v1/both', { 'accept-version': '2.x' }, 405, 'OPTIONS, PUT'],
  ] as const) {
    const response = await app.inject({ method: 'POST', url, headers })
    const about = `${url} ${JSON.stringify(headers)}`
    t.strictSame([response.statusCode, response.headers.allow], [status, allow], about)
  }
})

t.test('RFC 9110 §15.5.15: a segment too long for a parameter is a 414 at every position', async (t) => {
  for (const [options, longest] of [
    [{}, 100],
    [{ routerOptions: { maxParamLength: 150 } }, 150],
  ] as const) {
    const app = await appWith({}, options)
    app.get('/v1/users', nothing)
    const tooLong = { status: 414, code: 'uri-too-long', detail: 'A segment of the path is too long' }
    for (const prefix of ['/', '/v1/users/']) {
      const urlOf = (length: number) => `${prefix}${'x'.repeat(length)}/y`
      await refuses(t, app, urlOf(longest), { status: 404, code: 'not-found' }, `${prefix} ${longest}`)
      await refuses(t, app, urlOf(longest + 1), tooLong, `${prefix} ${longest + 1}`)
    }
    t.equal((await app.inject(`/v1/users?name=${'x'.repeat(5000)}`)).statusCode, 200, 'a query may be long')
  }
})

const own = { own: true }
const notFound = { status: 404, code: 'not-found' }

type Step = (app: FastifyInstance) => unknown
const set: Step = (app) => app.setNotFoundHandler((_request, reply) => void reply.code(404).send(own))
const plug: Step = (app) => app.register(problems)

t.test('a not-found handler of the app is kept, set before or after; a finding says so', async (t) => {
  const preset: Step = (app) => app.register(conventions, { pathGuard: false })
  const setLater: Step = (app) => app.register(async (child) => void set(child))
  const orders: readonly (readonly [about: string, steps: readonly Step[], prefix?: string])[] = [
    ['before', [set, plug]],
    ['before, below a prefix', [set, plug], '/v1'],
    ['after the preset', [preset, set]],
    ['in a plugin that is registered later', [plug, setLater]],
  ]
  for (const [about, steps, prefix = ''] of orders) {
    const app = Fastify()
    let report = () => app.conventions.report()
    await app.register(
      async (child) => {
        for (const step of steps) await step(child)
        child.get('/orders', { config: { pathGuard: false } }, async () => ({}))
        child.get('/unknown', async (_request, reply) => reply.callNotFound())
        report = () => child.conventions.report()
      },
      { prefix },
    )
    for (const [method, path] of [
      ['GET', '/nothing'],
      ['GET', '/unknown'],
      ['POST', '/orders'],
    ] as const) {
      const answer = await app.inject({ method, url: `${prefix}${path}` })
      t.strictSame(answer.json(), own, `${about}: ${method} ${path}`)
    }
    t.match(report().findings, [{ rule: 'not-found-handler', route: '*', effect: 'none' }], about)
  }
  for (const mode of ['report', 'off'] as const) {
    const app = Fastify()
    set(app)
    await app.register(problems, { mode })
    await app.ready()
    t.equal(app.conventions.report().findings.length, mode === 'report' ? 1 : 0, mode)
  }
})

t.test('a not-found handler that replaces the plugin’s has its own hooks and context', async (t) => {
  const app = await appWith()
  const steps: string[] = []
  app.register(async (child) => {
    child.decorate('own', 'child')
    const preValidation = async () => void steps.push('preValidation')
    const preHandler = async function (this: FastifyInstance) {
      steps.push(`preHandler ${'own' in this}`)
    }
    child.setNotFoundHandler({ preValidation, preHandler }, function (this: FastifyInstance, _, reply) {
      reply.code(404).send({ isChild: 'own' in this })
    })
  })
  t.strictSame((await app.inject('/nothing')).json(), { isChild: true })
  t.strictSame(steps, ['preValidation', 'preHandler true'])
})

t.test('contexts beside each other with one prefix share the not-found handler of the first', async (t) => {
  const app = Fastify()
  const reports: unknown[] = []
  for (const name of ['users', 'orders']) {
    app.register(async (child) => {
      await child.register(problems)
      child.get(`/${name}`, async () => ({}))
      child.addHook('onReady', async () => void reports.push(child.conventions.report().findings))
    })
  }
  await refuses(t, app, '/nothing', notFound)
  t.strictSame(reports, [[], []])
})

t.test('below a prefix, a child context may have its own not-found handler, or the plugin', async (t) => {
  const app = await appWith()
  app.register(async (child) => void set(child), { prefix: '/site' })
  t.strictSame((await app.inject('/site/nothing')).json(), own)
  await refuses(t, app, '/nothing', notFound)

  const other = Fastify()
  const plugin = async (child: FastifyInstance) => {
    await child.register(problems)
    child.get('/users', async () => ({}))
  }
  other.register(plugin, { prefix: '/v1' })
  await refuses(t, other, '/v1/nothing', notFound)
  await refuses(t, other, { method: 'POST', url: '/v1/users' }, { status: 405, code: 'method-not-allowed' })
  t.equal((await other.inject('/nothing')).json().statusCode, 404, 'outside it is Fastify that answers')
})

t.test('reply.callNotFound() is a 404 for every method, and not a 405', async (t) => {
  const app = Fastify()
  await app.register(conventions)
  const handler = (_request: FastifyRequest, reply: FastifyReply) => reply.callNotFound()
  app.route({ method: ['GET', 'DELETE'], url: '/v1/users/:id', handler })
  for (const method of ['GET', 'DELETE'] as const) {
    const expected = { ...notFound, detail: 'There is nothing at /v1/users/42' }
    const { headers } = await refuses(t, app, { method, url: '/v1/users/42' }, expected)
    t.notOk('allow' in headers, `${method}: no Allow`)
  }
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/users/42' })).statusCode, 404)
})
