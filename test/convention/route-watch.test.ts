import Fastify, { type FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import t from 'tap'
import type { ConventionsReport } from '../../src/index.js'
import { unwrapped } from '../support/report-table.js'

// Created before the package is loaded, as where an app says `require('fastify-conventions')` in its `register` call.
const createdBefore = Array.from({ length: 6 }, () => Fastify())
const { conventions, lists, pathGuard, caching } = await import('../../src/index.js')

const createdEarly = () => createdBefore.pop() ?? Fastify()
const handler = async () => ({})

async function bootError(app: FastifyInstance): Promise<string> {
  const error = await app.ready().then(
    () => null,
    (error: Error & { code: string }) => error,
  )
  await app.close()
  return error === null ? 'boots' : `${error.code} ${unwrapped(error.message)}`
}

async function reportOf(app: FastifyInstance): Promise<ConventionsReport> {
  await app.ready()
  return app.conventions.report()
}

t.test('routes that the preset could not see fail the boot, and are named', async (t) => {
  t.test('declared after `register` without `await`', async (t) => {
    const app = Fastify()
    app.register(conventions)
    app.get('/v1/users', handler)
    app.post('/v1/users', handler)

    const message = await bootError(app)
    t.match(message, /^FST_CONV_FINDINGS 2 breaches of conventions in 2 routes/)
    t.match(
      message,
      /GET \/v1\/users, POST \/v1\/users +conventions\.registration .*await app\.register\(conventions\)/,
    )
    t.notMatch(message, 'HEAD', 'the HEAD route of Fastify is reported with its GET route')
  })

  t.test('declared before the plugin; those after it are served', async (t) => {
    const app = Fastify()
    app.get('/v1/users', handler)
    await app.register(pathGuard)
    await app.register(caching)
    app.get('/v1/orders', handler)

    const message = await bootError(app)
    t.match(message, /GET \/v1\/users +pathGuard\.registration /)
    t.match(message, /GET \/v1\/users +caching\.registration /)
    t.notMatch(message, '/v1/orders')
  })
})

t.test('an app that is created before the package is loaded', async (t) => {
  await t.test('works if it has no routes yet; later ones are seen or found', async (t) => {
    const app = createdEarly()
    app.register(async (scope) => {
      await scope.register(pathGuard)
      scope.get('/v1/orders', handler)
    })
    app.register(caching)
    app.register(async (scope) => void scope.get('/v1/users', handler))
    t.match(await bootError(app), /GET \/v1\/orders +caching\.registration /)
  })

  for (const mode of ['enforce', 'report'] as const) {
    await t.test(`is refused by a plugin in ${mode} mode if it has routes`, async (t) => {
      const app = createdEarly()
      app.get('/v1/users', handler)
      app.register(async (scope) => void (await scope.register(pathGuard, { mode })))
      t.match(await bootError(app), /^FST_CONV_LOADED_LATE pathGuard cannot see the routes/)
    })
  }

  await t.test('is left alone by a plugin that is off', async (t) => {
    const app = createdEarly()
    app.get('/v1/users', handler)
    await app.register(pathGuard, { mode: 'off' })
    t.equal(await bootError(app), 'boots')
  })
})

t.test('a route between two plugins is a finding of the second one only', async (t) => {
  for (const create of [() => Fastify(), createdEarly]) {
    const app = create()
    await app.register(pathGuard)
    app.get('/v1/users', handler)
    await app.register(caching)

    const message = await bootError(app)
    t.match(message, 'caching.registration')
    t.notMatch(message, 'pathGuard.registration')
  }
})

t.test('routes of plugins that are loaded later are seen, with or without `await`', async (t) => {
  const app = Fastify()
  app.register(conventions)
  app.register(async (scope) => void scope.get('/v1/users', handler))

  t.strictSame((await reportOf(app)).findings, [])
})

t.test('the preset in a plugin without fastify-plugin is a finding: its context has no routes', async (t) => {
  const wrapper = async (scope: FastifyInstance) => {
    await scope.register(conventions)
  }
  const app = Fastify()
  await app.register(wrapper)
  app.get('/v1/users', handler)
  t.match(await bootError(app), /\(none\) +conventions\.registration .*fastify-plugin/)

  const wrapped = Fastify()
  await wrapped.register(fastifyPlugin(wrapper))
  wrapped.get('/v1/users', handler)
  t.equal(await bootError(wrapped), 'boots')

  const empty = Fastify()
  await empty.register(wrapper)
  t.equal(await bootError(empty), 'boots', 'an app without any routes')
})

t.test('routes of contexts that the plugin does not serve are not reported', async (t) => {
  const app = Fastify()
  app.get('/v1/users', handler)
  app.register(async (scope) => void scope.get('/v1/beside', handler))
  app.register(async (scope) => {
    scope.get('/v1/orders', handler)
    scope.register(async (below) => void below.get('/v1/friends', handler))
    await scope.register(conventions, { mode: 'report' })
    scope.get('/v1/payments', handler)
  })

  t.strictSame(
    (await appReports(app)).findings.filter(({ rule }) => rule === 'registration').map(({ route }) => route),
    ['GET /v1/orders', 'GET /v1/friends'],
  )

  async function appReports(app: FastifyInstance): Promise<ConventionsReport> {
    let report: (() => ConventionsReport) | undefined
    app.addHook('onRoute', function keepReport({ path }) {
      if (path === '/v1/payments') report = () => this.conventions.report()
    })
    await app.ready()
    return report?.() ?? { findings: [], exceptions: [], observations: [] }
  }
})

t.test(
  'in report mode the routes are findings and the app boots; with off there are no findings',
  async (t) => {
    for (const mode of ['report', 'off'] as const) {
      const app = Fastify()
      app.register(conventions, { mode, lists: false, operations: false })
      app.get('/v1/users', handler)

      const { findings } = await reportOf(app)
      t.strictSame(
        findings.map(({ route, plugin, rule, mode }) => ({ route, plugin, rule, mode })),
        mode === 'off'
          ? []
          : [{ route: 'GET /v1/users', plugin: 'conventions', rule: 'registration', mode: 'report' }],
      )
    }
  },
)

t.test('earlierRoutes excludes routes; the report has the reason', async (t) => {
  const app = Fastify()
  app.get('/health', handler)
  app.get('/internal/metrics', handler)
  await app.register(conventions, {
    earlierRoutes: [
      { url: '/health', reason: 'a plugin of ours adds it' },
      { url: '/internal/*', reason: 'not public' },
      { url: '/gone', reason: 'was there once' },
    ],
  })

  const { findings, exceptions } = await reportOf(app)
  t.strictSame(findings, [])
  t.strictSame(
    exceptions.filter(({ plugin }) => plugin === 'conventions'),
    [
      ['GET /health', 'a plugin of ours adds it', false],
      ['GET /internal/metrics', 'not public', false],
      ['/gone', 'was there once', true],
    ].map(([route, reason, unused]) => ({
      plugin: 'conventions',
      route,
      rules: ['registration'],
      reason,
      declared: true,
      unused,
    })),
  )
})

t.test('the option earlierRoutes is checked', async (t) => {
  const invalid = { code: 'FST_CONV_OPTION_INVALID' }
  for (const earlierRoutes of [true, ['/health'], [{ url: '/health' }], [{ url: 'health', reason: 'x' }]]) {
    await t.rejects(async () => Fastify().register(lists, { earlierRoutes } as never), invalid)
  }
})

t.test('wildcard, WebSocket and hidden routes are listed, unless they configure a convention', async (t) => {
  const app = Fastify()
  app.get('/files/*', handler)
  app.get('/docs', { schema: { hide: true } }, handler)
  app.get(
    '/secret',
    { schema: { hide: true }, config: { caching: { cacheControl: { noStore: true } } } },
    handler,
  )
  await app.register(conventions, { mode: 'report' })

  const { findings, exceptions } = await reportOf(app)
  t.strictSame(
    findings.map(({ route }) => route),
    ['GET /secret'],
  )
  t.strictSame(
    exceptions.filter(({ rules }) => rules.includes('registration')).map(({ route }) => route),
    ['GET /files/*', 'GET /docs'],
  )
})

t.test(
  'the parent of a context with the plugin may register it too: its route is not a finding',
  async (t) => {
    const app = Fastify()
    app.register(async (scope) => {
      await scope.register(conventions)
      scope.get('/v1/users', handler)
    })
    await app.register(conventions)
    app.get('/v1/orders', handler)

    t.equal(await bootError(app), 'boots')
  },
)
