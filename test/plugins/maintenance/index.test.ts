import cors from '@fastify/cors'
import fc from 'fast-check'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { parseHttpDate } from '../../../src/http/dates.js'
import { serverOptions } from '../../../src/index.js'
import { type MaintenanceOptions, maintenance } from '../../../src/plugins/maintenance/index.js'
import { retryAfterField } from '../../../src/plugins/maintenance/state.js'
import { injected, isProblem } from '../../support/problem.js'
import { serviceWith, start } from './service.js'

const until = '2026-11-20T08:02:00.000Z'

/** A service, and its hooks and handlers that ran. */
async function appWith(t: Test, options: MaintenanceOptions = {}, withProblems = true) {
  const ran: string[] = []
  const add = (app: FastifyInstance) => {
    app.addHook('onRequest', async () => void ran.push('authentication'))
    app.get('/v1/users', async () => ({ users: ran.push('handler') }))
    app.get('/v1/users/:id', async () => ({}))
    app.get('/v1/health', { config: { maintenance: false } }, async () => ({ ok: true }))
    app.register(async (child) => void child.setNotFoundHandler(async () => ({})), { prefix: '/shop' })
  }
  return { ...(await serviceWith(t, options, { withProblems, add })), ran }
}

t.test('every request gets the 503, and no hook runs: any path and method, malformed URLs', async (t) => {
  for (const withProblems of [true, false]) {
    const { app, ran } = await appWith(t, {}, withProblems)
    await app.maintenance.enable({ until, reason: 'The database moves' })
    for (const [method, url] of [
      ['GET', '/v1/users'],
      ['OPTIONS', '/v1/users'],
      ['DELETE', '/v1/nothing'],
      ['GET', '/shop/v1/nothing'],
      ['POST', '/%zz'],
      ['GET', `/v1/users/${'a'.repeat(5000)}`],
    ] as const) {
      const response = await app.inject({ method, url })
      const about = `${method} ${url.slice(0, 40)}, problems: ${withProblems}`
      const problem = { status: 503, code: 'maintenance', title: 'In maintenance' }
      isProblem(t, injected(response), { ...problem, detail: 'The database moves' }, about)
      t.match(response.headers, { 'retry-after': '120', 'cache-control': 'no-store' }, about)
    }
    t.strictSame(ran, [])
    await app.maintenance.disable()
    t.equal((await app.inject('/v1/users')).statusCode, 200)
    t.equal((await app.inject('/%zz')).statusCode, 400)
    t.strictSame(ran, ['authentication', 'handler'])
  }
})

t.test('the service is back at the end, though no timer has run', async (t) => {
  const { app, clock } = await appWith(t)
  await app.maintenance.enable({ until })
  clock.skip(119_999)
  t.equal((await app.inject('/v1/users')).headers['retry-after'], '1')
  clock.skip(1)
  t.equal((await app.inject('/v1/users')).statusCode, 200)
  t.equal(app.maintenance.state(), null)
  t.equal((await app.inject('/%zz')).statusCode, 400)
})

t.test('Retry-After without a known end, and as a date', async (t) => {
  const date = { retryAfterFormat: 'http-date' } as const
  for (const [options, enabled, expected] of [
    [{}, {}, '60'],
    [{ retryAfter: 300 }, {}, '300'],
    [{ retryAfter: 300 }, { retryAfter: 7 }, '7'],
    [date, { until }, 'Fri, 20 Nov 2026 08:02:00 GMT'],
    [date, { retryAfter: 30 }, 'Fri, 20 Nov 2026 08:00:30 GMT'],
  ] as const) {
    const { app } = await appWith(t, options)
    await app.maintenance.enable(enabled)
    for (const url of ['/v1/users', '/%zz'])
      t.equal((await app.inject(url)).headers['retry-after'], expected, JSON.stringify([options, url]))
  }
})

