/** Several quotas at once, and quotas by caller. */
import { mock } from 'node:test'
import Fastify, { type FastifyInstance, type FastifyServerOptions, type InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { knownSubject } from '../../../src/convention/caller.js'
import { bearer } from '../../../src/plugins/bearer/index.js'
import { problems } from '../../../src/plugins/problems/index.js'
import { type RateLimitOptions, rateLimit } from '../../../src/plugins/rate-limit/index.js'
import { ProblemError } from '../../../src/problem/problem-error.js'
import { testIssuer } from '../../../src/testing/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { until } from '../../support/until.js'

/** A test with a clock that it moves. A hook of `t` would set the clock of all later files of the process. */
function timed(name: string, run: (t: Test) => Promise<unknown>): void {
  t.test(name, async (t) => {
    mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 10, 20, 12) })
    t.teardown(() => mock.timers.reset())
    await run(t)
  })
}

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

timed('the fields list all quotas, and a 429 names the exceeded one and its Retry-After', async (t) => {
  const app = await appWith({ quotas: [burst, daily] })
  const first = await ask(app)
  t.equal(first.headers['ratelimit-policy'], '"burst";q=2;w=1, "daily";q=5;w=86400')
  t.equal(first.left, '"burst";r=1;t=1, "daily";r=4;t=86400')
  await ask(app)
  const detail = 'There were more than 2 requests in 1 second; try again in 1 second'
  t.match(await ask(app), {
    status: 429,
    left: '"burst";r=0;t=1, "daily";r=3;t=86400',
    headers: { 'retry-after': '1' },
    body: { detail, violated_policies: ['burst'] },
  })
})

timed('a request that one quota refuses takes nothing from the others', async (t) => {
  const app = await appWith({ quotas: [burst, daily] })
  t.same(await statuses(app, '/v1/users', 10), [200, 200, ...Array(8).fill(429)])
  mock.timers.tick(1000)
  t.same(await statuses(app, '/v1/users', 2), [200, 200])
  mock.timers.tick(1000)
  const left = '"burst";r=1;t=1, "daily";r=0;t=86398'
  t.match(await ask(app), { status: 200, left })
  const refused = { status: 429, left, headers: { 'retry-after': '86398' } }
  t.match(await ask(app), { ...refused, body: { violated_policies: ['daily'] } })
})

timed('if several quotas refuse a request, the one that ends last decides about Retry-After', async (t) => {
  const app = await appWith({ quotas: [daily, { ...burst, max: 5 }] })
  await statuses(app, '/v1/users', 5)
  t.match(await ask(app), {
    headers: { 'retry-after': '86400' },
    body: { violated_policies: ['daily', 'burst'], detail: /more than 5 requests in 86400 seconds/ },
  })
})

timed('a route has several quotas of its own, shared with its HEAD', async (t) => {
  const app = await appWith({ quotas: [burst, daily] })
  app.get('/v1/exports', { config: { rateLimit: { quotas: [burst, { ...daily, max: 3 }] } } }, () => ({}))
  app.get('/v1/simple', { config: { rateLimit: { max: 7 } } }, () => ({}))
  const left = '"GET /v1/exports burst";r=1;t=1, "GET /v1/exports daily";r=2;t=86400'
  t.equal((await ask(app, '/v1/exports')).left, left)
  await ask(app, { method: 'HEAD', url: '/v1/exports' })
  const body = { violated_policies: ['GET /v1/exports burst'] }
  t.match(await ask(app, '/v1/exports'), { status: 429, body })
  t.equal((await ask(app, '/v1/simple')).left, '"GET /v1/simple";r=6;t=60')
})

