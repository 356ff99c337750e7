import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import t from 'tap'
import { type Exception, pathGuard } from '../../../src/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { rethrowUnwrapped } from '../../support/report-table.js'

const nothing = async (): Promise<object> => ({})

t.test('an exception of a route lets it boot, and the report lists it with its reason', async (t) => {
  const app = Fastify()
  await app.register(pathGuard)
  app.post('/v1/users/:id/verify_email', excepted(['underscore'], 'published before the rule'), nothing)
  app.post('/v1/user/:id/follow', excepted(['plural'], 'published before the rule'), nothing)
  await app.ready()

  t.strictSame(app.conventions.report().exceptions, [
    exception('POST /v1/users/:id/verify_email', ['underscore']),
    exception('POST /v1/user/:id/follow', ['plural']),
  ])
  t.equal((await app.inject({ method: 'POST', url: '/v1/users/42/verify_email' })).statusCode, 200)
})

t.test('an exception applies to its own rules only', async (t) => {
  const app = Fastify()
  await app.register(pathGuard)
  app.get('/user_group/:id', excepted(['underscore', 'version'], 'published before the rule'), nothing)

  await t.rejects(async () => app.ready().then(undefined, rethrowUnwrapped), {
    code: 'FST_CONV_FINDINGS',
    message: /^1 breach[^\n]*\n\n[^\n]*\n[^\n]*\nGET \/user_group\/:id +pathGuard\.plural [^\n]*\n\nrule /,
  })
})

t.test('the plugin takes exceptions for routes whose config is out of reach', async (t) => {
  const app = Fastify()
  await app.register(pathGuard, {
    exceptions: [
      { url: '/stats', except: ['version'], reason: 'scraped by the monitoring' },
      {
        url: '/legacy/*',
        except: ['version', 'plural', 'underscore'],
        reason: 'goes with the next major version',
      },
    ],
  })
  for (const path of ['/stats', '/legacy/user/:id', '/legacy/order_items']) app.get(path, nothing)
  await app.ready()

  t.strictSame(
    app.conventions.report().exceptions.map(({ route, rules, reason }) => [route, rules, reason]),
    [
      ['GET /stats', ['version'], 'scraped by the monitoring'],
      ['GET /legacy/user/:id', ['version', 'plural', 'underscore'], 'goes with the next major version'],
      ['GET /legacy/order_items', ['version', 'plural', 'underscore'], 'goes with the next major version'],
    ],
  )
})

t.test(
  'the url of an exception is the whole pattern, and a final /* matches the path before it and everything below',
  async (t) => {
    for (const url of ['/stat', '/stats/', '/*/stats', '/v1/stats']) {
      const app = Fastify()
      await app.register(pathGuard, { exceptions: [{ url, except: ['version'], reason: 'monitoring' }] })
      app.get('/stats', nothing)
      await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS' }, url)
    }
    const below = Fastify()
    const exception = { url: '/stats/*', except: ['version'], reason: 'monitoring' } as const
    await below.register(pathGuard, { exceptions: [exception] })
    for (const url of ['/stats', '/stats/cpus']) below.get(url, nothing)
    await below.ready()

    const app = Fastify()
    await app.register(pathGuard, {
      exceptions: [{ url: '/*', except: ['version'], reason: 'behind a gateway' }],
    })
    app.get('/stats', nothing)
    app.register(async (child) => void child.get('/users', nothing), { prefix: '/internals' })
    await app.ready()
  },
)

t.test('an unused exception is marked in the report and logged', async (t) => {
  const logs = keepLogs('warn')
  const app = Fastify({ logger: logs.logger })
  await app.register(pathGuard, {
    exceptions: [{ url: '/v1/orders', except: ['version'], reason: 'of old' }],
  })
  app.get('/v1/users', excepted(['plural', 'words'], 'published before the rule'), nothing)
  app.get('/v1/order_items', excepted(['plural', 'underscore'], 'published before the rule'), nothing)
  app.get('/v1/orders', nothing)
  await app.ready()

  const unused = Object.fromEntries(
    app.conventions.report().exceptions.map(({ route, unused }) => [route, unused]),
  )
  t.strictSame(unused, { 'GET /v1/users': true, 'GET /v1/order_items': false, '/v1/orders': true })
  t.strictSame(
    logs.lines.map(({ level, msg }) => [level, msg]),
    [
      [levels.warn, 'conventions: GET /v1/users keeps pathGuard.plural, words: the exception can be removed'],
      [levels.warn, 'conventions: /v1/orders keeps pathGuard.version: the exception can be removed'],
    ],
  )
})

