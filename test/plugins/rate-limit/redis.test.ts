/** A quota that instances share in a real Redis, also during an outage of Redis. */
import { setTimeout as wait } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import t, { type Test } from 'tap'
import { problems } from '../../../src/plugins/problems/index.js'
import { type RateLimitOptions, rateLimit } from '../../../src/plugins/rate-limit/index.js'
import { redisQuotaStore } from '../../../src/plugins/rate-limit/stores/redis-store.js'
import { quotaStoreContract } from '../../../src/testing/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { fetched, headerOf, isProblem } from '../../support/problem.js'
import { obstacleToRedis, type PrivateRedis, startRedis } from '../../support/redis.js'
import { serve } from '../../support/serve.js'
import { until } from '../../support/until.js'

const obstacle = await obstacleToRedis()
const skip = obstacle !== null && !process.env.CI ? obstacle : false

/** Milliseconds that no request takes, whatever becomes of Redis. */
const longest = 5000

/** As the page of the plugin says. */
const recommended = {
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  connectTimeout: 500,
  commandTimeout: 500,
  retryStrategy: () => 20,
}

type ClientOptions = Partial<typeof recommended>

async function connect(t: Test, { url }: PrivateRedis, options: ClientOptions): Promise<Redis> {
  const client = new Redis(url, { ...options, lazyConnect: true })
  client.on('error', () => {})
  t.teardown(() => client.disconnect())
  await client.connect()
  return client
}

async function server(t: Test): Promise<PrivateRedis> {
  const redis = await startRedis({ persistent: true })
  t.teardown(() => redis.stop())
  return redis
}

interface Instance {
  /** The status of an answer, and what is left as it tells. */
  ask(path?: string, init?: RequestInit): Promise<{ status: number; left: number; response: Response }>
  /** Messages of the log from a level on. */
  told(level: keyof typeof levels): (string | undefined)[]
}

/** An instance of a service on a socket, with a client of its own. */
async function instance(
  t: Test,
  redis: PrivateRedis,
  options: RateLimitOptions = {},
  client: ClientOptions = recommended,
  setUp: (app: FastifyInstance) => unknown = () => {},
): Promise<Instance> {
  const logs = keepLogs()
  const app = Fastify({ logger: logs.logger, forceCloseConnections: true })
  await app.register(rateLimit, { redis: await connect(t, redis, client), ...options })
  await app.register(problems)
  app.get('/v1/users', () => ({}))
  app.get('/v1/exports', { config: { rateLimit: { max: 10, timeWindow: '1 hour' } } }, () => ({}))
  app.get('/v1/reports', { config: { rateLimit: { max: 10, timeWindow: '1 hour' } } }, () => ({}))
  await setUp(app)
  const { origin } = await serve(t, app)
  return {
    async ask(path = '/v1/users', init = {}) {
      const response = await fetch(origin + path, { signal: AbortSignal.timeout(longest), ...init })
      const left = Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1] ?? Number.NaN)
      return { status: response.status, left, response }
    },
    told: (level) =>
      logs.lines
        .filter((line) => line.level === levels[level] && /^rateLimit:/.test(line.msg ?? ''))
        .map(({ msg }) => msg),
  }
}

/** What is left once requests are counted again: a client finds out by itself when its server is back. */
function leftOnceCounted({ ask }: Instance): Promise<number> {
  return until(
    async () => (await ask()).left,
    (left) => !Number.isNaN(left),
  )
}

