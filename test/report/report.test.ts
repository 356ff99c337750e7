import { createServer } from 'node:http'
import Fastify from 'fastify'
import t from 'tap'
import conventions, { conventionsReport, pathGuard, problems } from '../../src/index.js'
import { reporterOf } from '../../src/report/report.js'
import { appOf, withPlugins } from '../support/app.js'
import { keepLogs } from '../support/logs.js'

const pluginsOf = (all: readonly { readonly plugin: string }[]) => all.map(({ plugin }) => plugin)

t.test('plugins of one context, and those below, share one report', async (t) => {
  const app = await appOf([problems, { mode: 'report' }])
  app.register(async (child) => {
    await child.register(pathGuard, { mode: 'report' })
    child.get('/v1/Users', async (_request, reply) => reply.code(404).send())
  })
  await app.inject('/v1/Users')

  const { findings, observations } = app.conventions.report()
  t.strictSame(pluginsOf(findings), ['pathGuard'])
  t.strictSame(pluginsOf(observations), ['problems', 'pathGuard'])
})

t.test('the breaches of contexts beside each other are one table', async (t) => {
  const logs = keepLogs('warn')
  const app = Fastify({ logger: logs.logger })
  for (const path of ['/v1/Users', '/v1/Orders']) {
    app.register(async (child) => {
      await child.register(pathGuard, { rules: { underscore: 'report' } })
      child.get(path, async () => ({}))
      child.get(`${path.toLowerCase()}/:id/line_items`, async () => ({}))
    })
  }

  const message = /^2 breaches of conventions in 2 routes\n.*GET \/v1\/Orders .*GET \/v1\/Users /s
  await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS', message })
  const logged = logs.lines.map(({ route }) => route)
  const reported = ['GET /v1/users/:id/line_items', 'GET /v1/orders/:id/line_items']
  t.strictSame(logged, reported, 'those to report are told by each')
})

t.test('the report of an app has no findings of another app', async (t) => {
  const server = createServer()
  const [one, other] = [0, 1].map(() => Fastify({ serverFactory: () => server }))
  await other?.register(pathGuard)
  other?.get('/v1/Users', async () => ({}))
  await one?.register(pathGuard)
  await t.resolves(async () => void (await one?.ready()))
  await t.rejects(async () => other?.ready(), { code: 'FST_CONV_FINDINGS' })
})

t.test('a finding and an observation have these members, the latter with the first example', async (t) => {
  let count = 0
  const app = Fastify({ genReqId: () => `request-${++count}` })
  await app.register(pathGuard, { mode: 'report' })
  app.get('/v1/orderItems', async () => ({}))
  app.get('/v1/users/:id', async () => ({}))
  await app.ready()
  const place = { plugin: 'pathGuard', rule: 'uppercase', route: 'GET /v1/orderItems' }
  const fault = { problem: "'orderItems' has uppercase letters", instead: '/v1/order-items' }
  const finding = { ...place, mode: 'report', effect: 'boot stopped', ...fault }
  const routes = ['GET /v1/orderItems', 'GET /v1/users/:id']
  t.strictSame(app.conventions.report(), { routes, findings: [finding], exceptions: [], observations: [] })

  const unknown = Array.from({ length: 60 }, (_, index) => `/Nothing-${index}`)
  for (const url of ['/v1/users/a', '/v1/users/B', '/v1/users/C', ...unknown]) await app.inject(url)
  const observed = { plugin: 'pathGuard', rule: 'uppercase', effect: 'refused', status: 404 }
  const [ofRoute, ofUnknown, ...others] = app.conventions.report().observations
  const example = { count: 2, example: '/v1/users/B', requestId: 'request-2' }
  t.strictSame(ofRoute, { ...observed, route: 'GET /v1/users/:id', ...example })
  t.match(ofUnknown, { route: '*', count: 60, example: '/Nothing-0' })
  t.strictSame(others, [], 'many unknown paths are one observation, so the report is bounded')
})

