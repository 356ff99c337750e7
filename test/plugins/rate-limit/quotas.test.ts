/** Several quotas at once, quotas by caller, the cost of a request, and counting failures only. */
import { request as send } from 'node:http'
import { mock } from 'node:test'
import Fastify, { type FastifyInstance, type FastifyServerOptions, type InjectOptions } from 'fastify'
import t from 'tap'
import { knownSubject } from '../../../src/fastify/caller.js'
import { bearer } from '../../../src/plugins/bearer/index.js'
import { problems } from '../../../src/plugins/problems/index.js'
import { type QuotaStore, type RateLimitOptions, rateLimit } from '../../../src/plugins/rate-limit/index.js'
import { memoryQuotaStore } from '../../../src/plugins/rate-limit/stores/memory.js'
import { ProblemError } from '../../../src/problem/problem-error.js'
import { testIssuer } from '../../../src/testing/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { serve } from '../../support/serve.js'
import { until } from '../../support/until.js'

t.beforeEach(() => mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 10, 20, 12) }))
t.afterEach(() => mock.timers.reset())

async function appWith(
  options: RateLimitOptions,
  server: FastifyServerOptions = {},
): Promise<FastifyInstance> {
  const app = Fastify(server)
  await app.register(rateLimit, options)
  await app.register(problems)
  app.get('/v1/users', () => ({}))
  return app
}

async function ask(app: FastifyInstance, request: InjectOptions | string = '/v1/users') {
  const { statusCode, headers, payload } = await app.inject(request)
  return {
    status: statusCode,
    headers,
    left: headers.ratelimit,
    body: payload === '' ? {} : JSON.parse(payload),
  }
}

async function statuses(app: FastifyInstance, request: InjectOptions | string, times: number) {
  const all: number[] = []
  for (let index = 0; index < times; index += 1) all.push((await ask(app, request)).status)
  return all
}

const from = (remoteAddress: string, headers = {}): InjectOptions => ({
  url: '/v1/users',
  remoteAddress,
  headers,
})
const as = (user: string): InjectOptions => ({ url: '/v1/users', headers: { 'x-user': user } })
const burst = { name: 'burst', max: 2, timeWindow: '1s' } as const
const daily = { name: 'daily', max: 5, timeWindow: '1 day' } as const
const byUser: Pick<RateLimitOptions, 'key'> = { key: ({ headers }) => headers['x-user']?.toString() }

t.test('the fields list all quotas, and a 429 names the exceeded one and its Retry-After', async (t) => {
  const app = await appWith({ quotas: [burst, daily] })
  const first = await ask(app)
  t.equal(first.headers['ratelimit-policy'], '"burst";q=2;w=1, "daily";q=5;w=86400')
  t.equal(first.left, '"burst";r=1;t=1, "daily";r=4;t=86400')
  await ask(app)
  const refused = await ask(app)
  t.match(refused, {
    status: 429,
    left: '"burst";r=0;t=1, "daily";r=3;t=86400',
    headers: { 'retry-after': '1' },
    body: {
      detail: 'There were more than 2 requests in 1 seconds; try again in 1',
      violated_policies: ['burst'],
    },
  })
})

t.test('a request that one quota refuses takes nothing from the others', async (t) => {
  const app = await appWith({ quotas: [burst, daily] })
  t.same(await statuses(app, '/v1/users', 10), [200, 200, ...Array(8).fill(429)])
  mock.timers.tick(1000)
  t.same(await statuses(app, '/v1/users', 2), [200, 200])
  mock.timers.tick(1000)
  t.match(await ask(app), { status: 200, left: '"burst";r=1;t=1, "daily";r=0;t=86398' })
  const refused = await ask(app)
  t.match(refused, {
    status: 429,
    headers: { 'retry-after': '86398' },
    body: { violated_policies: ['daily'] },
  })
  t.equal(refused.left, '"burst";r=1;t=1, "daily";r=0;t=86398')
})