timed('max by caller: a function, sync or async, whose result is kept for a minute', async (t) => {
  for (const isAsync of [false, true]) {
    const calls: string[] = []
    const plans = new Map<string, number | null>([
      ['free', 2],
      ['paid', 100],
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
      ['paid', 200, '"default";r=99;t=60'],
      [undefined, 200, '"default";r=0;t=60'],
      ['unlimited', 200, undefined],
      ['infinite', 200, undefined],
      ['blocked', 429, '"default";r=0;t=60'],
    ] as const) {
      const answer = await ask(app, user === undefined ? '/v1/users' : as(user))
      t.strictSame([answer.status, answer.left], [status, left], String(user))
    }
    t.same(calls, ['free', 'paid', '', 'unlimited', 'infinite', 'blocked'], 'once for each caller')
    const { headers } = await ask(app, as('free'))
    t.equal(headers['ratelimit-policy'], '"default";q=2;w=60')
    t.equal((await ask(app, as('blocked'))).headers['retry-after'], '60')
    plans.set('free', 10)
    mock.timers.tick(59_999)
    t.match(await ask(app, as('free')), { status: 429 })
    mock.timers.tick(1)
    t.match(await ask(app, as('free')), { left: '"default";r=9;t=60' })
  }
})

timed('concurrent requests of a caller wait for one result of max, and a failure is not kept', async (t) => {
  const answers: { resolve(max: number): void; reject(error: Error): void }[] = []
  const max = () => new Promise<number>((resolve, reject) => answers.push({ resolve, reject }))
  const asked = (count: number) =>
    until(
      async () => answers.length,
      (length) => length === count,
    )
  const app = await appWith({ ...byUser, max })
  const failing = [ask(app, as('ann')), ask(app, as('ann')), ask(app, as('bob'))]
  await asked(2)
  answers[0]?.reject(new Error('no plans'))
  answers[1]?.resolve(3)
  const uncounted = { status: 200, left: undefined }
  t.match(await Promise.all(failing), [uncounted, uncounted, { left: '"default";r=2;t=60' }])
  const next = ask(app, as('ann'))
  await asked(3)
  answers[2]?.resolve(5)
  t.match(await next, { left: '"default";r=4;t=60' })
})

timed('with a max that fails or is no max, requests are served uncounted', async (t) => {
  const failing = () => {
    throw new Error('no plans')
  }
  const values = [-1, 1.5, Number.NaN, 1e15, undefined, '10', Promise.resolve({})].map((value) => () => value)
  for (const max of [failing, async () => failing(), ...values]) {
    const { logger, lines } = keepLogs()
    const app = await appWith({ max: max as () => number }, { logger })
    t.same(await statuses(app, '/v1/users', 2), [200, 200], String(max))
    t.equal(lines.filter(({ level }) => level === levels.error).length, 1)
  }
})

timed('several quotas by plan: a limit of one does not lift the other', async (t) => {
  const max = async (_: unknown, caller: string) => (caller === 'gold' ? null : 1)
  const app = await appWith({ ...byUser, quotas: [burst, { ...daily, max }] })
  const headers = { 'ratelimit-policy': '"burst";q=2;w=1' }
  t.match(await ask(app, as('gold')), { left: '"burst";r=1;t=1', headers })
  t.same(await statuses(app, as('gold'), 2), [200, 429])
  t.same(await statuses(app, as('free'), 2), [200, 429])
  t.match(await ask(app, as('free')), { body: { violated_policies: ['daily'] } })
})