t.test('`jitter` adds whole seconds, up to its own', async (t) => {
  const { app } = await appWith(t, { jitter: 3 })
  await app.maintenance.enable({ until })
  const sent = new Set<unknown>()
  for (let round = 0; round < 200; round += 1) sent.add((await app.inject('/')).headers['retry-after'])
  t.strictSame([...sent].sort(), ['120', '121', '122', '123'])
})

t.test('a route with `maintenance: false` is served, its HEAD too, other methods not', async (t) => {
  const { app } = await appWith(t)
  await app.maintenance.enable()
  for (const [method, status] of [['GET', 200] as const, ['HEAD', 200] as const, ['POST', 503] as const])
    t.equal((await app.inject({ method, url: '/v1/health' })).statusCode, status, method)
})

t.test('state() returns what enable() began, and null without maintenance', async (t) => {
  const { app } = await appWith(t)
  t.equal(app.maintenance.state(), null)
  for (const given of ['2026-11-20T09:02:00+01:00', new Date(until)]) {
    await app.maintenance.enable({ until: given, reason: 'move' })
    t.strictSame(app.maintenance.state(), { source: 'switch', until, retryAfter: null, reason: 'move' })
  }
  await app.maintenance.enable({ retryAfter: 30 })
  t.strictSame(app.maintenance.state(), { source: 'switch', until: null, retryAfter: 30, reason: null })
})

t.test('each change is logged once, and refused requests are not errors', async (t) => {
  const { app, clock, told } = await serviceWith(t)
  await app.maintenance.disable()
  t.strictSame(told(/ maintenance: /), [], 'no change, no log')
  for (let round = 0; round < 2; round += 1) await app.maintenance.enable({ until })
  for (const url of ['/', '/%zz', '/']) await app.inject(url)
  await clock.advance(119_999)
  t.strictSame(told(/ maintenance: /), ['40 maintenance: on'])
  await clock.advance(1)
  const both = ['40 maintenance: on', '30 maintenance: off']
  t.strictSame(told(/ maintenance: /), both, 'its end is logged without a request')
  t.strictSame(told(/^50|In maintenance/), [], 'nor with a stack')
  await app.maintenance.enable({ until: start })
  t.equal(app.maintenance.state(), null, 'an end in the past begins nothing')
  t.equal(told(/is past/).length, 1)
  await app.maintenance.enable({ until: new Date(clock.now()) })
  t.equal(told(/is past/).length, 2, 'an end that is now is past')
  await app.close()
  t.equal(clock.waiting(), 0, 'a closed app has no timer')
})

t.test('@fastify/cors answers preflights; registered before, it lets pages read the 503', async (t) => {
  const headers = { origin: 'https://page.example', 'access-control-request-method': 'GET' }
  for (const [order, origin, status] of [
    ['before', '*', 204],
    ['after', '*', 204],
    ['after', false, 503],
  ] as const) {
    const app = Fastify(serverOptions())
    const corsOptions = { origin, exposedHeaders: ['Retry-After'] }
    if (order === 'before') await app.register(cors, corsOptions)
    await app.register(maintenance)
    if (order === 'after') await app.register(cors, corsOptions)
    app.all('/v1/users', async () => t.fail('the handler runs'))
    await app.maintenance.enable()
    const preflight = await app.inject({ method: 'OPTIONS', url: '/v1/users', headers })
    t.equal(preflight.statusCode, status, `${order} ${origin}`)
    const refused = await app.inject({ url: '/v1/users', headers })
    t.equal(refused.statusCode, 503)
    t.equal('access-control-expose-headers' in refused.headers, order === 'before')
  }
})

/** `Retry-After` (RFC 9110 §10.2.3) as seconds, and as a date. */
function fieldsOf(now: number, until: number | null, jitter = 0) {
  const formats = ['seconds', 'http-date'] as const
  return formats.map((retryAfterFormat) =>
    retryAfterField(now, until, jitter, { retryAfter: 120, retryAfterFormat }),
  )
}