t.test('an exception of the plugin is used if one of its routes needs it', async (t) => {
  const logs = keepLogs('warn')
  const app = Fastify({ logger: logs.logger })
  await app.register(pathGuard, { exceptions: [{ url: '/v1/*', except: ['underscore'], reason: 'of old' }] })
  for (const path of ['/v1/users', '/v1/order_items', '/v1/orders']) app.get(path, nothing)
  await app.ready()

  t.strictSame(logs.lines, [])
  t.strictSame(
    app.conventions.report().exceptions.map(({ route, unused }) => [route, unused]),
    [
      ['GET /v1/users', false],
      ['GET /v1/order_items', false],
      ['GET /v1/orders', false],
    ],
  )
})

t.test('an exception of the plugin that no route needs is reported once', async (t) => {
  const logs = keepLogs('warn')
  const app = Fastify({ logger: logs.logger })
  await app.register(pathGuard, { exceptions: [{ url: '/v1/*', except: ['underscore'], reason: 'of old' }] })
  for (const path of ['/v1/users', '/v1/orders']) app.get(path, nothing)
  await app.ready()

  t.match(logs.lines, [
    { msg: 'conventions: /v1/* keeps pathGuard.underscore: the exception can be removed' },
  ])
  t.equal(logs.lines.length, 1)
})

t.test('exceptions are in the debug log', async (t) => {
  const logs = keepLogs('debug')
  const app = Fastify({ logger: logs.logger })
  await app.register(pathGuard)
  app.get('/v1/order_items', excepted(['underscore'], 'published before the rule'), nothing)
  await app.ready()

  const line = logs.lines.find(({ msg }) => msg === 'conventions: exception')
  t.match(line, { level: levels.debug, ...exception('GET /v1/order_items', ['underscore']) })
})

t.test('an exception is reported once for a GET route and its HEAD route', async (t) => {
  const app = Fastify()
  await app.register(pathGuard)
  app.get('/v1/order_items', excepted(['underscore'], 'published before the rule'), nothing)
  await app.ready()

  t.equal(app.conventions.report().exceptions.length, 1)
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/order_items' })).statusCode, 200, 'and holds for it')
})

t.test(
  'wildcard, WebSocket and hidden routes are not checked at boot, and are listed with the reason',
  async (t) => {
    const left: ReadonlyArray<
      readonly [about: string, route: Partial<RouteOptions> & { url: string }, reason: string]
    > = [
      ['a wildcard', { url: '/Files/*' }, 'a wildcard route: files or a proxy'],
      ['a wildcard for all', { url: '*' }, 'a wildcard route: files or a proxy'],
      ['a WebSocket', { url: '/Socket', websocket: true } as { url: string }, 'a WebSocket route'],
      [
        'hidden from OpenAPI',
        { url: '/Docs_page', schema: { hide: true } as object },
        'hidden from the OpenAPI document: not part of the API',
      ],
      ['by its config', { url: '/get_User', config: { pathGuard: false } }, 'config.pathGuard is false'],
    ]
    for (const [about, route, reason] of left) {
      const app = Fastify()
      await app.register(pathGuard)
      app.route({ method: 'GET', handler: nothing, ...route })
      await app.ready()

      const { findings, exceptions } = app.conventions.report()
      t.strictSame(findings, [], about)
      t.strictSame(
        exceptions.map(({ route, reason, unused }) => [route, reason, unused]),
        [[`GET ${route.url}`, reason, false]],
        about,
      )
      t.strictSame(exceptions[0]?.rules.length, 8, `${about}: all rules`)
    }
  },
)

t.test('websocket: false and hide: false exclude no route', async (t) => {
  for (const route of [{ websocket: false }, { schema: { hide: false } }] as object[]) {
    const app: FastifyInstance = Fastify()
    await app.register(pathGuard)
    app.route({ method: 'GET', url: '/v1/Users', handler: nothing, ...route })
    await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS' }, JSON.stringify(route))
  }
})

function excepted(except: readonly ('underscore' | 'plural' | 'version' | 'words')[], reason: string) {
  return { config: { pathGuard: { except, reason } } }
}

function exception(route: string, rules: readonly string[]): Exception {
  return {
    plugin: 'pathGuard',
    route,
    rules,
    reason: 'published before the rule',
    declared: true,
    unused: false,
  }
}
