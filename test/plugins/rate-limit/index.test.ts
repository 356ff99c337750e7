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
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyServerOptions, type InjectOptions } from 'fastify'
import { decodeJwt } from 'jose'
import t from 'tap'
import { bearer, cors, ProblemError, problems, type RateLimitOptions, rateLimit } from '../../../src/index.js'
import { testIssuer } from '../../../src/testing/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { keepLogs, levels } from '../../support/logs.js'
import { documentOf } from '../../support/openapi.js'
import { injected, isProblem } from '../../support/problem.js'

// Made before a test replaces the clock.
const issuer = await testIssuer()
const burst = { name: 'burst', max: 2, timeWindow: '1s' } as const
const daily = { name: 'daily', max: 5, timeWindow: '1 day' } as const

t.beforeEach(() => mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 10, 20, 12) }))
t.afterEach(() => mock.timers.reset())

async function appWith(options: RateLimitOptions = {}, server: FastifyServerOptions = {}) {
  const app = await withPlugins(Fastify(server), [rateLimit, options], problems)
  app.get('/v1/users', () => ({}))
  return app
}

type Request = InjectOptions | string

const from = (remoteAddress: string, headers = {}) => ({ url: '/v1/users', remoteAddress, headers })

/** The status of an answer, its fields, what is left as it tells, and the members of its problem. */
async function ask(app: FastifyInstance, request: Request = '/v1/users') {
  const { statusCode: status, headers, payload } = await app.inject(request)
  return { status, headers, left: headers.ratelimit, body: payload === '' ? {} : JSON.parse(payload) }
}

const leftOf = async (app: FastifyInstance, request?: Request) => String((await ask(app, request)).left)

async function statusesOf(app: FastifyInstance, requests: readonly Request[]) {
  const statuses: number[] = []
  for (const request of requests) statuses.push((await app.inject(request)).statusCode)
  return statuses
}

/** The same request several times. */
const times = (count: number, request: Request = '/v1/users') => Array<Request>(count).fill(request)

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
    const app = await appOf([rateLimit, { max: 2, timeWindow: '30s' }])
    if (withProblems) await app.register(problems)
    app.get('/v1/users', () => ({}))
    t.same(await statusesOf(app, times(2)), [200, 200])
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
  app.addHook('onRequest', async (_, reply) => reply.code(401).send({}))
  for (const wait of [0, 1, 1001, 7_299]) {
    t.equal((await app.inject('/v1/users')).statusCode, 401, 'a request counts before authentication')
    mock.timers.tick(wait)
    const { statusCode, headers } = await app.inject('/v1/users')
    t.equal(statusCode, 429, `after ${wait} ms`)
    mock.timers.tick(Number(headers['retry-after']) * 1000)
    t.equal((await app.inject('/v1/users')).statusCode, 401, 'served after the wait')
    mock.timers.tick(7_300)
  }
})

t.test('every request counts once: 404s, 405s, errors, HEAD beside GET, and no preflight', async (t) => {
  const app = await appOf([cors, { origin: ['https://app.example'] }], [rateLimit, { max: 100 }], problems)
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
  for (const [origin, left] of [
    [headers.origin, 'undefined'],
    [false, '"default";r=999;t=60'],
  ] as const) {
    const app = await appWith()
    await app.register(fastifyCors, { origin })
    app.all('/v1/everything', () => ({}))
    t.equal(await leftOf(app, { method: 'OPTIONS', url: '/v1/everything', headers }), left)
  }
})

t.test('trustProxy: true is a finding where addresses have quotas', async (t) => {
  for (const [trustProxy, options, rules] of [
    [true, {}, ['address none']],
    [true, { mode: 'report' }, ['address none']],
    [true, { key: () => 'one' }, []],
    [true, { mode: 'off' }, []],
    ['10.0.0.0/8', {}, []],
    [false, {}, []],
  ] as const) {
    const app = await appWith(options, { trustProxy })
    await app.ready()
    const found = app.conventions.report().findings.map(({ rule, effect }) => `${rule} ${effect}`)
    t.strictSame(found, rules, `${trustProxy} ${JSON.stringify(options)}`)
  }
})

