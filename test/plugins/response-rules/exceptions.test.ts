import Fastify, { type RouteShorthandOptions } from 'fastify'
import t from 'tap'
import {
  type ResponseRulesOptions,
  type ResponseRulesRouteOptions,
  responseRules,
} from '../../../src/plugins/response-rules/index.js'
import { keepLogs, levels } from '../../support/logs.js'

const properties = { createdBy: { type: 'string' }, tag: { type: 'array' } }
const response = { 200: { type: 'object', properties } }
const nothing = async () => ({})

/** What is found on a route with two breaches, `keys` and `plural`. */
async function reportOf(
  options: ResponseRulesOptions,
  own?: ResponseRulesRouteOptions,
  logger = keepLogs().logger,
) {
  const app = Fastify({ logger })
  await app.register(responseRules, options)
  const config = own === undefined ? {} : { responseRules: own }
  app.get('/v1/users', { schema: { response }, config }, nothing)
  await app.ready()
  const { findings, exceptions } = app.conventions.report()
  return { findings: findings.map(({ rule, mode }) => [rule, mode]), exceptions }
}

t.test('the most specific mode wins: rule of the route, route, rule, plugin', async (t) => {
  const cases: [ResponseRulesOptions, ResponseRulesRouteOptions | undefined, string[]][] = [
    [{ mode: 'report' }, undefined, ['keys', 'plural']],
    [{ mode: 'off' }, undefined, []],
    [{ mode: 'off', rules: { keys: 'report' } }, undefined, ['keys']],
    [{ rules: { keys: 'off', plural: 'report' } }, undefined, ['plural']],
    [{}, { mode: 'report' }, ['keys', 'plural']],
    [{ mode: 'report' }, { mode: 'off' }, []],
    [{}, { rules: { keys: 'report', plural: 'off' } }, ['keys']],
    [{}, { mode: 'off', rules: { plural: 'report' } }, ['plural']],
  ]
  for (const [options, own, rules] of cases) {
    const { findings } = await reportOf(options, own)
    t.strictSame(
      findings.map(([rule]) => rule),
      rules,
      JSON.stringify([options, own]),
    )
    t.notMatch(JSON.stringify(findings), 'enforce')
  }
  await t.rejects(reportOf({ rules: { keys: 'off' } }), { code: 'FST_CONV_FINDINGS' })
  await t.rejects(reportOf({ mode: 'off' }, { rules: { keys: 'enforce' } }), { code: 'FST_CONV_FINDINGS' })
})

t.test('an exception is listed with its reason', async (t) => {
  const own = await reportOf({ mode: 'report' }, { except: ['keys'], reason: 'published before the rule' })
  t.same(own.findings, [['plural', 'report']])
  const listed = { plugin: 'responseRules', route: 'GET /v1/users', declared: true, unused: false }
  t.same(own.exceptions, [{ ...listed, rules: ['keys'], reason: 'published before the rule' }])

  const exceptions = [{ url: '/v1/*', except: ['keys', 'plural'] as const, reason: 'somebody else’s' }]
  const declared = await reportOf({ exceptions })
  t.same(declared.findings, [])
  t.same(declared.exceptions, [{ ...listed, rules: ['keys', 'plural'], reason: 'somebody else’s' }])
})

t.test('an unused exception is reported', async (t) => {
  const logs = keepLogs()
  const { exceptions } = await reportOf(
    { rules: { keys: 'off', plural: 'off' } },
    { except: ['object', 'sex'], reason: 'who knows' },
    logs.logger,
  )
  t.match(exceptions, [{ rules: ['object', 'sex'], unused: true }])
  const warnings = logs.lines.filter((line) => line.level === levels.warn).map((line) => line.msg)
  t.same(warnings, [
    'conventions: GET /v1/users keeps responseRules.object, sex: the exception can be removed',
  ])
})

t.test('an exception of the plugin is used if one of its routes needs it, or may need it', async (t) => {
  const exceptions = [{ url: '/v1/*', except: ['keys'], reason: 'old' }] as const
  const clean = { schema: { response: { 200: { type: 'object', properties: { id: {} } } } } }
  const cases: [other: RouteShorthandOptions, unused: boolean][] = [
    [{ schema: { response } }, false],
    [{}, false],
    [clean, true],
  ]
  for (const [other, unused] of cases) {
    const app = Fastify()
    await app.register(responseRules, { rules: { plural: 'off' }, exceptions })
    app.get('/v1/orders', clean, nothing)
    app.get('/v1/users', other, nothing)
    await app.ready()
    const old = app.conventions.report().exceptions.filter(({ reason }) => reason === 'old')
    const routes = unused ? ['/v1/*'] : ['GET /v1/orders', 'GET /v1/users']
    t.strictSame(
      old.map((one) => [one.route, one.unused]),
      routes.map((route) => [route, unused]),
    )
  }
})

t.test('the exception of a route without a response schema counts as used', async (t) => {
  const app = Fastify()
  await app.register(responseRules)
  const config = { responseRules: { except: ['keys'], reason: 'old' } } as const
  app.get('/v1/users', { config }, async () => ({ aB: 1 }))
  await app.ready()
  const declared = app.conventions.report().exceptions.filter((exception) => exception.declared)
  t.match(declared, [{ rules: ['keys'], unused: false }])
  t.equal((await app.inject('/v1/users')).statusCode, 200)
})
