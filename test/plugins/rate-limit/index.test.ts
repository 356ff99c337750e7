// Own process: replaces the clock before each test of tap
/** Rate limits: which requests are refused, and the header fields. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock } from 'node:test'
import fastifyCors from '@fastify/cors'
import fastifyRateLimit from '@fastify/rate-limit'
import Fastify, { type FastifyInstance, type FastifyServerOptions, type InjectOptions } from 'fastify'
import t from 'tap'
import { caching } from '../../../src/plugins/caching/index.js'
import { cors } from '../../../src/plugins/cors/index.js'
import { problems } from '../../../src/plugins/problems/index.js'
import { type RateLimitOptions, rateLimit } from '../../../src/plugins/rate-limit/index.js'
import { ProblemError } from '../../../src/problem/problem-error.js'
import { conventionsReport } from '../../../src/report/report.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'

const start = Date.UTC(2026, 10, 20, 12)

t.beforeEach(() => mock.timers.enable({ apis: ['Date'], now: start }))
t.afterEach(() => mock.timers.reset())

async function appWith(
  options: RateLimitOptions = {},
  server: FastifyServerOptions = {},
): Promise<FastifyInstance> {
  const app = Fastify(server)
  await app.register(rateLimit, options)
  await app.register(problems)
  app.get('/v1/users', () => ({}))
  return app
}

/** What is left, as the answer tells it. */
async function leftOf(app: FastifyInstance, request: InjectOptions | string = '/v1/users'): Promise<string> {
  const { headers } = await app.inject(request)
  return String(headers.ratelimit)
}

async function statusesOf(app: FastifyInstance, requests: readonly (InjectOptions | string)[]) {
  const statuses: number[] = []
  for (const request of requests) statuses.push((await app.inject(request)).statusCode)
  return statuses
}

t.test('a response has the quota and the remaining requests, and no x-ratelimit-* headers', async (t) => {
  const app = await appWith()
  const { headers } = await app.inject('/v1/users')
  t.equal(headers['ratelimit-policy'], '"default";q=1000;w=60')
  t.equal(headers.ratelimit, '"default";r=999;t=60')
  const names = Object.keys(headers).filter((name) => /ratelimit|retry/.test(name))
  t.same(names, ['ratelimit-policy', 'ratelimit'])
  mock.timers.tick(18_001)
  t.equal(await leftOf(app), '"default";r=998;t=42')
})

t.test('a request beyond the quota is a 429 quota-exceeded, with Retry-After', async (t) => {
  for (const withProblems of [true, false]) {
    const app = Fastify()
    await app.register(rateLimit, { max: 2, timeWindow: '30s' })
    if (withProblems) await app.register(problems)
    app.get('/v1/users', () => ({}))
    t.same(await statusesOf(app, ['/v1/users', '/v1/users']), [200, 200])
    mock.timers.tick(10_500)
    const answer = await app.inject('/v1/users')
    const detail = 'There were more than 2 requests in 30 seconds; try again in 20 seconds'
    const document = isProblem(t, injected(answer), { status: 429, code: 'quota-exceeded', detail })
    t.strictSame(document.violated_policies, ['default'])
    t.match(answer.headers, {
      'retry-after': '20',
      'ratelimit-policy': '"default";q=2;w=30',
      ratelimit: '"default";r=0;t=20',
      'cache-control': 'no-store',
    })
    t.notOk(Object.keys(answer.headers).some((name) => name.startsWith('x-ratelimit')))
  }
})

t.test('a caller who waits for Retry-After is served', async (t) => {
  const app = await appWith({ max: 1, timeWindow: 7_300 })
  for (const wait of [0, 1, 999, 1000, 1001, 3_333, 7_299]) {
    t.equal((await app.inject('/v1/users')).statusCode, 200)
    mock.timers.tick(wait)
    const { statusCode, headers } = await app.inject('/v1/users')
    t.equal(statusCode, 429, `after ${wait} ms`)
    const seconds = Number(headers['retry-after'])
    t.ok(seconds >= 1)
    mock.timers.tick(seconds * 1000)
    t.equal((await app.inject('/v1/users')).statusCode, 200, 'served after the wait')
    mock.timers.tick(7_300)
  }
})

