import Fastify from 'fastify'
import t from 'tap'
import { problems, serverOptions } from '../../../src/index.js'
import {
  type EnableOptions,
  type MaintenanceOptions,
  maintenance,
} from '../../../src/plugins/maintenance/index.js'

const invalid = 'FST_CONV_OPTION_INVALID'
const from = '2026-11-20T08:00:00Z'
const until = '2026-11-20T09:00:00Z'

t.test('an invalid option is refused at registration, by its name', async (t) => {
  const wrong: readonly (readonly [options: unknown, code: string, message: RegExp])[] = [
    [{ windows: [{ from, until: from }] }, invalid, /maintenance\.windows\[0\]: .* ends after it begins/],
    [{ windows: [{ from, until }, { from }] }, invalid, /maintenance\.windows\[1\]\.until/],
    [{ windows: [{ from: 'today', until }] }, invalid, /windows\[0\]\.from: .*RFC 3339.*'today'/],
    [{ windows: [{ from: new Date(Number.NaN), until }] }, invalid, /maintenance\.windows\[0\]\.from/],
    [{ windows: [{ from, until, reason: '' }] }, invalid, /maintenance\.windows\[0\]\.reason/],
    [{ windows: [{ from, till: until }] }, 'FST_CONV_OPTION_UNKNOWN', /maintenance\.windows\[0\]\.till/],
    [{ file: '' }, invalid, /maintenance\.file: expected a path, or false/],
    [{ store: {} }, invalid, /maintenance\.store: expected a store/],
    [{ pollInterval: 0 }, invalid, /maintenance\.pollInterval: expected an integer from 10/],
    [{ retryAfter: 0 }, invalid, /maintenance\.retryAfter: expected an integer from 1 to 604800/],
  ]
  for (const [options, code, message] of wrong) {
    const register = async () => Fastify().register(maintenance, options as MaintenanceOptions)
    await t.rejects(register, { code, message }, JSON.stringify(options))
  }
})

t.test('an invalid option of enable() rejects, and begins nothing', async (t) => {
  const app = Fastify()
  await app.register(maintenance)
  const wrong: readonly (readonly [options: unknown, code: string, message: RegExp])[] = [
    [null, invalid, /maintenance\.enable\(\): expected an object/],
    [{ until: 'soon' }, invalid, /maintenance\.enable\(\)\.until/],
    [{ retryAfter: 0 }, invalid, /maintenance\.enable\(\)\.retryAfter/],
    [{ until, retryAfter: 5 }, invalid, /maintenance\.enable\(\): expected until or retryAfter, not both/],
    [{ reason: 7 }, invalid, /maintenance\.enable\(\)\.reason/],
    [{ from }, 'FST_CONV_OPTION_UNKNOWN', /maintenance\.enable\(\)\.from/],
  ]
  for (const [options, code, message] of wrong) {
    const enabled = app.maintenance.enable(options as EnableOptions)
    await t.rejects(enabled, { code, message }, JSON.stringify(options))
  }
  t.equal(app.maintenance.state(), null)
})

t.test('report: no byte changes, and the requests that would be refused are counted by route', async (t) => {
  const twin = async (enabled: boolean) => {
    const app = Fastify(serverOptions())
    await app.register(problems)
    if (enabled) await app.register(maintenance, { mode: 'report' })
    app.get('/v1/users', async () => ({ users: [] }))
    if (enabled) await app.maintenance.enable()
    return app
  }
  const [app, bare] = [await twin(true), await twin(false)]
  for (const url of ['/v1/users', '/v1/nothing', '/%zz', '/v1/users']) {
    const [one, other] = [await app.inject(url), await bare.inject(url)]
    const { date: _, ...headers } = one.headers
    const { date: __, ...expected } = other.headers
    t.strictSame([one.statusCode, headers, one.body], [other.statusCode, expected, other.body], url)
  }
  const observed = app.conventions
    .report()
    .observations.map(({ plugin, rule, route, count }) => [plugin, rule, route, count])
  t.strictSame(observed, [
    ['maintenance', 'refusal', 'GET /v1/users', 2],
    ['maintenance', 'refusal', '*', 2],
  ])
})

t.test('off: nothing is refused, whatever the mode of a route; the state can still be read', async (t) => {
  const app = Fastify()
  const store = { get: async () => t.fail('the store is read'), set: async () => {} } as never
  await app.register(maintenance, { mode: 'off', store })
  app.get('/v1/users', { config: { maintenance: { mode: 'enforce' } } }, async () => ({}))
  await app.maintenance.enable()
  t.equal((await app.inject('/v1/users')).statusCode, 200)
  t.match(app.maintenance.state(), { source: 'switch' })
})