t.test('a caller is an address: of IPv6 a /64, and IPv4 in IPv6 is IPv4', async (t) => {
  const app = await appWith()
  const addresses =
    '::ffff:203.0.113.7=999 203.0.113.7=998 ::ffff:cb00:7107=997 203.0.113.8=999 2001:db8:1:2::1=999 ' +
    '2001:db8:1:2:ffff::9=998 2001:0db8:0001:0002:0:0:0:5=997 2001:db8:1:3::1=999'
  const byProxies = '203.0.113.8:4000=998 [2001:db8:1:3::2]:80=998 [2001:db8:1:3::3]=997'
  for (const row of `${addresses} ${byProxies}`.split(' ')) {
    const [address = '', left] = row.split('=')
    t.match(await leftOf(app, from(address)), `r=${left};`, address)
  }
})

t.test('the key identifies the caller; undefined stands for the address, null does not count', async (t) => {
  const users: Record<string, string | number | null> = { a: 'ann', b: 7, c: '203.0.113.7', health: null }
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
      const request = from(remoteAddress, { authorization })
      t.match(await leftOf(app, request), left, `${authorization} from ${remoteAddress}`)
    }
  }
})

t.test('a route may have its own quota, shared with its HEAD, or none', async (t) => {
  const app = await appWith({ max: 100 })
  const config = { rateLimit: { max: 3, timeWindow: '1 hour' } }
  // The POST is declared between a GET and its HEAD.
  app.addHook('onRoute', function declareWithEachGet({ method, url }) {
    if (method === 'GET') app.post(url, { config: { rateLimit: { max: 9 } } }, () => ({}))
  })
  app.get('/v1/exports', { config }, () => ({}))
  app.get('/v1/imports', { config }, () => ({}))
  const below = async (child: FastifyInstance) => void child.get('/', { config }, () => ({}))
  await app.register(below, { prefix: '/v1/reports' })
  app.get('/v1/health', { config: { rateLimit: false } }, () => ({}))
  for (const [method, path, left] of [
    ['GET', 'exports', '"GET /v1/exports";r=2;t=3600'],
    ['HEAD', 'exports', '"GET /v1/exports";r=1;t=3600'],
    ['POST', 'exports', '"POST /v1/exports";r=8;t=60'],
    ['GET', 'reports', '"GET /v1/reports";r=2;t=3600'],
    ['HEAD', 'reports/', '"GET /v1/reports";r=1;t=3600'],
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

t.test('in report mode no header is added, no request is refused, and both are counted', async (t) => {
  const app = await appWith({ mode: 'report', max: 1 })
  app.get('/v1/own', { config: { rateLimit: { max: 2, timeWindow: '1 minute' } } }, () => ({}))
  t.same(await statusesOf(app, times(3)), [200, 200, 200])
  t.equal(await leftOf(app), 'undefined')
  t.same(await statusesOf(app, times(3, '/v1/own')), [200, 200, 200])
  const { observations } = app.conventions.report()
  const told = observations.map(({ rule, route, effect, count }) => [rule, route, effect, count].join())
  t.strictSame(told, [
    ...['fields,GET /v1/users,header added,1', 'quota,GET /v1/users,refused,3'],
    ...['fields,GET /v1/own,header added,2', 'quota,GET /v1/own,refused,1'],
  ])
})

t.test('peers on a Unix domain socket have no address, and count together', async (t) => {
  const app = await appWith({ max: 1 })
  // The path of a socket is short: a folder of the test would be too long for it.
  const folder = mkdtempSync(join(tmpdir(), 'quota-'))
  const socketPath = join(folder, 'app.sock')
  t.teardown(async () => {
    await app.close()
    rmSync(folder, { recursive: true })
  })
  await app.listen({ path: socketPath })
  for (const status of [200, 429]) {
    const [response] = await once(get({ socketPath, path: '/v1/users', agent: false }), 'response')
    response.resume()
    t.equal(response.statusCode, status)
  }
})

/** A client of ioredis with the two commands of @fastify/rate-limit. */
function fakeRedis() {
  type Done = (error: null, result: readonly [current: number, ttl: number]) => void
  const windows = new Map<string, { used: number; readonly end: number }>()
  const windowOf = (key: string, timeWindow: number) => {
    const window = windows.get(key)
    return window !== undefined && window.end > Date.now()
      ? window
      : { used: 0, end: Date.now() + timeWindow }
  }
  return {
    keys: () => [...windows.keys()],
    defineCommand: () => {},
    rateLimit(key: string, timeWindow: number, ...[, , , done]: [number, boolean, boolean, Done]) {
      const window = windowOf(key, timeWindow)
      windows.set(key, window)
      window.used += 1
      done(null, [window.used, window.end - Date.now()])
    },
    rateLimitRead(key: string, done: Done) {
      const window = windowOf(key, 0)
      done(null, [window.used, window.end - Date.now()])
    },
  }
}

t.test('invalid options fail the boot, by name', async (t) => {
  const mistakes: readonly (readonly [options: object, message: RegExp])[] = [
    [{ max: 10 ** 15 }, /rateLimit\.max: expected an integer from 1 to 999999999999999/],
    [{ timeWindow: '1 fortnight' }, /rateLimit\.timeWindow: expected at least a second/],
    [{ redis: {} }, /rateLimit\.redis: expected a client with defineCommand/],
    [{ quotas: [] }, /rateLimit\.quotas: expected at least one quota/],
    [{ quotas: [daily, burst, burst] }, /rateLimit\.quotas\[2\]\.name: expected a name that no other/],
    [{ quotas: [{ ...burst, name: 'a b' }] }, /rateLimit\.quotas\[0\]\.name: expected a letter/],
    [{ quotas: [{ ...burst, name: 'a'.repeat(65) }] }, /rateLimit\.quotas\[0\]\.name: expected a letter/],
    [{ quotas: [{ ...burst, max: 0 }] }, /rateLimit\.quotas\[0\]\.max/],
    [{ quotas: [burst], timeWindow: 5000 }, /rateLimit\.timeWindow: expected no such option beside quotas/],
  ]
  for (const [options, message] of mistakes)
    await t.rejects(Promise.resolve(Fastify().register(rateLimit, options)), { message }, String(message))
  const app = await appWith()
  for (const [own, message] of [
    [{ max: 0 }, /GET \/v1\/x config\.rateLimit\.max/],
    [{ keyGenerator: () => 'all' }, /GET \/v1\/x config\.rateLimit\.keyGenerator: there is no such option/],
    [{ quotas: [burst], max: 2 }, /config\.rateLimit\.max: expected no such option beside quotas/],
  ] as const) {
    t.throws(() => app.get('/v1/x', { config: { rateLimit: own as object } }, () => ({})), message)
  }
})

t.test('beside @fastify/rate-limit in either order, that one counts, and the report says so', async (t) => {
  for (const order of ['before', 'after']) {
    const app = Fastify()
    if (order === 'before') await app.register(fastifyRateLimit, { max: 2 })
    await app.register(rateLimit, { max: 1 })
    if (order === 'after') await app.register(fastifyRateLimit, { max: 2 })
    app.get('/v1/users', () => ({}))
    const theirs = { max: 1, keyGenerator: () => 'all', allowList: ['127.0.0.2'] }
    app.get('/v1/own', { config: { rateLimit: theirs } }, () => ({}))
    app.get('/v1/hook', { config: { rateLimit: false }, preHandler: app.rateLimit({ max: 1 }) }, () => ({}))
    t.same(await statusesOf(app, times(3)), [200, 200, 429], order)
    t.same(await statusesOf(app, ['/v1/own', '/v1/own', '/v1/hook', '/v1/hook']), [200, 429, 200, 429])
    t.same(await statusesOf(app, times(3, '/v1/unknown')), [404, 404, 404])
    const { headers } = await app.inject('/v1/users')
    t.match(headers, { 'x-ratelimit-limit': '2', ratelimit: undefined })
    const problem = '@fastify/rate-limit counts these requests: this plugin does not'
    t.match(app.conventions.report().findings, [{ rule: 'overlap', mode: 'report', problem }], order)
  }
})

t.test('beside @fastify/rate-limit in a context, that one counts there, this one elsewhere', async (t) => {
  const app = await appWith({ max: 1 })
  await app.register(async (child) => {
    await child.register(fastifyRateLimit, { max: 2 })
    child.get('/v1/admins', { config: { rateLimit: { max: 3, ban: 5 } } }, () => ({}))
  })
  t.same(await statusesOf(app, times(4, '/v1/admins')), [200, 200, 200, 429])
  t.same(await statusesOf(app, times(2)), [200, 429])
})

t.test('a route may be in another mode', async (t) => {
  const config = (mode: 'enforce' | 'report' | 'off') => ({ config: { rateLimit: { mode } } })
  for (const [mode, users] of [
    ['enforce', 429],
    ['off', 200],
  ] as const) {
    const app = await appWith({ max: 1, mode })
    for (const own of ['enforce', 'report', 'off'] as const) app.get(`/v1/${own}`, config(own), () => ({}))
    const statuses = await statusesOf(app, ['/v1/off', '/v1/off', '/v1/enforce'])
    t.same(statuses, [200, 200, 200], 'off counts nothing')
    for (const [path, status] of Object.entries({ users, enforce: 429, report: 200, off: 200 })) {
      const answer = await ask(app, `/v1/${path}`)
      const seen = [answer.status, 'ratelimit' in answer.headers]
      t.strictSame(seen, [status, status === 429], `${mode}: ${path}`)
    }
  }
})

t.test('with Redis, each quota of a caller has a key of its own', async (t) => {
  const redis = fakeRedis()
  const app = await appWith({ redis, quotas: [burst, { ...daily, max: 3 }] })
  t.equal(await leftOf(app), '"burst";r=1;t=1, "daily";r=2;t=86400')
  const keys = redis.keys().map((key) => key.replace(/^.*-(?=address)/, ''))
  t.same(keys, ['address:127.0.0.1 burst', 'address:127.0.0.1 daily'])
  await leftOf(app)
  const { left, body } = await ask(app)
  t.equal(left, '"burst";r=0;t=1, "daily";r=1;t=86400', 'burst refuses, and daily is only read')
  t.strictSame(body.violated_policies, ['burst'])
  mock.timers.tick(1000)
  t.equal(await leftOf(app), '"burst";r=1;t=1, "daily";r=0;t=86399')
  for (const violated_policies of [['daily'], ['burst', 'daily']]) {
    const refused = await app.inject('/v1/users')
    t.match(refused.headers, { 'retry-after': '86399', ratelimit: '"burst";r=0;t=1, "daily";r=0;t=86399' })
    t.strictSame(refused.json().violated_policies, violated_policies)
  }
  const quotas = [daily, burst].map((quota) => ({ ...quota, max: 1 }))
  const longFirst = await appWith({ redis: fakeRedis(), quotas })
  await leftOf(longFirst)
  t.strictSame((await ask(longFirst)).body.violated_policies, ['daily', 'burst'], 'each without any left')
  mock.timers.tick(1000)
  const whole = '"daily";r=0;t=86399, "burst";r=1;t=1'
  t.equal(await leftOf(longFirst), whole, 'a window that has not begun is whole')
})

const as = (user: string) => ({ url: '/v1/users', headers: { 'x-user': user } })
const byUser: Pick<RateLimitOptions, 'key'> = { key: ({ headers }) => headers['x-user']?.toString() }

t.test('keys are bounded, and an invented address is never equal to a key of the app', async (t) => {
  const redis = fakeRedis()
  const app = await appWith({ ...byUser, redis })
  const users = ['k'.repeat(64), `${'k'.repeat(65)}a`, `${'k'.repeat(65)}b`]
  for (const request of [...users.map(as), from('key:admin'), from('1'.repeat(10_000))])
    await app.inject(request)
  const keys = redis.keys().map((key) => key.replace(/^.*-(?=(?:key|address):)/, ''))
  const digest = '[\\w-]{43} default$'
  const ofUsers = [`key:${users[0]} default`, RegExp(`^key:${digest}`), RegExp(`^key:${digest}`)]
  t.match(keys, [...ofUsers, /^address:key:admin default$/, RegExp(`^address:${digest}`)])
  t.equal(new Set(keys).size, 5)
})

t.test('the fields list all quotas; a request that one refuses takes nothing from the others', async (t) => {
  const app = await appWith({ quotas: [burst, daily] })
  const first = await ask(app)
  t.equal(first.headers['ratelimit-policy'], '"burst";q=2;w=1, "daily";q=5;w=86400')
  t.equal(first.left, '"burst";r=1;t=1, "daily";r=4;t=86400')
  t.same(await statusesOf(app, times(9)), [200, ...Array(8).fill(429)])
  const detail = 'There were more than 2 requests in 1 second; try again in 1 second'
  t.match(await ask(app), {
    left: '"burst";r=0;t=1, "daily";r=3;t=86400',
    headers: { 'retry-after': '1' },
    body: { detail, violated_policies: ['burst'] },
  })
  mock.timers.tick(1000)
  t.same(await statusesOf(app, times(2)), [200, 200])
  mock.timers.tick(1000)
  const left = '"burst";r=1;t=1, "daily";r=0;t=86398'
  t.match(await ask(app), { status: 200, left })
  const refused = { status: 429, left, headers: { 'retry-after': '86398' } }
  t.match(await ask(app), { ...refused, body: { violated_policies: ['daily'] } })
})

t.test('a route may have several quotas of its own', async (t) => {
  const name = 'd'.repeat(64)
  const app = await appWith({ quotas: [burst, { ...daily, name }] })
  app.get('/v1/exports', { config: { rateLimit: { quotas: [burst, { ...daily, max: 3 }] } } }, () => ({}))
  app.get('/v1/simple', { config: { rateLimit: { max: 7 } } }, () => ({}))
  const left = '"GET /v1/exports burst";r=1;t=1, "GET /v1/exports daily";r=2;t=86400'
  t.match(await ask(app, '/v1/exports'), { left })
  t.match(await ask(app, '/v1/simple'), { left: '"GET /v1/simple";r=6;t=60' })
  t.match(await ask(app), { left: `"burst";r=1;t=1, "${name}";r=4;t=86400` })
})

t.test('max by caller: a function, sync or async, whose result is kept for a minute', async (t) => {
  const longest = 'x'.repeat(65)
  for (const isAsync of [false, true]) {
    const calls: string[] = []
    const plans = new Map<string, number | null>([
      ['largest', 999_999_999_999_999],
      ['free', 2],
      ['unlimited', null],
      ['infinite', Infinity],
      ['blocked', 0],
      ['', 1],
    ])
    const app = await appWith({
      ...byUser,
      max: (_, caller) => {
        calls.push(caller)
        const max = plans.get(caller) ?? null
        return isAsync ? Promise.resolve(max) : max
      },
    })
    for (const [user, status, left] of [
      ['free', 200, '"default";r=1;t=60'],
      ['free', 200, '"default";r=0;t=60'],
      ['free', 429, '"default";r=0;t=60'],
      ['largest', 200, '"default";r=999999999999998;t=60'],
      [undefined, 200, '"default";r=0;t=60'],
      ['unlimited', 200, undefined],
      ['infinite', 200, undefined],
      ['blocked', 429, '"default";r=0;t=60'],
      [longest, 200, undefined],
    ] as const) {
      const answer = await ask(app, user === undefined ? '/v1/users' : as(user))
      t.strictSame([answer.status, answer.left], [status, left], String(user))
    }
    const callers = ['free', 'largest', '', 'unlimited', 'infinite', 'blocked', longest]
    t.same(calls, callers, 'once for each caller')
    t.equal((await ask(app, as('blocked'))).headers['retry-after'], '60')
    plans.set('free', 10)
    mock.timers.tick(59_999)
    t.match(await ask(app, as('free')), { status: 429 })
    mock.timers.tick(1)
    t.match(await ask(app, as('free')), { left: '"default";r=9;t=60' })
    plans.set('free', 5)
    mock.timers.setTime(Date.now() - 3_600_000)
    t.match(await ask(app, as('free')), { left: '"default";r=4;t=60' }, 'also if the clock is set back')
  }
})

t.test('if key throws, or max fails or is no number, requests are served uncounted', async (t) => {
  const failing = () => {
    throw new ProblemError('unauthorized')
  }
  const values = [-1, 1.5, Number.NaN, 1e15, undefined, '10', Promise.resolve({})].map((value) => () => value)
  const maxima = [failing, async () => failing(), ...values].map((max) => ({ max: max as () => number }))
  for (const options of [{ key: failing }, { key: failing, mode: 'report' } as const, ...maxima]) {
    const { logger, lines } = keepLogs()
    const app = await appWith(options, { logger })
    t.same(await statusesOf(app, times(2)), [200, 200])
    t.equal(await leftOf(app), 'undefined')
    const errors = lines.filter(({ level }) => level === levels.error)
    t.match(errors, [{ msg: /served uncounted/ }])
    t.equal(errors.length, 1, 'logged once')
    if ('key' in options) t.match(errors, [{ err: { code: 'unauthorized' } }])
  }
})

t.test('several quotas by plan: a limit of one does not lift the other', async (t) => {
  const max = async (_: unknown, caller: string) => (caller === 'gold' ? null : 1)
  const app = await appWith({ ...byUser, quotas: [burst, { ...daily, max }] })
  const headers = { 'ratelimit-policy': '"burst";q=2;w=1' }
  t.match(await ask(app, as('gold')), { left: '"burst";r=1;t=1', headers })
  t.same(await statusesOf(app, times(2, as('gold'))), [200, 429])
  t.same(await statusesOf(app, times(2, as('free'))), [200, 429])
  t.match(await ask(app, as('free')), { body: { violated_policies: ['daily'] } })
})

t.test('with bearer, whichever is registered first, a verified token has a quota of its own', async (t) => {
  const { iat } = decodeJwt(await issuer.token())
  t.equal(iat, Math.floor(Date.now() / 1000), 'the test issuer has the time of the test')
  for (const isLast of [false, true]) {
    const app = Fastify()
    const register = [
      () => app.register(rateLimit, { max: (_, caller) => (caller === 'ada' ? 50 : 3) }),
      () => app.register(bearer, issuer.options),
    ]
    for (const each of isLast ? register.reverse() : register) await each()
    await app.register(problems)
    app.get('/v1/users', () => ({}))
    const bearing = async (subject: string) =>
      from('203.0.113.7', { authorization: `Bearer ${await issuer.token({ subject })}` })
    const ada = await bearing('ada')
    t.match(await ask(app, ada), { status: 200, left: '"default";r=2;t=60' })
    t.match(await ask(app, ada), { status: 200, left: '"default";r=49;t=60' })
    const guess = from('203.0.113.7', { authorization: 'Bearer guess' })
    t.same(await statusesOf(app, times(4, guess)), [401, 401, 429, 429])
    t.match(await ask(app, ada), { status: 200, left: '"default";r=48;t=60' })
    t.match(await ask(app, await bearing('bob')), { status: 429 })
  }
})

t.test('the OpenAPI document has the header fields and the 429, where the mode is enforce', async (t) => {
  const app = await appOf([swagger, { openapi: {} }], rateLimit)
  const schema = { response: { 200: { type: 'object' } } }
  for (const mode of ['enforce', 'report'] as const)
    app.get(`/v1/${mode}`, { schema, config: { rateLimit: { mode } } }, () => ({}))
  const { paths } = await documentOf(app)
  const ofText = { schema: { type: 'string' } }
  const fields = { 'RateLimit-Policy': ofText, RateLimit: ofText }
  const refusal = { headers: { ...fields, 'Retry-After': {} }, content: { 'application/problem+json': {} } }
  t.match(paths?.['/v1/enforce']?.get?.responses, { 200: { headers: fields }, 429: refusal })
  t.notMatch(paths?.['/v1/report']?.get?.responses, { 429: {} })
})