t.test('every request counts once: 404s, 405s, errors, HEAD beside GET, and no preflight', async (t) => {
  const app = Fastify()
  await app.register(cors, { origin: ['https://app.example'] })
  await app.register(rateLimit, { max: 100 })
  await app.register(problems)
  app.get('/v1/users', () => ({}))
  app.get('/v1/missing', (_, reply) => reply.callNotFound())
  app.post('/v1/users', { schema: { body: { type: 'object', required: ['a'] } } }, () => ({}))
  app.get('/v1/broken', () => {
    throw new Error('broken')
  })
  const asks = { 'access-control-request-method': 'PUT' }
  const origin = { origin: 'https://app.example', ...asks }
  const requests: readonly (readonly [request: InjectOptions, status: number, left: number | null])[] = [
    [{ url: '/v1/users' }, 200, 99],
    [{ method: 'HEAD', url: '/v1/users' }, 200, 98],
    [{ url: '/v1/nothing' }, 404, 97],
    [{ url: '/v1/missing' }, 404, 96],
    [{ method: 'DELETE', url: '/v1/users' }, 405, 95],
    [{ method: 'POST', url: '/v1/users', payload: {} }, 400, 94],
    [{ url: '/v1/broken' }, 500, 93],
    [{ method: 'OPTIONS', url: '/v1/users' }, 204, 92],
    [{ method: 'OPTIONS', url: '/v1/users', headers: asks }, 204, 91],
    [{ method: 'OPTIONS', url: '/v1/users', headers: origin }, 204, null],
    [{ url: '/v1/users' }, 200, 90],
  ]
  for (const [request, status, left] of requests) {
    const { statusCode, headers } = await app.inject(request)
    t.equal(statusCode, status)
    const expected = left === null ? undefined : `"default";r=${left};t=60`
    t.equal(headers.ratelimit, expected, `${request.method ?? 'GET'} ${request.url}`)
  }
})

t.test('a preflight counts, unless @fastify/cors answers it', async (t) => {
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'PUT' }
  const preflight = { method: 'OPTIONS', url: '/v1/everything', headers } as const
  for (const [origin, statuses] of [
    ['https://app.example', [204, 204]],
    [false, [200, 429]],
    [null, [200, 429]],
  ] as const) {
    const app = await appWith({ max: 1 })
    if (origin !== null) await app.register(fastifyCors, { origin })
    app.all('/v1/everything', () => ({}))
    t.same(await statusesOf(app, [preflight, preflight]), statuses, String(origin))
  }
})

t.test('trustProxy: true is a finding where addresses have quotas', async (t) => {
  for (const [trustProxy, options, rules] of [
    [true, {}, ['address']],
    [true, { mode: 'report' }, ['address']],
    [true, { key: () => 'one' }, []],
    [true, { mode: 'off' }, []],
    ['10.0.0.0/8', {}, []],
    [false, {}, []],
  ] as const) {
    const app = await appWith(options, { trustProxy })
    await app.ready()
    const { findings = [] } = conventionsReport(app) ?? {}
    t.match(
      findings,
      rules.map((rule) => ({ plugin: 'rateLimit', rule, effect: 'none' })),
    )
    t.equal(findings.length, rules.length, `${trustProxy} ${JSON.stringify(options)}`)
  }
})

t.test('X-Forwarded-For is used only from a trusted proxy, and what a client invents is not', async (t) => {
  const behind = (forwarded: string): InjectOptions => ({
    ...from('10.0.0.1'),
    headers: { 'x-forwarded-for': forwarded },
  })
  const invented = ['1.1.1.1, 203.0.113.7', '2.2.2.2, 203.0.113.7', '203.0.113.8'].map(behind)
  for (const [trustProxy, statuses] of [
    ['10.0.0.0/8', [200, 429, 200]],
    [true, [200, 200, 200]],
    [false, [200, 429, 429]],
  ] as const)
    t.same(await statusesOf(await appWith({ max: 1 }, { trustProxy }), invented), statuses, `${trustProxy}`)
})

t.test('a request counts before authentication', async (t) => {
  const app = await appWith({ max: 2 })
  app.addHook('onRequest', async (_, reply) => reply.code(401).send({}))
  t.same(await statusesOf(app, ['/v1/users', '/v1/users', '/v1/users']), [401, 401, 429])
})