t.test('what is left is rounded up to the next second, and is at least one', async (t) => {
  const now = Date.parse('2026-11-20T08:00:00.250Z')
  for (const [left, jitter, seconds, time] of [
    [90_000, 0, '90', '08:01:31'],
    [89_999, 0, '90', '08:01:31'],
    [90_001, 0, '91', '08:01:32'],
    [1, 7, '8', '08:00:09'],
    [-90_000, 0, '1', '08:00:02'],
    [null, 0, '120', '08:02:01'],
  ] as const) {
    const fields = fieldsOf(now, left === null ? null : now + left, jitter)
    t.strictSame(fields, [seconds, `Fri, 20 Nov 2026 ${time} GMT`], `${left} ms left`)
  }
  const [, last] = fieldsOf(now, Date.parse('9999-12-31T23:59:59Z'), 9)
  t.equal(last, 'Fri, 31 Dec 9999 23:59:59 GMT')
})

t.test('a client that follows it never comes back before the end, nor at once', async () => {
  const time = fc.integer({ min: 0, max: 4_000_000_000_000 })
  fc.assert(
    fc.property(time, time, fc.integer({ min: 0, max: 3600 }), (now, until, jitter) => {
      const [field, dateField] = fieldsOf(now, until, jitter)
      const seconds = Number(field)
      const date = parseHttpDate(dateField ?? '') ?? Number.NaN
      const isLater = seconds >= 1 && date > now
      return Number.isInteger(seconds) && isLater && now + seconds * 1000 >= until && date >= until
    }),
  )
})

t.test('an invalid option is refused by its name, and one of enable() begins nothing', async (t) => {
  const from = '2026-11-20T08:00:00Z'
  const register = async (options: unknown) => Fastify().register(maintenance, options as MaintenanceOptions)
  const { app } = await serviceWith(t)
  const enable = (options: unknown) => app.maintenance.enable(options as never)
  const [invalid, unknown] = ['FST_CONV_OPTION_INVALID', 'FST_CONV_OPTION_UNKNOWN']
  const wrong: readonly (readonly [typeof enable, options: unknown, message: RegExp, code?: string])[] = [
    [register, { windows: [{ from, until: from }] }, /^maintenance\.windows\[0\]: .* ends after it begins/],
    [register, { windows: [{ from, until }, { from }] }, /^maintenance\.windows\[1\]\.until/],
    [register, { windows: [{ from: 'today', until }] }, /windows\[0\]\.from: .*RFC 3339.*'today'/],
    [register, { windows: [{ from, till: until }] }, /^maintenance\.windows\[0\]\.till/, unknown],
    [register, { store: {} }, /^maintenance\.store: expected a store/],
    [register, { retryAfter: 0 }, /^maintenance\.retryAfter: expected an integer from 1 to 604800/],
    [enable, { until: 'soon' }, /^maintenance\.enable\(\)\.until/],
    [enable, { retryAfter: 0 }, /^maintenance\.enable\(\)\.retryAfter/],
    [enable, { until, retryAfter: 5 }, /^maintenance\.enable\(\): expected until or retryAfter, not both/],
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
  const { observations } = app.conventions.report()
  t.match(observations, [
    { rule: 'refusal', route: 'GET /', count: 2 },
    { rule: 'refusal', route: '*', count: 2 },
  ])
  t.equal(observations.length, 2)
})

t.test('off: nothing is refused, whatever the mode of a route; the state can still be read', async (t) => {
  const store = { get: async () => t.fail('the store is read'), set: async () => {} } as never
  const config = { maintenance: { mode: 'enforce' } } as const
  const add = (app: FastifyInstance) => app.get('/own', { config }, async () => ({}))
  const { app } = await serviceWith(t, { mode: 'off', store }, { add })
  await app.maintenance.enable()
  t.equal((await app.inject('/own')).statusCode, 200)
  t.match(app.maintenance.state(), { source: 'switch' })
})
