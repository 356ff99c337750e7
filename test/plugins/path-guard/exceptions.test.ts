import Fastify from 'fastify'
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
  const legacy = ['version', 'plural', 'underscore'] as const
  const next = 'goes with the next major version'
  await app.register(pathGuard, {
    exceptions: [
      { url: '/stats', except: ['version'], reason: 'scraped by the monitoring' },
      { url: '/legacy/*', except: legacy, reason: next },
    ],
  })
  for (const path of ['/stats', '/legacy/user/:id', '/legacy/order_items']) app.get(path, nothing)
  await app.ready()
  const { exceptions } = app.conventions.report()
  t.strictSame(
    exceptions.map(({ route, rules, reason }) => [route, rules, reason]),
    [
      ['GET /stats', ['version'], 'scraped by the monitoring'],
      ['GET /legacy/user/:id', legacy, next],
      ['GET /legacy/order_items', legacy, next],
    ],
  )
})

t.test('the url of an exception is a whole pattern; /* is for the path and all below', async (t) => {
  const boot = async (url: string, ...paths: string[]) => {
    const app = Fastify()
    await app.register(pathGuard, { exceptions: [{ url, except: ['version'], reason: 'monitoring' }] })
    for (const path of paths) app.get(path, nothing)
    app.register(async (child) => void (url === '/*' && child.get('/users', nothing)), {
      prefix: '/internals',
    })
    await app.ready()
  }
  for (const url of ['/stat', '/stats/', '/*/stats', '/v1/stats'])
    await t.rejects(boot(url, '/stats'), { code: 'FST_CONV_FINDINGS' }, url)
  await t.resolves(boot('/stats/*', '/stats', '/stats/cpus'))
  await t.resolves(boot('/*', '/stats'))
})

t.test('an exception is in the debug log, and reported once for GET and HEAD', async (t) => {
  const { logger, lines } = keepLogs('debug')
  const app = Fastify({ logger })
  await app.register(pathGuard)
  app.get('/v1/order_items', excepted(['underscore'], 'published before the rule'), nothing)
  await app.ready()
  const line = lines.find(({ msg }) => msg === 'conventions: exception')
  t.match(line, { level: levels.debug, ...exception('GET /v1/order_items', ['underscore']) })
  t.equal(app.conventions.report().exceptions.length, 1)
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/order_items' })).statusCode, 200, 'and holds for it')
})

t.test('wildcard, WebSocket and hidden routes are not checked, and listed with the reason', async (t) => {
  const hidden = 'hidden from the OpenAPI document: not part of the API'
  const left: readonly (readonly [url: string, options: object, reason: string])[] = [
    ['/Files/*', {}, 'a wildcard route: files or a proxy'],
    ['*', {}, 'a wildcard route: files or a proxy'],
    ['/Socket', { websocket: true }, 'a WebSocket route'],
    ['/Docs_page', { schema: { hide: true } }, hidden],
    ['/get_User', { config: { pathGuard: false } }, 'config.pathGuard is false'],
  ]
  for (const [url, options, reason] of left) {
    const app = Fastify()
    await app.register(pathGuard)
    app.get(url, options, nothing)
    await app.ready()
    const { findings, exceptions } = app.conventions.report()
    t.strictSame(findings, [], url)
    t.match(exceptions, [{ route: `GET ${url}`, reason }], url)
    t.strictSame([exceptions.length, exceptions[0]?.rules.length], [1, 8], `${url}: all rules`)
  }
})

t.test('websocket: false and hide: false exclude no route', async (t) => {
  for (const route of [{ websocket: false }, { schema: { hide: false } }] as object[]) {
    const app = Fastify()
    await app.register(pathGuard)
    app.route({ method: 'GET', url: '/v1/Users', handler: nothing, ...route })
    await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS' }, JSON.stringify(route))
  }
})

function excepted(except: readonly ('underscore' | 'plural' | 'version' | 'words')[], reason: string) {
  return { config: { pathGuard: { except, reason } } }
}

function exception(route: string, rules: readonly string[]): Exception {
  const reason = 'published before the rule'
  return { plugin: 'pathGuard', route, rules, reason, declared: true }
}