const from = (remoteAddress: string): InjectOptions => ({ url: '/v1/users', remoteAddress })

t.test('a caller is an address: of IPv6 a /64, and IPv4 in IPv6 is IPv4', async (t) => {
  const app = await appWith()
  for (const [address, left] of [
    ['203.0.113.7', 999],
    ['::ffff:203.0.113.7', 998],
    ['::ffff:cb00:7107', 997],
    ['203.0.113.8', 999],
    ['2001:db8:1:2::1', 999],
    ['2001:db8:1:2:ffff::9', 998],
    ['2001:0db8:0001:0002:0:0:0:5', 997],
    ['2001:db8:1:3::1', 999],
  ] as const)
    t.match(await leftOf(app, from(address)), `r=${left};`, address)
})

t.test('the key identifies the caller; undefined stands for the address, null does not count', async (t) => {
  const users: Readonly<Record<string, string | number | null>> = {
    a: 'ann',
    b: 7,
    c: '203.0.113.7',
    health: null,
  }
  for (const isAsync of [false, true]) {
    const app = await appWith({
      key: ({ headers }) => {
        const user = users[String(headers.authorization)]
        return isAsync ? Promise.resolve(user) : user
      },
    })
    for (const [authorization, remoteAddress, left] of [
      ['a', '203.0.113.7', 'r=999;'],
      ['a', '203.0.113.8', 'r=998;'],
      ['b', '203.0.113.7', 'r=999;'],
      ['unknown', '203.0.113.7', 'r=999;'],
      ['unknown', '203.0.113.7', 'r=998;'],
      ['unknown', '203.0.113.8', 'r=999;'],
      // A key is never equal to an address.
      ['c', '203.0.113.8', 'r=999;'],
      ['health', '203.0.113.7', 'undefined'],
    ] as const) {
      const request = { url: '/v1/users', remoteAddress, headers: { authorization } }
      t.match(await leftOf(app, request), left, `${authorization} from ${remoteAddress}`)
    }
  }
})

t.test('a route may have its own quota, shared with its HEAD, or none', async (t) => {
  const app = await appWith({ max: 100 })
  const config = { rateLimit: { max: 3, timeWindow: '1 hour' } }
  app.get('/v1/exports', { config }, () => ({}))
  app.get('/v1/imports', { config }, () => ({}))
  app.post('/v1/exports', { config: { rateLimit: { max: 1 } } }, () => ({}))
  app.get('/v1/health', { config: { rateLimit: false } }, () => ({}))
  for (const [method, path, left] of [
    ['GET', 'exports', '"GET /v1/exports";r=2;t=3600'],
    ['HEAD', 'exports', '"GET /v1/exports";r=1;t=3600'],
    ['POST', 'exports', '"POST /v1/exports";r=0;t=60'],
    ['GET', 'imports', '"GET /v1/imports";r=2;t=3600'],
    ['GET', 'health', 'undefined'],
    ['GET', 'users', '"default";r=99;t=60'],
    ['GET', 'exports', '"GET /v1/exports";r=0;t=3600'],
  ] as const)
    t.equal(await leftOf(app, { method, url: `/v1/${path}` }), left, `${method} ${path}`)
  const refused = await app.inject('/v1/exports')
  t.equal(refused.headers['ratelimit-policy'], '"GET /v1/exports";q=3;w=3600')
  t.match(refused.json(), { status: 429, violated_policies: ['GET /v1/exports'] })
})

t.test('a page of another origin can read a 429 and its Retry-After', async (t) => {
  const app = Fastify()
  await app.register(cors, { origin: ['https://app.example'] })
  await app.register(rateLimit, { max: 1 })
  await app.register(problems)
  await app.register(caching)
  app.get('/v1/users', () => ({}))
  const request = { url: '/v1/users', headers: { origin: 'https://app.example' } }
  await app.inject(request)
  const { statusCode, headers } = await app.inject(request)
  t.equal(statusCode, 429)
  t.match(headers, {
    'access-control-allow-origin': 'https://app.example',
    'access-control-expose-headers': /Retry-After, RateLimit, RateLimit-Policy/,
    'cache-control': 'no-store',
    'retry-after': '60',
    vary: 'Origin',
  })
})

