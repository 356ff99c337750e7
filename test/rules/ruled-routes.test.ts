import Fastify from 'fastify'
import { test } from 'tap'
import { type RouteRuleOptions, routeRuleChecks } from '../../src/rules/modes.js'
import { reporterOf } from '../../src/rules/report.js'
import { type RuledRoute, ruledRoutes } from '../../src/rules/ruled-routes.js'

type Rule = 'neat' | 'short'
type Read = RuledRoute<Rule, RouteRuleOptions<Rule>>

const rules: readonly Rule[] = ['neat', 'short']

function reader() {
  const app = Fastify()
  const options = {
    mode: 'enforce',
    rules: { short: 'report' },
    exceptions: [{ url: '/v1/old/*', except: ['neat'], reason: 'since 2019' }],
  } as const
  const read = ruledRoutes({ plugin: 'tidy', rules, options, routeChecks: routeRuleChecks(rules), app })
  const readRoute = (method: string, path: string, config?: object, schema?: object): Read =>
    read({ method, url: path, path, config, schema, handler: async () => ({}) } as never)
  return { app, readRoute }
}

test('routes without options share the modes of the plugin', async (t) => {
  const { readRoute } = reader()
  const [users, orders] = [readRoute('GET', '/v1/users'), readRoute('GET', '/v1/orders')]
  t.strictSame(users.modeOf, { neat: 'enforce', short: 'report' })
  t.equal(users.modeOf, orders.modeOf)
  t.match(users, { methods: ['GET'], name: 'GET /v1/users', exclusionReason: null, isHeadSibling: false })
})

test('options of a route, and exceptions for its path, change only its own modes', async (t) => {
  const { readRoute } = reader()
  t.strictSame(readRoute('GET', '/v1/a', { tidy: { mode: 'off' } }).modeOf, { neat: 'off', short: 'off' })
  const excepted = readRoute('GET', '/v1/old/a')
  t.strictSame(excepted.modeOf, { neat: 'off', short: 'report' })
  t.match(excepted.exceptions, [{ except: ['neat'], reason: 'since 2019' }])
  t.strictSame(readRoute('GET', '/v1/b').modeOf, { neat: 'enforce', short: 'report' })
})

test('an excluded route has a reason', async (t) => {
  const { readRoute } = reader()
  t.equal(readRoute('GET', '/v1/a', { tidy: false }).exclusionReason, 'config.tidy is false')
  t.match(readRoute('GET', '/files/*').exclusionReason, 'wildcard')
  t.match(readRoute('GET', '/v1/b', {}, { hide: true }).exclusionReason, 'hidden')
})

test('the HEAD route that Fastify adds to a GET route is recognized', async (t) => {
  const { readRoute } = reader()
  readRoute('GET', '/v1/a')
  t.equal(readRoute('HEAD', '/v1/a').isHeadSibling, true)
  t.equal(readRoute('HEAD', '/v1/b').isHeadSibling, false)
})

test('an invalid option of a route is refused by its name', async (t) => {
  const { readRoute } = reader()
  t.throws(() => readRoute('GET', '/v1/a', { tidy: { except: ['loud'], reason: 'x' } }), {
    message: /GET \/v1\/a config\.tidy\.except\[0\]/,
  })
})

test('an exception for many routes is unused if none of them needs it', async (t) => {
  const routes = ['/v1/old/a', '/v1/old/b', '/v1/old/c']
  const cases: ReadonlyArray<readonly [broken: readonly (ReadonlySet<Rule> | null)[], unused: boolean]> = [
    [[new Set(), new Set(['neat'])], false],
    [[new Set(['neat']), new Set(), new Set(['short'])], false],
    [[new Set(), null], false],
    [[new Set(), new Set(['short'])], true],
    [[new Set(), new Set(), new Set()], true],
  ]
  for (const [breaches, unused] of cases) {
    const { app, readRoute } = reader()
    for (const [index, broken] of breaches.entries())
      readRoute('GET', routes[index] ?? '').addExceptions(broken)
    await app.ready()
    const told = app.conventions.report().exceptions.map(({ route, unused }) => [route, unused])
    const expected = unused
      ? [['/v1/old/*', true]]
      : breaches.map((_, index) => [`GET ${routes[index]}`, false])
    t.strictSame(told, expected)
  }
})

test('an exception of a route is unused if the route does not need it', async (t) => {
  for (const [broken, unused] of [
    [new Set<Rule>(['neat']), false],
    [new Set<Rule>(['short']), true],
    [null, false],
  ] as const) {
    const { app, readRoute } = reader()
    readRoute('GET', '/v1/a', { tidy: { except: ['neat'], reason: 'mine' } }).addExceptions(broken)
    await app.ready()
    t.match(app.conventions.report().exceptions, [
      { route: 'GET /v1/a', rules: ['neat'], reason: 'mine', unused },
      { route: '/v1/old/*', unused: true },
    ])
  }
})

test('the breaches of a route may be found when the app gets ready', async (t) => {
  const { app, readRoute } = reader()
  const route = readRoute('GET', '/v1/old/a')
  reporterOf(app).checkAtReady(() => route.addExceptions(new Set(['neat'])))
  await app.ready()
  t.match(app.conventions.report().exceptions, [{ route: 'GET /v1/old/a', rules: ['neat'], unused: false }])
})

test('an exception for a path without a route is reported when the app gets ready', async (t) => {
  const { app, readRoute } = reader()
  readRoute('GET', '/v1/users')
  await app.ready()
  t.match(app.conventions.report().exceptions, [
    { plugin: 'tidy', route: '/v1/old/*', rules: ['neat'], unused: true },
  ])
})