t.test('if several quotas refuse a request, the one that ends last decides about Retry-After', async (t) => {
  const app = await appWith({ quotas: [daily, { ...burst, max: 5 }] })
  await statuses(app, '/v1/users', 5)
  t.match(await ask(app), {
    headers: { 'retry-after': '86400' },
    body: { violated_policies: ['daily', 'burst'], detail: /more than 5 requests in 86400 seconds/ },
  })
})

t.test('a route has several quotas of its own, shared with its HEAD, and a hook adds several', async (t) => {
  const app = await appWith({ quotas: [burst, daily] })
  app.get('/v1/exports', { config: { rateLimit: { quotas: [burst, { ...daily, max: 3 }] } } }, () => ({}))
  app.get('/v1/simple', { config: { rateLimit: { max: 7 } } }, () => ({}))
  app.get('/v1/hook', { preHandler: app.rateLimit({ quotas: [burst, daily] }) }, () => ({}))
  t.equal(
    (await ask(app, '/v1/exports')).left,
    '"GET /v1/exports burst";r=1;t=1, "GET /v1/exports daily";r=2;t=86400',
  )
  await ask(app, { method: 'HEAD', url: '/v1/exports' })
  t.match(await ask(app, '/v1/exports'), {
    status: 429,
    body: { violated_policies: ['GET /v1/exports burst'] },
  })
  t.equal((await ask(app, '/v1/simple')).left, '"GET /v1/simple";r=6;t=60')
  t.equal(
    (await ask(app, '/v1/hook')).left,
    '"burst";r=1;t=1, "daily";r=4;t=86400, "hook-1 burst";r=1;t=1, "hook-1 daily";r=4;t=86400',
  )
})

t.test(
  'max by caller: a function of the request and the caller, sync or async, kept for a minute',
  async (t) => {
    for (const isAsync of [false, true]) {
      const calls: string[] = []
      const plans: Record<string, number | null> = {
        free: 2,
        paid: 100,
        unlimited: null,
        infinite: Infinity,
        blocked: 0,
      }
      const app = await appWith({
        ...byUser,
        max: (_, caller) => {
          calls.push(caller)
          const max = plans[caller] ?? (caller in plans ? null : 1)
          return isAsync ? Promise.resolve(max) : max
        },
      })
      t.match(await ask(app, as('free')), { headers: { 'ratelimit-policy': '"default";q=2;w=60' } })
      t.same(await statuses(app, as('free'), 2), [200, 429])
      t.match(await ask(app, as('paid')), { left: '"default";r=99;t=60' })
      t.match(await ask(app), { left: '"default";r=0;t=60' })
      for (const user of ['unlimited', 'infinite']) {
        t.match(
          await ask(app, as(user)),
          { status: 200, left: undefined },
          'without a limit nothing is counted',
        )
      }
      t.match(await ask(app, as('blocked')), { status: 429, headers: { 'retry-after': '60' } })
      t.same(calls, ['free', 'paid', '', 'unlimited', 'infinite', 'blocked'], 'once for each caller')
      plans.free = 10
      mock.timers.tick(59_999)
      t.match(await ask(app, as('free')), { status: 429 })
      mock.timers.tick(1)
      t.match(await ask(app, as('free')), { left: '"default";r=9;t=60' })
    }
  },
)

t.test('maxTtl decides how long the result of max is kept; 0 for not at all', async (t) => {
  let calls = 0
  const max = () => ++calls
  const app = await appWith({ max, maxTtl: '5s' })
  await ask(app)
  mock.timers.tick(4_999)
  await ask(app)
  t.equal(calls, 1)
  mock.timers.tick(1)
  await ask(app)
  t.equal(calls, 2)
  const never = await appWith({ max, maxTtl: 0 })
  await statuses(never, '/v1/users', 3)
  t.equal(calls, 5)
})