t.test('a HEAD route shares the quota of its GET, in any order of declaration', async (t) => {
  const app = await appWith()
  const config = { rateLimit: { max: 3, timeWindow: '1 hour' } }
  app.addHook('onRoute', function declareWithEachGet({ method, url }) {
    if (method === 'GET') app.post(url, { config: { rateLimit: { max: 9 } } }, () => ({}))
  })
  app.get('/v1/exports', { config }, () => ({}))
  const below = async (child: FastifyInstance) => void child.get('/', { config }, () => ({}))
  await app.register(below, { prefix: '/v1/reports' })
  for (const [method, url, left] of [
    ['GET', '/v1/exports', 2],
    ['POST', '/v1/exports', 8],
    ['HEAD', '/v1/exports', 1],
    ['GET', '/v1/reports', 2],
    ['GET', '/v1/reports/', 1],
    ['HEAD', '/v1/reports', 0],
  ] as const)
    t.match(await leftOf(app, { method, url }), `r=${left};`, `${method} ${url}`)
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/reports/' })).statusCode, 429)
})

t.test('a 304 has the rate limit headers', async (t) => {
  const app = await appWith()
  await app.register(caching, { earlierRoutes: [{ url: '/v1/users', reason: 'not asked here' }] })
  app.get('/v1/cached', { config: { caching: { validators: () => ({ version: 1 }) } } }, () => ({}))
  const answer = await app.inject({ url: '/v1/cached', headers: { 'if-none-match': '"1"' } })
  t.equal(answer.statusCode, 304)
  t.equal(answer.headers.ratelimit, '"default";r=999;t=60')
})

t.test('in report mode no header is added, no request is refused, and both are counted', async (t) => {
  const app = await appWith({ mode: 'report', max: 1 })
  app.get('/v1/own', { config: { rateLimit: { max: 2, timeWindow: '1 minute' } } }, () => ({}))
  t.same(await statusesOf(app, Array(3).fill('/v1/users')), [200, 200, 200])
  t.equal(await leftOf(app), 'undefined')
  t.same(await statusesOf(app, Array(3).fill('/v1/own')), [200, 200, 200])
  const told = app.conventions.report().observations
  const given = told.map(({ rule, route, effect, count }) => [rule, route, effect, count])
  t.strictSame(given, [
    ['fields', 'GET /v1/users', 'header added', 1],
    ['quota', 'GET /v1/users', 'refused', 3],
    ['fields', 'GET /v1/own', 'header added', 2],
    ['quota', 'GET /v1/own', 'refused', 1],
  ])
})

t.test('peers on a Unix domain socket have no address, and count together', async (t) => {
  const app = await appWith({ max: 1 })
  app.get('/v1/own', { config: { rateLimit: { max: 1 } } }, () => ({}))
  // The path of a socket is short: a folder of the test would be too long for it.
  const folder = mkdtempSync(join(tmpdir(), 'quota-'))
  const socketPath = join(folder, 'app.sock')
  t.teardown(async () => {
    await app.close()
    rmSync(folder, { recursive: true })
  })
  await app.listen({ path: socketPath })
  const statusOf = async (path: string): Promise<number | undefined> => {
    const [response] = await once(get({ socketPath, path, agent: false }), 'response')
    response.resume()
    return response.statusCode
  }
  for (const path of ['/v1/users', '/v1/own']) {
    t.equal(await statusOf(path), 200, path)
    t.equal(await statusOf(path), 429, path)
  }
})

/** A client of ioredis with the two commands of @fastify/rate-limit, and with a switch to fail. */
function fakeRedis() {
  type Done = (error: Error | null, result?: readonly [current: number, ttl: number]) => void
  const windows = new Map<string, { used: number; readonly end: number }>()
  const windowOf = (key: string) => {
    const window = windows.get(key)
    return window !== undefined && window.end > Date.now() ? window : undefined
  }
  const redis = {
    isDown: false,
    keys: () => [...windows.keys()],
    defineCommand: () => {},
    rateLimit(key: string, timeWindow: number, ...[, , , done]: [number, boolean, boolean, Done]) {
      if (redis.isDown) return done(new Error('connection refused'))
      const window = windowOf(key) ?? { used: 0, end: Date.now() + timeWindow }
      windows.set(key, window)
      window.used += 1
      done(null, [window.used, window.end - Date.now()])
    },
    rateLimitRead(key: string, done: Done) {
      const window = windowOf(key)
      done(null, window === undefined ? [0, 0] : [window.used, window.end - Date.now()])
    },
  }
  return redis
}