t.test('two instances with one Redis', { skip }, async (t) => {
  const redis = await server(t)
  const options: RateLimitOptions = {
    max: 50,
    timeWindow: '1 hour',
    key: ({ headers }) => headers['x-caller']?.toString(),
  }
  const both = [await instance(t, redis, options), await instance(t, redis, options)] as const
  const as = (caller: string) => ({ headers: { 'x-caller': caller } })

  await t.test('of 200 concurrent requests, serve as many as the quota allows', async (t) => {
    for (const caller of ['ada', 'bob']) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => both.map(({ ask }) => ask('/v1/users', as(caller)))).flat(),
      )
      const served = answers.filter(({ status }) => status === 200)
      t.equal(served.length, 50, caller)
      t.equal(answers.filter(({ status }) => status === 429).length, 150, caller)
      t.equal(new Set(served.map(({ left }) => left)).size, 50, 'what is left is told to each')
    }
  })

  await t.test('send the same Retry-After', async (t) => {
    for (const { ask } of both) {
      const { response } = await ask('/v1/users', as('ada'))
      const answer = await fetched(response)
      isProblem(t, answer, { status: 429, code: 'quota-exceeded' })
      const seconds = Number(headerOf(answer, 'retry-after'))
      t.ok(seconds > 3000 && seconds <= 3600, `within the window: ${seconds}`)
    }
  })

  await t.test('count each route with its own quota separately', async (t) => {
    const [{ ask }, other] = both
    const left = async (path: string) => (await ask(path, as('eve'))).left
    t.strictSame([await left('/v1/users'), await left('/v1/exports'), await left('/v1/reports')], [49, 9, 9])
    t.equal((await other.ask('/v1/exports', as('eve'))).left, 8)
    t.strictSame([await left('/v1/users'), await left('/v1/reports')], [48, 8])
  })

  await t.test('count GET and HEAD of a resource as one', async (t) => {
    for (const [path, max] of [
      ['/v1/users', 50],
      ['/v1/exports', 10],
    ] as const) {
      t.equal((await both[0].ask(path, { method: 'HEAD', ...as('joe') })).left, max - 1)
      t.equal((await both[1].ask(path, { method: 'GET', ...as('joe') })).left, max - 2)
    }
  })
})

t.test('begin a new window together', { skip }, async (t) => {
  const redis = await server(t)
  const options: RateLimitOptions = { max: 1, timeWindow: '1s' }
  const [one, other] = [await instance(t, redis, options), await instance(t, redis, options)]
  t.equal((await one.ask()).status, 200)
  const { status, response } = await other.ask()
  t.equal(status, 429)
  t.equal(response.headers.get('retry-after'), '1')
  await wait(1000)
  t.equal((await other.ask()).status, 200, 'who waits for Retry-After is served')
})

const absences = [
  ['is gone', (redis: PrivateRedis) => redis.kill(), (redis: PrivateRedis) => redis.restart()],
  [
    'does not answer',
    async (redis: PrivateRedis) => redis.pause(),
    async (redis: PrivateRedis) => redis.resume(),
  ],
] as const
const clients = [
  ['recommended options', recommended],
  // It keeps what it cannot send, and tries again twenty times; so soon only for the sake of the test.
  ['the defaults of ioredis', { retryStrategy: () => 100 }],
] as const

for (const [absence, leave, comeBack] of absences) {
  for (const [kind, client] of clients) {
    t.test(`while Redis ${absence}, with ${kind}`, { skip }, async (t) => {
      await t.test(
        'requests are served without counting, with one log line; then they count again',
        async (t) => {
          const redis = await server(t)
          const one = await instance(t, redis, { max: 100, timeWindow: '1 hour' }, client)
          t.equal((await one.ask()).left, 99)
          await leave(redis)
          for (let rounds = 0; rounds < 2; rounds += 1) {
            const answers = await Promise.all(Array.from({ length: 50 }, () => one.ask()))
            t.ok(answers.every(({ status }) => status === 200))
          }
          t.strictSame(one.told('error'), ['rateLimit: requests cannot be counted, and are served uncounted'])
          await comeBack(redis)
          t.ok((await leftOnceCounted(one)) < 99, 'what was counted before is not forgotten')
          t.ok(one.told('info').length >= 1)
        },
      )

      await t.test('with skipOnError: false, requests are refused with Retry-After', async (t) => {
        const redis = await server(t)
        const one = await instance(t, redis, { skipOnError: false }, client)
        await leave(redis)
        for (let asked = 0; asked < 2; asked += 1) {
          const answer = await fetched((await one.ask()).response)
          const { detail } = isProblem(t, answer, { status: 503, code: 'quota-unavailable' })
          t.notMatch(detail, /redis|ECONN|connect|stream/i, 'nothing of the cause')
          t.match(headerOf(answer, 'retry-after'), /^[1-9]\d*$/)
          t.equal(headerOf(answer, 'cache-control'), 'no-store')
        }
        t.strictSame(one.told('error'), ['rateLimit: requests cannot be counted, and are refused'])
        await comeBack(redis)
        await leftOnceCounted(one)
      })
    })
  }
}