t.test('concurrent requests of a caller wait for one result of max, and a failure is not kept', async (t) => {
  const answers: { resolve(max: number): void; reject(error: Error): void }[] = []
  const max = () => new Promise<number>((resolve, reject) => answers.push({ resolve, reject }))
  const app = await appWith({ ...byUser, max, skipOnError: false })
  await app.ready()
  const failing = [ask(app, as('ann')), ask(app, as('ann')), ask(app, as('bob'))]
  await until(
    async () => answers.length,
    (length) => length === 2,
  )
  answers[0]?.reject(new ProblemError('authentication-unavailable', { detail: 'The plans cannot be read' }))
  answers[1]?.resolve(3)
  t.match(await Promise.all(failing), [{ status: 503 }, { status: 503 }, { left: '"default";r=2;t=60' }])
  const next = ask(app, as('ann'))
  await until(
    async () => answers.length,
    (length) => length === 3,
  )
  answers[2]?.resolve(5)
  t.match(await next, { left: '"default";r=4;t=60' })
})

t.test('a max that fails or is no max follows skipOnError', async (t) => {
  const broken: readonly (() => unknown)[] = [
    () => {
      throw new Error('no plans')
    },
    () => Promise.reject(new Error('no plans')),
    () => -1,
    () => 1.5,
    () => Number.NaN,
    () => 1e15,
    () => undefined,
    () => '10',
    () => Promise.resolve({}),
  ]
  for (const max of broken) {
    const { logger, lines } = keepLogs()
    const lenient = await appWith({ max: max as () => number }, { logger })
    t.same(await statuses(lenient, '/v1/users', 2), [200, 200], String(max))
    t.equal(lines.filter(({ level }) => level === levels.error).length, 1)
    const strict = await appWith({ max: max as () => number, skipOnError: false })
    t.match(await ask(strict), { status: 500 })
  }
})

t.test('several quotas by plan: a limit of one does not lift the other', async (t) => {
  const app = await appWith({
    ...byUser,
    quotas: [burst, { ...daily, max: async (_, caller) => (caller === 'gold' ? null : 1) }],
  })
  t.match(await ask(app, as('gold')), {
    left: '"burst";r=1;t=1',
    headers: { 'ratelimit-policy': '"burst";q=2;w=1' },
  })
  t.same(await statuses(app, as('gold'), 2), [200, 429])
  t.same(await statuses(app, as('free'), 2), [200, 429])
  t.match(await ask(app, as('free')), { body: { violated_policies: ['daily'] } })
})

t.test('the cost of a route counts against the quota of the plugin, and 0 does not count', async (t) => {
  const app = await appWith({ max: 10 })
  app.get('/v1/search', { config: { rateLimit: { cost: 4 } } }, () => ({}))
  app.get('/v1/free', { config: { rateLimit: { cost: 0 } } }, () => ({}))
  app.get('/v1/own', { config: { rateLimit: { cost: 4, max: 8 } } }, () => ({}))
  app.get('/v1/hook', { preHandler: app.rateLimit({ cost: 3, max: 9 }) }, () => ({}))
  t.equal((await ask(app, '/v1/search')).left, '"default";r=6;t=60')
  t.equal((await ask(app, { method: 'HEAD', url: '/v1/search' })).left, '"default";r=2;t=60')
  t.match(await ask(app, '/v1/search'), {
    status: 429,
    left: '"default";r=2;t=60',
    body: { detail: 'The request costs 4, and 2 of 10 in 60 seconds are left; try again in 60' },
  })
  t.equal((await ask(app, '/v1/free')).left, undefined)
  t.equal((await ask(app)).left, '"default";r=1;t=60', 'what costs less is served')
  t.equal((await ask(app, '/v1/own')).left, '"GET /v1/own";r=4;t=60')
  t.equal((await ask(app, '/v1/hook')).left, '"default";r=0;t=60, "hook-1";r=6;t=60')
})