t.test('while Redis is down, requests are served without counting, and one line is logged', async (t) => {
  const redis = fakeRedis()
  const { logger, lines } = keepLogs()
  const app = await appWith({ redis }, { logger })
  for (const [isDown, left] of [
    [false, '"default";r=999;t=60'],
    [true, 'undefined'],
    [true, 'undefined'],
    [false, '"default";r=998;t=60'],
    [false, '"default";r=997;t=60'],
  ] as const) {
    redis.isDown = isDown
    t.equal(await leftOf(app), left)
  }
  const told = lines.filter(({ msg }) => /^rateLimit:/.test(msg ?? '')).map(({ level }) => level)
  t.strictSame(told, [levels.error, levels.info])
})

t.test('a key function that throws: the request is served uncounted', async (t) => {
  const key = () => {
    throw new ProblemError('unauthorized')
  }
  for (const options of [{}, { mode: 'report' }] as const) {
    const { logger, lines } = keepLogs()
    const app = await appWith({ key, ...options }, { logger })
    t.equal((await app.inject('/v1/users')).statusCode, 200)
    t.equal(await leftOf(app), 'undefined')
    const errors = lines.filter(({ level }) => level === levels.error)
    t.match(errors, [{ msg: /served uncounted/, err: { code: 'unauthorized' } }])
    t.equal(errors.length, 1, 'logged once')
  }
})

t.test('invalid options fail the boot, by name', async (t) => {
  const mistakes: readonly (readonly [options: object, message: RegExp])[] = [
    [{ limit: 5 }, /rateLimit\.limit: there is no such option; expected one of .*max/],
    [{ max: 0 }, /rateLimit\.max: expected an integer from 1 to 999999999999999/],
    [{ max: -5 }, /rateLimit\.max/],
    [{ max: 10 ** 15 }, /rateLimit\.max: expected an integer from 1 to 999999999999999/],
    [{ timeWindow: '1 fortnight' }, /rateLimit\.timeWindow: expected at least a second/],
    [{ timeWindow: 10 }, /rateLimit\.timeWindow/],
    [{ key: 'ip' }, /rateLimit\.key: expected a function of the request/],
    [{ redis: {} }, /rateLimit\.redis: expected a client with defineCommand/],
    [{ enableDraftSpec: true }, /rateLimit\.enableDraftSpec: there is no such option/],
  ]
  for (const [options, message] of mistakes)
    await t.rejects(Promise.resolve(Fastify().register(rateLimit, options)), { message }, String(message))
  const app = await appWith()
  const others = [{ timeWindow: 'soon' }, { tokens: 3 }, { keyGenerator: () => 'all' }]
  for (const own of [{ max: 0 }, { max: 1e15 }, ...others]) {
    const add = () => app.get('/v1/x', { config: { rateLimit: own } }, () => ({}))
    t.throws(add, /GET \/v1\/x config\.rateLimit\./)
  }
})

t.test('beside @fastify/rate-limit in either order, that one counts, and the report says so', async (t) => {
  for (const mode of ['enforce', 'report'] as const) {
    for (const order of ['before', 'after']) {
      const app = Fastify()
      if (order === 'before') await app.register(fastifyRateLimit, { max: 2 })
      await app.register(rateLimit, { mode, max: 1 })
      if (order === 'after') await app.register(fastifyRateLimit, { max: 2 })
      app.get('/v1/users', () => ({}))
      const theirs = { max: 1, keyGenerator: () => 'all', allowList: ['127.0.0.2'] }
      app.get('/v1/own', { config: { rateLimit: theirs } }, () => ({}))
      app.get('/v1/hook', { config: { rateLimit: false }, preHandler: app.rateLimit({ max: 1 }) }, () => ({}))
      t.same(await statusesOf(app, Array(3).fill('/v1/users')), [200, 200, 429], order)
      t.same(await statusesOf(app, ['/v1/own', '/v1/own', '/v1/hook', '/v1/hook']), [200, 429, 200, 429])
      t.same(await statusesOf(app, Array(3).fill('/v1/unknown')), [404, 404, 404])
      const { headers } = await app.inject('/v1/users')
      t.match(headers, { 'x-ratelimit-limit': '2' })
      t.notOk('ratelimit' in headers)
      const { findings, observations } = app.conventions.report()
      const problem = '@fastify/rate-limit counts these requests: this plugin does not'
      t.match(findings, [{ rule: 'overlap', mode: 'report', problem, route: '(all)' }], order)
      t.equal(findings.length, 1)
      t.strictSame(observations, [])
    }
  }
})