t.test('in report mode, no request is refused while Redis is down', { skip }, async (t) => {
  const redis = await server(t)
  const one = await instance(t, redis, { mode: 'report', skipOnError: false })
  await redis.kill()
  t.equal((await one.ask()).status, 200)
})

t.test('a request that does not count is not used to test whether Redis is back', { skip }, async (t) => {
  const redis = await server(t)
  const one = await instance(t, redis, {
    key: ({ headers }) => (headers['x-caller'] === 'probe' ? null : undefined),
  })
  await redis.kill()
  for (let asked = 0; asked < 3; asked += 1) {
    await one.ask()
    await one.ask('/v1/users', { headers: { 'x-caller': 'probe' } })
  }
  t.equal(one.told('error').length, 1)
  t.strictSame(one.told('info'), [])
})

t.test('a Redis that has lost its scripts still counts', { skip }, async (t) => {
  const redis = await server(t)
  const one = await instance(t, redis, { max: 100 })
  t.equal((await one.ask()).left, 99)
  await (await connect(t, redis, recommended)).script('FLUSH')
  t.equal((await one.ask()).left, 98)
})

/** As the page of the plugin says, for node-redis. */
async function connectNodeRedis(t: Test, { url }: PrivateRedis) {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    socket: { connectTimeout: 500, reconnectStrategy: () => 20 },
  })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.destroy())
  return client
}

t.test('the store in Redis fulfils the contract', { skip }, async (t) => {
  const redis = await server(t)
  const ioredis = async () => connect(t, redis, recommended)
  const nodeRedis = async () => connectNodeRedis(t, redis)
  const pairs = {
    ioredis: [await ioredis(), await ioredis()],
    'node-redis': [await nodeRedis(), await nodeRedis()],
    'one client of each': [await ioredis(), await nodeRedis()],
  } as const
  for (const [client, [one, other]] of Object.entries(pairs)) {
    const open = async () => [redisQuotaStore(one, 'api:'), redisQuotaStore(other, 'api:')] as const
    // Redis deletes a key within a few milliseconds of its end.
    for (const { name, run } of quotaStoreContract({ open, wait: (time) => wait(time + 5) })) {
      await t.test(`${client}: ${name}`, async (t) => t.resolves(run()))
    }
  }
})

t.test('several quotas count in one step in a cluster', { skip }, async (t) => {
  const redis = await startRedis({ cluster: true })
  t.teardown(() => redis.stop())
  const admin = await connect(t, redis, recommended)
  await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await until(
    async () => String(await admin.call('CLUSTER', 'INFO')),
    (info) => info.includes('cluster_state:ok'),
  )
  const cluster = new Cluster([redis.url])
  t.teardown(() => cluster.disconnect())
  const nodes = createCluster({ rootNodes: [{ url: redis.url }] })
  nodes.on('error', () => {})
  await nodes.connect()
  t.teardown(() => nodes.destroy())
  const quotas = ['burst', 'daily', '{x}', 'GET /v1/}'].map((name) => ({ name, max: 10, timeWindow: 60_000 }))
  for (const client of [cluster, nodes]) {
    const store = redisQuotaStore(client, 'api:')
    for (const caller of ['address:203.0.113.7', 'key:}', 'key:{', 'key:{}', 'subject:a{b}c']) {
      const { isTaken, states } = await store.take(caller, quotas, 1)
      t.ok(isTaken, caller)
      await store.giveBack(
        caller,
        quotas,
        1,
        states.map(({ end }) => end),
      )
      t.strictSame(
        (await store.take(caller, quotas, 0)).states.map(({ used }) => used),
        [0, 0, 0, 0],
      )
    }
  }
})