/** A login, whose only right password is `right`. */
async function loginWith(options: RateLimitOptions, config: object, server: FastifyServerOptions = {}) {
  const app = await appWith(options, server)
  app.post('/v1/login', { config: { rateLimit: config } }, async (request, reply) => {
    const { authorization = '' } = request.headers
    if (authorization === 'broken') throw new Error('broken')
    if (authorization === 'moved') return reply.redirect('/v1/users')
    if (authorization === 'busy') throw new ProblemError('quota-exceeded')
    return authorization === 'right' ? {} : reply.code(401).send({})
  })
  return app
}

const login = (authorization: string): InjectOptions => ({
  method: 'POST',
  url: '/v1/login',
  headers: { authorization },
})

t.test('count: failures: right passwords do not count, wrong ones and errors do', async (t) => {
  const app = await loginWith({}, { max: 3, timeWindow: '15 minutes', count: 'failures' })
  t.same(await statuses(app, login('right'), 10), Array(10).fill(200))
  t.match(await statuses(app, login('moved'), 5), Array(5).fill(302))
  t.same(await statuses(app, login('busy'), 5), Array(5).fill(429), 'a 429 of the route itself is no guess')
  t.match(await ask(app, login('wrong')), { status: 401, left: '"POST /v1/login";r=2;t=900' })
  t.match(await ask(app, login('broken')), { status: 500, left: '"POST /v1/login";r=1;t=900' })
  t.match(await ask(app, login('right')), { status: 200, left: '"POST /v1/login";r=0;t=900' })
  t.match(await ask(app, login('wrong')), { status: 401, left: '"POST /v1/login";r=0;t=900' })
  t.match(await ask(app, login('right')), { status: 429 }, 'the right password too')
  mock.timers.tick(900_000)
  t.match(await ask(app, login('right')), { status: 200 })
})

t.test('count: failures: concurrent guesses get no further than others', async (t) => {
  const app = await loginWith({}, { max: 3, count: 'failures' })
  const guesses = await Promise.all(Array.from({ length: 50 }, () => ask(app, login('wrong'))))
  t.equal(guesses.filter(({ status }) => status === 401).length, 3)
  t.equal(guesses.filter(({ status }) => status === 429).length, 47)
})

t.test('count: failures: a connection that is closed before the response counts', async (t) => {
  const store = memoryQuotaStore(100)
  const app = await appWith({ store })
  let entered = 0
  app.post('/v1/login', { config: { rateLimit: { max: 3, count: 'failures' } } }, async (_, reply) => {
    entered += 1
    await new Promise((resolve) => reply.raw.once('close', resolve))
    return {}
  })
  const { origin } = await serve(t, app)
  for (const each of [1, 2, 3]) {
    const guess = send(`${origin}/v1/login`, { method: 'POST', agent: false })
    guess.on('error', () => {})
    guess.end()
    await until(
      async () => entered,
      (count) => count === each,
    )
    guess.destroy()
  }
  t.equal((await fetch(`${origin}/v1/login`, { method: 'POST' })).status, 429)
  t.equal(entered, 3)
})

t.test('count: failures beside a quota of all requests: only the former is given back', async (t) => {
  const app = await loginWith(
    {},
    {
      quotas: [
        { ...burst, max: 5 },
        { name: 'guesses', max: 3, timeWindow: '1 hour', count: 'failures' },
      ],
    },
  )
  const states = async (password: string) =>
    /;r=(\d).*;r=(\d)/.exec(String((await ask(app, login(password))).left))?.slice(1)
  t.same(await states('right'), ['4', '2'])
  t.same(await states('right'), ['3', '2'])
  t.same(await states('wrong'), ['2', '2'])
  t.same(await states('right'), ['1', '1'])
})

