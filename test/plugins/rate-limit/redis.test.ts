// Own process: waits for Redis
/** A quota that instances share in a real Redis, also during an outage of Redis. */
import Fastify from 'fastify'
import { Cluster } from 'ioredis'
import t, { type Test } from 'tap'
import { type RateLimitOptions, rateLimit } from '../../../src/plugins/rate-limit/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { type PrivateRedis, redisClient, redisOf, skipWithoutRedis } from '../../support/redis.js'
import { serve } from '../../support/serve.js'
import { until } from '../../support/until.js'

const skip = await skipWithoutRedis()

/** Milliseconds that no request takes, whatever becomes of Redis, on a busy machine too. */
const longest = 20_000

/** As the page of the plugin says. */
const recommended = {
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  connectTimeout: 500,
  commandTimeout: 500,
  retryStrategy: () => 20,
}

type ClientOptions = Partial<typeof recommended>

async function connect(t: Test, { url }: PrivateRedis, options: ClientOptions) {
  const client = redisClient(t, url, { ...options, lazyConnect: true })
  await client.connect()
  return client
}

/** An instance of a service on a socket, with a client of its own. */
async function instance(
  t: Test,
  redis: PrivateRedis,
  options: RateLimitOptions = {},
  client: ClientOptions = recommended,
) {
  const logs = keepLogs()
  const app = Fastify({ logger: logs.logger, forceCloseConnections: true })
  await app.register(rateLimit, { redis: await connect(t, redis, client), ...options })
  app.get('/v1/users', () => ({}))
  app.get('/v1/exports', { config: { rateLimit: { max: 10, timeWindow: '1 hour' } } }, () => ({}))
  const { origin } = await serve(t, app)
  return {
    /** The status of an answer, and what is left as it tells. */
    async ask(path = '/v1/users', headers: Record<string, string> = {}) {
      const response = await fetch(origin + path, { signal: AbortSignal.timeout(longest), headers })
      const left = Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1] ?? Number.NaN)
      return { status: response.status, left, response }
    },
    /** Messages of the log of a level. */
    told: (level: keyof typeof levels) =>
      logs.lines
        .filter((line) => line.level === levels[level] && /^rateLimit:/.test(line.msg ?? ''))
        .map(({ msg }) => msg),
  }
}

t.test('of 200 concurrent requests, two instances serve as many as the quota allows', { skip }, async (t) => {
  const redis = await redisOf(t)
  const key: RateLimitOptions['key'] = ({ headers }) => headers['x-caller']?.toString()
  // On a busy machine, 200 answers of Redis take longer than half a second.
  const patient = { ...recommended, commandTimeout: longest }
  const open = () => instance(t, redis, { max: 50, timeWindow: '1 hour', key }, patient)
  const both = [await open(), await open()]
  const askedOf = (caller: string) => both.map(({ ask }) => ask('/v1/users', { 'x-caller': caller }))
  for (const caller of ['ada', 'bob']) {
    const answers = await Promise.all(Array.from({ length: 100 }, () => askedOf(caller)).flat())
    const served = answers.filter(({ status }) => status === 200)
    t.equal(served.length, 50, caller)
    t.equal(answers.filter(({ status }) => status === 429).length, 150, caller)
    t.equal(new Set(served.map(({ left }) => left)).size, 50, 'what is left is told to each')
  }
  t.strictSame(
    both.flatMap(({ told }) => told('info')),
    [],
    'no outage has ended',
  )
  const lefts: number[] = []
  for (const { ask } of both) lefts.push((await ask('/v1/exports', { 'x-caller': 'ada' })).left)
  t.strictSame(lefts, [9, 8], 'a route with its own quota is counted separately')
})

const absences = { 'is gone': ['kill', 'restart'], 'does not answer': ['pause', 'resume'] } as const
const clients: Readonly<Record<string, ClientOptions>> = {
  'recommended options': recommended,
  // It keeps what it cannot send, and tries again twenty times; so soon only for the sake of the test.
  'the defaults of ioredis': { retryStrategy: () => 100 },
}

for (const [absence, [leave, comeBack]] of Object.entries(absences)) {
  for (const [kind, client] of Object.entries(clients)) {
    t.test(`requests are served uncounted while Redis ${absence}, with ${kind}`, { skip }, async (t) => {
      const redis = await redisOf(t, { persistent: true })
      const one = await instance(t, redis, { max: 100, timeWindow: '1 hour' }, client)
      t.equal((await one.ask()).left, 99)
      await redis[leave]()
      for (let rounds = 0; rounds < 2; rounds += 1) {
        const answers = await Promise.all(Array.from({ length: 50 }, () => one.ask()))
        t.ok(answers.every(({ status }) => status === 200))
      }
      t.strictSame(one.told('error'), ['rateLimit: requests cannot be counted, and are served uncounted'])
      await redis[comeBack]()
      // A client finds out by itself when its server is back.
      const left = await until(
        async () => (await one.ask()).left,
        (left) => !Number.isNaN(left),
      )
      t.ok(left < 99, 'what was counted before is not forgotten')
      t.ok(one.told('info').length >= 1)
    })
  }
}

t.test('in a cluster, several quotas count together', { skip }, async (t) => {
  const redis = await redisOf(t, { cluster: true })
  const admin = await connect(t, redis, recommended)
  await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await until(
    async () => String(await admin.call('CLUSTER', 'INFO')),
    (info) => info.includes('cluster_state:ok'),
  )
  const open = async () => {
    const cluster = new Cluster([redis.url])
    t.teardown(() => cluster.disconnect())
    await until(
      async () => cluster.status,
      (status) => status === 'ready',
    )
    const quotas = [
      { name: 'burst', max: 3, timeWindow: '1 minute' },
      { name: 'daily', max: 9, timeWindow: '1 day' },
    ]
    return instance(t, redis, { redis: cluster, quotas })
  }
  const [one, other] = [await open(), await open()]
  const answers = await Promise.all([one, one, other, other, other].map(({ ask }) => ask()))
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 200, 200, 429, 429])
  const last = await one.ask()
  t.match(last.response.headers.get('ratelimit'), /^"burst";r=0;t=\d+, "daily";r=6;t=\d+$/)
})