t.test('beside @fastify/rate-limit in a context, that one counts there, this one elsewhere', async (t) => {
  const app = await appWith({ max: 1 })
  await app.register(async (child) => {
    await child.register(fastifyRateLimit, { max: 2 })
    child.get('/v1/admins', { config: { rateLimit: { max: 3, ban: 5 } } }, () => ({}))
  })
  t.same(await statusesOf(app, Array(4).fill('/v1/admins')), [200, 200, 200, 429])
  t.same(await statusesOf(app, ['/v1/users', '/v1/users']), [200, 429])
})

t.test('a route may be in another mode', async (t) => {
  const config = (mode: 'enforce' | 'report' | 'off') => ({ config: { rateLimit: { mode } } })
  for (const [mode, expected] of [
    ['enforce', { users: 429, enforce: 429, report: 200, off: 200 }],
    ['off', { users: 200, enforce: 429, report: 200, off: 200 }],
  ] as const) {
    const app = await appWith({ max: 1, mode })
    for (const own of ['enforce', 'report', 'off'] as const) app.get(`/v1/${own}`, config(own), () => ({}))
    const uncounted = mode === 'off' ? ['/v1/off', '/v1/users'] : ['/v1/off', '/v1/off']
    t.same(
      await statusesOf(app, [...uncounted, '/v1/enforce']),
      [200, 200, 200],
      `${mode}: off counts nothing`,
    )
    for (const [path, status] of Object.entries(expected)) {
      const { statusCode, headers } = await app.inject(`/v1/${path}`)
      t.equal(statusCode, status, `${mode}: ${path}`)
      t.equal('ratelimit' in headers, status === 429, `${mode}: ${path}`)
    }
  }
})

t.test('with Redis, each quota of a caller has a key of its own', async (t) => {
  const redis = fakeRedis()
  const burst = { name: 'burst', max: 2, timeWindow: '1s' } as const
  const app = await appWith({ redis, quotas: [burst, { name: 'daily', max: 3, timeWindow: '1 day' }] })
  t.equal(await leftOf(app), '"burst";r=1;t=1, "daily";r=2;t=86400')
  const keys = redis.keys().map((key) => key.replace(/^.*-(?=address)/, ''))
  t.same(keys, ['address:127.0.0.1 burst', 'address:127.0.0.1 daily'])
  await leftOf(app)
  t.equal(await leftOf(app), '"burst";r=0;t=1, "daily";r=1;t=86400', 'burst refuses, and daily is only read')
  mock.timers.tick(1000)
  t.equal(await leftOf(app), '"burst";r=1;t=1, "daily";r=0;t=86399')
  for (const violated_policies of [['daily'], ['burst', 'daily']]) {
    const refused = await app.inject('/v1/users')
    t.match(refused.headers, { 'retry-after': '86399', ratelimit: '"burst";r=0;t=1, "daily";r=0;t=86399' })
    t.strictSame(refused.json().violated_policies, violated_policies)
  }
})

t.test('a max by caller holds with Redis, too', async (t) => {
  const app = await appWith({
    redis: fakeRedis(),
    key: ({ headers }) => `${headers['x-plan']}`,
    max: (_, plan) => (plan === 'free' ? 1 : null),
  })
  const as = (plan: string) => ({ url: '/v1/users', headers: { 'x-plan': plan } })
  t.same(await statusesOf(app, [as('free'), as('free'), as('paid'), as('paid')]), [200, 429, 200, 200])
})