timed('a verified token has a quota of its own; wrong tokens count for their address', async (t) => {
  const app = Fastify()
  await app.register(rateLimit, { max: 3 })
  await app.register(problems)
  const verified = new Set<string>()
  const subjects: Readonly<Record<string, string>> = { a: 'ann', a2: 'ann', b: '203.0.113.7' }
  knownSubject.set(app, ({ headers: { authorization = '' } }) =>
    verified.has(authorization) ? (subjects[authorization] ?? null) : null,
  )
  app.addHook('onRequest', async ({ headers: { authorization = '' } }) => {
    if (subjects[authorization] === undefined) throw new ProblemError('invalid-token')
    verified.add(authorization)
  })
  app.get('/v1/users', () => ({}))
  for (const [authorization, address, status, left, about] of [
    ['a', '203.0.113.7', 200, 2, 'the first request, for the address'],
    ['a', '203.0.113.7', 200, 2, 'then for the subject'],
    ['a', '203.0.113.9', 200, 1, 'from anywhere'],
    ['b', '203.0.113.7', 200, 1, 'the address'],
    ['b', '203.0.113.7', 200, 2, 'a subject that looks like the address'],
    ['wrong', '203.0.113.7', 401, 0, 'a wrong token'],
    ['wrong', '203.0.113.7', 429, 0, 'a flood'],
    ['a', '203.0.113.7', 200, 0, 'a flood from the same address does not matter'],
    ['a2', '203.0.113.7', 429, 0, 'but a new token cannot be verified'],
  ] as const) {
    const answer = await ask(app, from(address, { authorization }))
    t.equal(answer.status, status, about)
    t.equal(answer.left, `"default";r=${left};t=60`, about)
  }
})

timed('with bearer, whichever is registered first, a verified token has a quota of its own', async (t) => {
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

timed('in report mode nothing is added or refused, with several quotas and a max by caller', async (t) => {
  const app = await appWith({ mode: 'report', quotas: [burst, { ...daily, max: async () => 5 }] })
  t.same(await statuses(app, '/v1/users', 3), [200, 200, 200])
  t.match(await ask(app), { status: 200, left: undefined })
  t.match(
    app.conventions.report().observations.filter(({ rule }) => rule === 'quota'),
    [{ plugin: 'rateLimit', route: 'GET /v1/users', effect: 'refused', status: 429, count: 2 }],
  )
})

timed('options that contradict each other fail the boot, by name', async (t) => {
  const mistakes: readonly (readonly [options: object, message: RegExp])[] = [
    [{ quotas: [] }, /rateLimit\.quotas: expected at least one quota/],
    [{ quotas: [{ name: 'a', max: 1 }] }, /rateLimit\.quotas\[0\]\.timeWindow: expected at least a second/],
    [{ quotas: [{ max: 1, timeWindow: 1000 }] }, /rateLimit\.quotas\[0\]\.name: expected a letter/],
    [{ quotas: [burst, burst] }, /rateLimit\.quotas\[1\]\.name: expected a name that no other/],
    [{ quotas: [{ ...burst, name: 'a b' }] }, /rateLimit\.quotas\[0\]\.name: expected a letter/],
    [{ quotas: [{ ...burst, max: 0 }] }, /rateLimit\.quotas\[0\]\.max/],
    [{ quotas: [{ ...burst, cost: 1 }] }, /rateLimit\.quotas\[0\]\.cost: there is no such option/],
    [{ quotas: [burst], max: 5 }, /rateLimit\.max: expected no such option beside quotas/],
    [{ quotas: [burst], timeWindow: 5000 }, /rateLimit\.timeWindow: expected no such option beside quotas/],
    [{ redis: { evalSha() {}, eval() {} } }, /rateLimit\.redis: expected a client with defineCommand/],
    [{ cost: 5 }, /rateLimit\.cost: there is no such option/],
    [{ store: {} }, /rateLimit\.store: there is no such option/],
  ]
  for (const [options, message] of mistakes)
    await t.rejects(Promise.resolve(Fastify().register(rateLimit, options)), { message }, String(message))
  const app = await appWith({ quotas: [burst, daily] })
  for (const [own, message] of [
    [{ cost: 1 }, /config\.rateLimit\.cost: there is no such option/],
    [{ quotas: [burst], max: 2 }, /config\.rateLimit\.max: expected no such option beside quotas/],
  ] as const) {
    t.throws(() => app.get('/v1/x', { config: { rateLimit: own as object } }, () => ({})), message)
  }
})