t.test(
  'count: failures as a quota of the plugin: a flood of 401s is stopped, whatever the path',
  async (t) => {
    const app = await appWith({
      quotas: [{ name: 'refused', max: 2, timeWindow: '1 minute', count: 'failures' }],
    })
    t.same(await statuses(app, '/v1/users', 5), Array(5).fill(200))
    t.same(await statuses(app, '/v1/nothing', 3), [404, 404, 429])
    t.match(await ask(app), { status: 429 })
  },
)

t.test('what cannot be given back is logged, and the response is not affected', async (t) => {
  const counts = memoryQuotaStore(100)
  const store: QuotaStore = {
    take: async (...parameters) => counts.take(...parameters),
    giveBack: async () => {
      throw new Error('connection refused')
    },
  }
  const { logger, lines } = keepLogs()
  const app = await loginWith({ store }, { max: 3, count: 'failures' }, { logger })
  t.match(await ask(app, login('right')), { status: 200 })
  await until(
    async () => lines.filter(({ level }) => level === levels.error).length,
    (length) => length === 1,
  )
  t.match(
    lines.filter(({ level }) => level === levels.error),
    [{ msg: /cannot be counted, and are not given back/, err: { code: 'quota-unavailable' } }],
  )
})

t.test('a verified token has a quota of its own; wrong tokens count for their address', async (t) => {
  const app = Fastify()
  await app.register(rateLimit, { max: 3 })
  await app.register(problems)
  const verified = new Set<string>()
  const subjects: Readonly<Record<string, string>> = {
    'Bearer a': 'ann',
    'Bearer a2': 'ann',
    'Bearer b': '203.0.113.7',
  }
  knownSubject.set(app, ({ headers: { authorization = '' } }) =>
    verified.has(authorization) ? (subjects[authorization] ?? null) : null,
  )
  app.addHook('onRequest', async ({ headers: { authorization = '' } }) => {
    if (subjects[authorization] === undefined) throw new ProblemError('invalid-token')
    verified.add(authorization)
  })
  app.get('/v1/users', () => ({}))
  const token = (authorization: string, address = '203.0.113.7') => from(address, { authorization })
  t.match(
    await ask(app, token('Bearer a')),
    { left: '"default";r=2;t=60' },
    'the first request, for the address',
  )
  t.match(await ask(app, token('Bearer a')), { left: '"default";r=2;t=60' }, 'then for the subject')
  t.match(await ask(app, token('Bearer a', '203.0.113.9')), { left: '"default";r=1;t=60' }, 'from anywhere')
  t.match(await ask(app, token('Bearer b')), { left: '"default";r=1;t=60' }, 'the address')
  t.match(
    await ask(app, token('Bearer b')),
    { left: '"default";r=2;t=60' },
    'a subject that looks like the address',
  )
  t.same(await statuses(app, token('Bearer wrong'), 3), [401, 429, 429])
  t.match(await ask(app, token('Bearer a')), { status: 200 }, 'a flood from the same address does not matter')
  t.match(await ask(app, token('Bearer a2')), { status: 429 }, 'but a new token cannot be verified')
})

t.test('with bearer, whichever is registered first, a verified token has a quota of its own', async (t) => {
  const issuer = await testIssuer()
  for (const isLast of [false, true]) {
    const app = Fastify()
    const register = [
      () => app.register(rateLimit, { max: (_, caller) => (caller === 'ada' ? 50 : 3) }),
      () => app.register(bearer, issuer.options),
    ]
    for (const each of isLast ? register.reverse() : register) await each()
    await app.register(problems)
    app.get('/v1/users', () => ({}))
    const bearing = async (subject: string) => ({
      authorization: `Bearer ${await issuer.token({ subject })}`,
    })
    const ada = from('203.0.113.7', await bearing('ada'))
    t.match(await ask(app, ada), { status: 200, left: '"default";r=2;t=60' })
    t.match(await ask(app, ada), { status: 200, left: '"default";r=49;t=60' })
    const guess = from('203.0.113.7', { authorization: 'Bearer guess' })
    t.same(await statuses(app, guess, 4), [401, 401, 429, 429])
    t.match(await ask(app, ada), { status: 200, left: '"default";r=48;t=60' })
    t.match(await ask(app, from('203.0.113.7', await bearing('bob'))), { status: 429 })
  }
})

