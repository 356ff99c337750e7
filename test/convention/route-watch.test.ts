import { channel } from 'node:diagnostics_channel'
import Fastify, { type FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import t from 'tap'
import { type ConventionsReport, caching, conventions, lists, pathGuard } from '../../src/index.js'
import { unwrapped } from '../support/report-table.js'

/** An app as if the package were loaded later, as where an app says `require('fastify-conventions')` in its `register` call. */
function createdEarly(): FastifyInstance {
  const initialization = channel('fastify.initialization')
  initialization.publish = () => {}
  const app = Fastify()
  Reflect.deleteProperty(initialization, 'publish')
  return app
}

const handler = async () => ({})
const get = (path: string) => async (scope: FastifyInstance) => void scope.get(path, handler)
const wrapper = async (scope: FastifyInstance) => void (await scope.register(conventions))

async function between(app: FastifyInstance): Promise<void> {
  await app.register(pathGuard)
  app.get('/v1/users', handler)
  await app.register(caching)
}

const late = (mode: 'report' | 'off') => async (app: FastifyInstance) => {
  app.get('/v1/users', handler)
  await app.register(pathGuard, { mode })
}

type Build = (app: FastifyInstance) => Promise<unknown>
type Way = readonly [about: string, build: Build, said: RegExp, create?: () => FastifyInstance]

const boots = /^boots$/
const refusedLate = /^FST_CONV_LOADED_LATE pathGuard cannot see the routes/

/** What the boot of an app says, by how the app is built. */
const ways: readonly Way[] = [
  [
    'routes after `register` without `await` are named, without the HEAD routes of Fastify',
    async (app) => {
      app.register(conventions)
      app.get('/v1/users', handler).post('/v1/users', handler)
    },
    /^FST_CONV_FINDINGS 2 breaches(?!.*HEAD).*GET \S+, POST \S+ +conventions\.registration .*await app\.register\(/s,
  ],
  [
    'a route is a finding of each plugin after it, and of none before it',
    async (app) => {
      app.get('/v1/early', handler)
      await between(app)
      app.get('/v1/orders', handler)
    },
    /^(?=.*early +pathGuard\.reg)(?=.*caching\.reg)(?!.*users +pathGuard\.reg)(?!.*\/v1\/orders)/s,
  ],
  [
    'a plugin without a mode enforces, also after one in report mode',
    async (app) => {
      await app.register(pathGuard, { mode: 'report' })
      app.get('/v1/users', handler)
      await app.register(caching)
    },
    /^FST_CONV_FINDINGS .*caching\.registration /s,
  ],
  [
    'routes of plugins that are loaded later are seen, without `await`',
    async (app) => void app.register(conventions).register(get('/v1/users')),
    boots,
  ],
  [
    'the preset in a plugin without fastify-plugin is a finding: its context has no routes',
    async (app) => {
      await app.register(wrapper)
      app.get('/v1/users', handler)
    },
    /\(none\) +conventions\.registration .*fastify-plugin/,
  ],
  [
    'the preset in a plugin with fastify-plugin serves the app',
    async (app) => {
      await app.register(fastifyPlugin(wrapper))
      app.get('/v1/users', handler)
    },
    boots,
  ],
  [
    'a plugin whose context has hidden routes only serves these',
    async (app) => {
      await app.register(async (scope) => {
        await scope.register(caching)
        scope.get('/docs', { schema: { hide: true } as object }, handler)
      })
      app.get('/v1/users', handler)
    },
    boots,
  ],
  ['the preset in a plugin is no finding in an app without any routes', (app) => wrapper(app), boots],
  [
    'the parent of a context with the plugin may register it too: the route there is no finding',
    async (app) => {
      app.register(async (scope) => {
        await scope.register(conventions)
        scope.get('/v1/users', handler)
      })
      await app.register(conventions)
      app.get('/v1/orders', handler)
    },
    boots,
  ],
  [
    'an app without routes, created before the package is loaded: later routes are seen or found',
    async (app) => {
      app.register(async (scope) => {
        await scope.register(pathGuard)
        scope.get('/v1/orders', handler)
      })
      app.register(caching)
      app.register(get('/v1/users'))
    },
    /GET \/v1\/orders +caching\.registration /,
    createdEarly,
  ],
  ['it finds a route between two plugins', between, /^(?!.*pathGuard\.reg).*caching\.reg/s, createdEarly],
  ['such an app with routes is refused, in report mode too', late('report'), refusedLate, createdEarly],
  ['such an app with routes is left alone by a plugin that is off', late('off'), boots, createdEarly],
]

for (const [about, build, said, create = () => Fastify()] of ways) {
  t.test(about, async (t) => {
    const app = create()
    const message = await build(app)
      .then(() => app.ready())
      .then(
        () => 'boots',
        (error: Error & { code: string }) => `${error.code} ${unwrapped(error.message)}`,
      )
    await app.close()
    t.match(message, said)
  })
}

async function reportOf(app: FastifyInstance): Promise<ConventionsReport> {
  await app.ready()
  return app.conventions.report()
}

const routesOf = (all: readonly { readonly route: string }[]) => all.map(({ route }) => route)

t.test('routes of contexts that the plugin does not serve are not reported', async (t) => {
  const app = Fastify()
  let served: FastifyInstance = app
  app.get('/v1/users', handler)
  app.register(get('/v1/beside'))
  app.register(async (scope) => {
    served = scope
    scope.get('/v1/orders', handler)
    scope.register(get('/v1/friends'))
    await scope.register(conventions, { mode: 'report' })
  })
  await app.ready()
  const { routes, findings } = served.conventions.report()
  t.strictSame(routes, ['GET /v1/orders', 'GET /v1/friends'])
  t.strictSame(routesOf(findings.filter(({ rule }) => rule === 'registration')), routes)
})

t.test('in report mode the route is a finding and the app boots; with off there is none', async (t) => {
  const finding = 'GET /v1/users conventions registration report'
  for (const [mode, expected] of [['report', [finding]] as const, ['off', []] as const]) {
    const app = Fastify()
    app.register(conventions, { mode, lists: false, operations: false })
    app.get('/v1/users', handler)
    const { findings } = await reportOf(app)
    const found = findings.map(({ route, plugin, rule, mode }) => `${route} ${plugin} ${rule} ${mode}`)
    t.strictSame(found, expected, mode)
  }
})

t.test('earlierRoutes excludes routes; the report has the reason', async (t) => {
  const app = Fastify()
  app.get('/health', handler)
  app.get('/internal/metrics', handler)
  await app.register(conventions, {
    earlierRoutes: [
      { url: '/health', reason: 'a plugin of ours adds it' },
      { url: '/internal/*', reason: 'not public' },
    ],
  })
  const { findings, exceptions } = await reportOf(app)
  t.strictSame(findings, [])
  const common = { plugin: 'conventions', rules: ['registration'], declared: true }
  const own = exceptions.filter(({ plugin }) => plugin === 'conventions')
  t.strictSame(own, [
    { ...common, route: 'GET /health', reason: 'a plugin of ours adds it' },
    { ...common, route: 'GET /internal/metrics', reason: 'not public' },
  ])
})

t.test('an entry of earlierRoutes that no route needs stops the boot', async (t) => {
  for (const [mode, effect] of [
    ['enforce', 1],
    ['report', 1],
    ['off', 0],
  ] as const) {
    const app = Fastify()
    app.get('/health', handler)
    const earlierRoutes = ['/health', '/v1/users'].map((url) => ({ url, reason: 'older' }))
    await app.register(conventions, { mode, earlierRoutes })
    app.get('/v1/users', handler)
    if (mode === 'enforce') await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS' })
    else await app.ready()
    const found = app.conventions.report().findings.filter(({ rule }) => rule === 'registration')
    const finding = { plugin: 'conventions', route: '/v1/users', problem: /no such route/ }
    t.match(found, effect === 0 ? { length: 0 } : { length: 1, 0: finding })
  }
})

t.test('the option earlierRoutes is checked', async (t) => {
  const invalid = { code: 'FST_CONV_OPTION_INVALID', message: /lists\.earlierRoutes/ }
  for (const earlierRoutes of [true, ['/health'], [{ url: '/health' }], [{ url: 'health', reason: 'x' }]]) {
    await t.rejects(async () => Fastify().register(lists, { earlierRoutes } as never), invalid)
  }
})

t.test('wildcard and hidden routes are listed, unless they configure a convention', async (t) => {
  const app = Fastify()
  const schema = { hide: true }
  app.get('/files/*', handler)
  app.get('/docs', { schema }, handler)
  app.get('/feed', { schema, config: { caching: false } }, handler)
  app.get('/secret', { schema, config: { caching: { cacheControl: { noStore: true } } } }, handler)
  await app.register(conventions, { mode: 'report' })

  const { findings, exceptions } = await reportOf(app)
  t.strictSame(routesOf(findings), ['GET /secret'])
  const excepted = exceptions.filter(({ rules }) => rules.includes('registration'))
  t.strictSame(routesOf(excepted), ['GET /files/*', 'GET /docs', 'GET /feed'])
})