t.test('findings are logged once per app and rule, by a child logger', async (t) => {
  const logs = keepLogs('warn')
  const app = await withPlugins(Fastify({ logger: logs.logger }), [conventions, { mode: 'report' }])
  app.get('/v1/Users', async () => ({}))
  app.get('/v1/Orders', async () => ({}))
  await app.ready()

  t.equal(logs.lines.length, 1)
  const [line = {}] = logs.lines
  t.match(line, { module: 'fastify-conventions', convention: 'pathGuard.uppercase', effect: 'boot stopped' })
  t.match(line, { count: 2, route: 'GET /v1/Users', msg: 'conventions: not kept in 2 routes' })
  t.match(line, { problem: "'Users' has uppercase letters", instead: '/v1/users' })
})

t.test('exceptions of the preset are reported, and those that no route has are findings', async (t) => {
  const app = Fastify()
  const first = { url: '/v1/Old/*', reason: 'one', except: ['pathGuard'] } as const
  const others = ['/v1/Old/:id', '/v1/none'].map((url) => ({ url, reason: 'two' }))
  await app.register(conventions, { mode: 'report', exceptions: [first, ...others] })
  app.get('/v1/Old/:id', { config: { lists: false } }, async () => ({}))
  app.get('/v1/users', async () => ({}))
  await app.ready()
  const { findings, exceptions } = app.conventions.report()
  const problem = 'an exception for it is declared, and no route has this path'
  const finding = { plugin: 'conventions', rule: 'exceptions', route: '/v1/none', problem, mode: 'report' }
  t.match(findings, [{ ...finding, instead: 'the path of a route, or no exception' }])
  const told = exceptions.map(({ plugin, reason, declared }) => `${plugin} ${reason} ${declared}`)
  const shown = told.filter((one) => /^(conventions|pathGuard|caching) /.test(one))
  t.strictSame(shown, [
    'conventions one true',
    'conventions two true',
    'pathGuard one true',
    'caching two true',
  ])
})

t.test('notes and exceptions are logged when the app is ready, in order', async (t) => {
  const logs = keepLogs('debug')
  const app = Fastify({ logger: logs.logger })
  const reporter = reporterOf(app)
  for (const text of ['a note', '']) reporter.note(() => text)
  reporter.addException({ plugin: 'lists', route: 'GET /', rules: [], reason: 'why', declared: true })
  await app.ready()
  const lines = logs.lines.filter(({ module }) => module === 'fastify-conventions')
  const exception = { level: 20, plugin: 'lists', msg: /exception/ }
  t.match(lines, { length: 2, 0: { level: 30, msg: 'conventions: a note' }, 1: exception })
})

t.test('a warning that requests cause is logged once for each route', async (t) => {
  const logs = keepLogs('warn')
  const app = Fastify({ logger: logs.logger })
  const reporter = reporterOf(app)
  for (const route of ['/v1/users', '/v1/orders']) {
    app.get(route, async (request) => {
      reporter.warnOnce('lists', request, 'a warning')
      reporter.observe('lists', 'answer', request, 'given', 'changed', 'each route')
      reporter.observe('lists', 'page', request, 'given', 'none')
      return {}
    })
  }
  for (const url of ['/v1/users', '/v1/orders', '/v1/users']) await app.inject(url)

  const warnings = logs.lines.map(({ msg, convention = msg, effect = '' }) =>
    `${convention} ${effect}`.trim(),
  )
  const [answer, page] = ['lists.answer changed', 'lists.page none']
  const [ofUsers, ofOrders] = ['users', 'orders'].map((name) => `lists: GET /v1/${name}: a warning`)
  t.strictSame(warnings, [ofUsers, answer, page, ofOrders, answer])
})

t.test('conventionsReport() reads the report of an app that has an own app.conventions', async (t) => {
  const app = Fastify()
  t.equal(conventionsReport(app), null)
  app.decorate('conventions', 'own' as never)
  await app.register(conventions, { mode: 'report' })
  await app.ready()
  t.equal(app.conventions, 'own')
  t.match(conventionsReport(app)?.findings, [{ plugin: 'conventions', rule: 'decorators', effect: 'none' }])
})