t.test('max by plan, for the subject of a verified token', async (t) => {
  const app = await appWith({ max: (_, caller) => (caller === 'ann' ? 100 : 10) })
  knownSubject.set(app, ({ headers }) => (headers['x-user'] === 'ann' ? 'ann' : null))
  t.match(await ask(app, as('ann')), { left: '"default";r=99;t=60' })
  t.match(await ask(app, as('bob')), { left: '"default";r=9;t=60' })
})

t.test(
  'app.createRateLimit() without options counts against all quotas; the tightest is returned',
  async (t) => {
    const app = await appWith({
      ...byUser,
      quotas: [burst, { ...daily, max: (_, caller) => (caller === 'gold' ? null : 3) }],
    })
    const count = app.createRateLimit()
    app.get('/v1/count', { config: { rateLimit: false } }, async (request) => count(request))
    app.get('/v1/peek', { config: { rateLimit: false } }, async (request) =>
      count(request, { increment: false }),
    )
    await ask(app)
    const seen = { isAllowed: false, max: 2, timeWindow: 1000, remaining: 1, ttl: 1000, ttlInSeconds: 1 }
    t.match((await ask(app, '/v1/peek')).body, { ...seen, isExceeded: false, isBanned: false })
    t.match((await ask(app, '/v1/count')).body, { ...seen, remaining: 0, isExceeded: false })
    t.match((await ask(app, '/v1/count')).body, { remaining: 0, isExceeded: true })
    mock.timers.tick(1000)
    t.match((await ask(app, '/v1/count')).body, {
      max: 3,
      timeWindow: 86_400_000,
      remaining: 0,
      isExceeded: false,
    })
    t.match((await ask(app, '/v1/count')).body, { max: 3, remaining: 0, isExceeded: true })
    const free = await appWith({ max: () => null })
    const uncounted = free.createRateLimit()
    free.get('/v1/count', async (request) => uncounted(request))
    t.match((await ask(free, '/v1/count')).body, { isAllowed: true })
  },
)

t.test('app.createRateLimit() with options counts beyond its max, for ban, and by itself', async (t) => {
  const app = await appWith({})
  const count = app.createRateLimit({ max: 1, timeWindow: '1 minute', ban: 1, keyGenerator: () => 'all' })
  const other = app.createRateLimit({ max: 5, keyGenerator: () => 'all' })
  app.get('/v1/count', async (request) => [
    await count(request, { increment: false }),
    await count(request),
    await other(request),
  ])
  const [first, second, third] = [
    await ask(app, '/v1/count'),
    await ask(app, '/v1/count'),
    await ask(app, '/v1/count'),
  ]
  t.match(first.body, [
    { remaining: 1, ttl: 0 },
    { remaining: 0, isExceeded: false, ttl: 60_000 },
    { remaining: 4 },
  ])
  t.match(second.body, [{ remaining: 0 }, { isExceeded: true, isBanned: false }, { remaining: 3 }])
  t.match(third.body, [{ isExceeded: true }, { isExceeded: true, isBanned: true }, { remaining: 2 }])
})

t.test('in report mode nothing is added or refused, and each new option counts as in enforce', async (t) => {
  const app = await loginWith(
    { mode: 'report', quotas: [burst, { ...daily, max: async () => 5 }] },
    { max: 1, count: 'failures' },
  )
  app.get('/v1/search', { config: { rateLimit: { cost: 2 } } }, () => ({}))
  t.same(await statuses(app, '/v1/users', 2), [200, 200])
  t.match(await ask(app, '/v1/search'), { status: 200, left: undefined })
  t.same(await statuses(app, login('right'), 3), [200, 200, 200])
  t.same(await statuses(app, login('wrong'), 3), [401, 401, 401])
  const { observations } = app.conventions.report()
  t.match(
    observations.filter(({ rule }) => rule === 'quota'),
    [
      { plugin: 'rateLimit', route: 'GET /v1/search', effect: 'refused', status: 429, count: 1 },
      { plugin: 'rateLimit', route: 'POST /v1/login', effect: 'refused', status: 429, count: 2 },
    ],
  )
})