t.test('a key without an end, as no script of this package writes, gets one', { skip }, async (t) => {
  const redis = await server(t)
  const client = await connect(t, redis, recommended)
  await client.set('api:{address:1} default', '7')
  const store = redisQuotaStore(client, 'api:')
  const quota = { name: 'default', max: 5, timeWindow: 60_000 }
  t.match(await store.take('address:1', [quota], 1), { isTaken: false, states: [{ used: 7, ttl: 60_000 }] })
  t.ok((await client.pttl('api:{address:1} default')) > 0)
})

for (const [absence, leave, comeBack] of absences) {
  t.test(`with node-redis, while Redis ${absence}, requests are served`, { skip }, async (t) => {
    const redis = await server(t)
    const client = await connectNodeRedis(t, redis)
    const one = await instance(t, redis, { redis: client, max: 100, timeWindow: '1 hour' })
    t.equal((await one.ask()).left, 99)
    await leave(redis)
    const answers = await Promise.all(Array.from({ length: 20 }, () => one.ask()))
    t.ok(answers.every(({ status }) => status === 200))
    t.strictSame(one.told('error'), ['rateLimit: requests cannot be counted, and are served uncounted'])
    await comeBack(redis)
    t.ok((await leftOnceCounted(one)) < 99, 'what was counted before is not forgotten')
  })
}

t.test('with node-redis, a Redis that has lost its scripts still counts', { skip }, async (t) => {
  const redis = await server(t)
  const client = await connectNodeRedis(t, redis)
  const one = await instance(t, redis, { redis: client, max: 100 })
  t.equal((await one.ask()).left, 99)
  await client.scriptFlush()
  t.equal((await one.ask()).left, 98)
})

t.test('two quotas and failures count together in Redis', { skip }, async (t) => {
  const redis = await server(t)
  const options: RateLimitOptions = {
    nameSpace: 'login:',
    quotas: [
      { name: 'burst', max: 8, timeWindow: '1 minute' },
      { name: 'failures', max: 3, timeWindow: '1 hour', count: 'failures' },
    ],
  }
  const setUp = (app: FastifyInstance) =>
    app.post('/v1/login', (request, reply) => reply.code(request.headers.authorization ? 200 : 401).send({}))
  const [one, other] = [
    await instance(t, redis, options, recommended, setUp),
    await instance(t, redis, { ...options, redis: await connectNodeRedis(t, redis) }, recommended, setUp),
  ]
  const right = { method: 'POST', headers: { authorization: 'right' } }
  for (const { ask } of [one, other, one]) t.equal((await ask('/v1/login', right)).status, 200)
  const guesses = await Promise.all(
    Array.from({ length: 10 }, (_, index) => [one, other][index % 2]?.ask('/v1/login', { method: 'POST' })),
  )
  t.equal(guesses.filter((guess) => guess?.status === 401).length, 3)
  t.equal(guesses.filter((guess) => guess?.status === 429).length, 7)
  const client = await connect(t, redis, recommended)
  t.strictSame((await client.keys('*')).sort(), [
    'login:{address:127.0.0.1} burst',
    'login:{address:127.0.0.1} failures',
  ])
  t.equal(await client.get('login:{address:127.0.0.1} burst'), '6', 'refused requests take nothing')
})
