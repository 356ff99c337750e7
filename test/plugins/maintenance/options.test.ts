import Fastify from 'fastify'
import t from 'tap'
import {
  type EnableOptions,
  type MaintenanceOptions,
  maintenance,
} from '../../../src/plugins/maintenance/index.js'
import { serviceWith } from './service.js'

const from = '2026-11-20T08:00:00Z'
const until = '2026-11-20T09:00:00Z'

t.test('an invalid option is refused by its name, and one of enable() begins nothing', async (t) => {
  const register = async (options: unknown) => Fastify().register(maintenance, options as MaintenanceOptions)
  const { app } = await serviceWith(t)
  const enable = (options: unknown) => app.maintenance.enable(options as EnableOptions)
  const [invalid, unknown] = ['FST_CONV_OPTION_INVALID', 'FST_CONV_OPTION_UNKNOWN']
  const wrong: readonly (readonly [typeof enable, options: unknown, message: RegExp, code?: string])[] = [
    [register, { windows: [{ from, until: from }] }, /^maintenance\.windows\[0\]: .* ends after it begins/],
    [register, { windows: [{ from, until }, { from }] }, /^maintenance\.windows\[1\]\.until/],
    [register, { windows: [{ from: 'today', until }] }, /windows\[0\]\.from: .*RFC 3339.*'today'/],
    [register, { windows: [{ from: new Date(Number.NaN), until }] }, /^maintenance\.windows\[0\]\.from/],
    [register, { windows: [{ from, until, reason: '' }] }, /^maintenance\.windows\[0\]\.reason/],
    [register, { windows: [{ from, till: until }] }, /^maintenance\.windows\[0\]\.till/, unknown],
    [register, { file: '' }, /^maintenance\.file: expected a path, or false/],
    [register, { store: {} }, /^maintenance\.store: expected a store/],
    [register, { pollInterval: 0 }, /^maintenance\.pollInterval: expected an integer from 10/],
    [register, { retryAfter: 0 }, /^maintenance\.retryAfter: expected an integer from 1 to 604800/],
    [enable, null, /^maintenance\.enable\(\): expected an object/],
    [enable, { until: 'soon' }, /^maintenance\.enable\(\)\.until/],
    [enable, { retryAfter: 0 }, /^maintenance\.enable\(\)\.retryAfter/],
    [enable, { until, retryAfter: 5 }, /^maintenance\.enable\(\): expected until or retryAfter, not both/],
    [enable, { reason: 7 }, /^maintenance\.enable\(\)\.reason/],
    [enable, { from }, /^maintenance\.enable\(\)\.from/, unknown],
  ]
  for (const [run, options, message, code = invalid] of wrong)
    await t.rejects(run(options), { code, message }, JSON.stringify(options))
  t.equal(app.maintenance.state(), null)
})

t.test('report: nothing is refused, and the requests that would be are counted by route', async (t) => {
  const { app } = await serviceWith(t, { mode: 'report' })
  await app.maintenance.enable()
  for (const [url, status] of Object.entries({ '/': 200, '/v1/nothing': 404, '/%zz': 400, '/?again': 200 })) {
    const { statusCode, headers } = await app.inject(url)
    t.strictSame([statusCode, headers['retry-after']], [status, undefined], url)
  }
  const told = app.conventions.report().observations
  const rows = told.map(({ plugin, rule, route, count }) => [plugin, rule, route, count])
  t.strictSame(rows, [
    ['maintenance', 'refusal', 'GET /', 2],
    ['maintenance', 'refusal', '*', 2],
  ])
})

t.test('off: nothing is refused, whatever the mode of a route; the state can still be read', async (t) => {
  const store = { get: async () => t.fail('the store is read'), set: async () => {} } as never
  const config = { maintenance: { mode: 'enforce' } } as const
  const { app } = await serviceWith(
    t,
    { mode: 'off', store },
    { add: (app) => app.get('/own', { config }, async () => ({})) },
  )
  await app.maintenance.enable()
  t.equal((await app.inject('/own')).statusCode, 200)
  t.match(app.maintenance.state(), { source: 'switch' })
})