t.test('options that contradict each other fail the boot, by name', async (t) => {
  const mistakes: readonly (readonly [options: object, message: RegExp])[] = [
    [{ quotas: [] }, /rateLimit\.quotas: expected at least one quota/],
    [{ quotas: [{ name: 'a', max: 1 }] }, /rateLimit\.quotas\[0\]\.timeWindow: expected a value/],
    [{ quotas: [{ max: 1, timeWindow: 1000 }] }, /rateLimit\.quotas\[0\]\.name: expected a value/],
    [{ quotas: [burst, burst] }, /rateLimit\.quotas\[1\]\.name: expected a name that no other/],
    [{ quotas: [{ ...burst, name: 'a b' }] }, /rateLimit\.quotas\[0\]\.name: expected a letter/],
    [{ quotas: [{ ...burst, name: 'hook-1' }] }, /rateLimit\.quotas\[0\]\.name/],
    [{ quotas: [{ ...burst, max: 0 }] }, /rateLimit\.quotas\[0\]\.max/],
    [{ quotas: [{ ...burst, cost: 1 }] }, /rateLimit\.quotas\[0\]\.cost: there is no such option/],
    [{ quotas: [burst], max: 5 }, /rateLimit\.max: expected no such option beside quotas/],
    [{ quotas: [burst], timeWindow: 5000 }, /rateLimit\.timeWindow: expected no such option beside quotas/],
    [{ quotas: [burst], count: 'all' }, /rateLimit\.count: expected no such option beside quotas/],
    [{ count: 'errors' }, /rateLimit\.count: expected one of 'all', 'failures'/],
    [{ maxTtl: 10 }, /rateLimit\.maxTtl/],
    [{ cost: 5 }, /rateLimit\.cost: there is no such option/],
    [{ store: {} }, /rateLimit\.store: expected a store with take\(\) and giveBack\(\)/],
    [{ redis: { evalSha() {} } }, /rateLimit\.redis: expected a client with defineCommand/],
    [
      { store: memoryQuotaStore(1), redis: { defineCommand() {} } },
      /rateLimit\.store: expected no store beside redis/,
    ],
  ]
  for (const [options, message] of mistakes) {
    await t.rejects(Promise.resolve(Fastify().register(rateLimit, options)), { message }, String(message))
  }
  const app = await appWith({ quotas: [burst, daily] })
  const ofRoutes: readonly (readonly [config: object, message: RegExp])[] = [
    [
      { cost: 3 },
      /GET \/v1\/x config\.rateLimit\.cost: expected an integer from 0 to 2, the max of the quota burst/,
    ],
    [
      { cost: 3, max: 2 },
      /config\.rateLimit\.cost: expected an integer from 0 to 2, the max of the quota GET \/v1\/x/,
    ],
    [{ cost: -1 }, /config\.rateLimit\.cost/],
    [{ cost: 1.5 }, /config\.rateLimit\.cost/],
    [{ quotas: [burst], max: 2 }, /config\.rateLimit\.max: expected no such option beside quotas/],
    [{ maxTtl: 5000 }, /config\.rateLimit\.maxTtl: there is no such option/],
  ]
  for (const [config, message] of ofRoutes) {
    t.throws(() => app.get('/v1/x', { config: { rateLimit: config } }, () => ({})), message)
  }
  t.throws(() => app.rateLimit({ max: 1, cost: 2 }), /app\.rateLimit\(\)\.cost/)
})
