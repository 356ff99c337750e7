// Own process: waits for Redis
/** Maintenance that instances share in Redis with a real server, and two clients of it. */
import { setImmediate } from 'node:timers/promises'
import Fastify from 'fastify'
import type { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { maintenance } from '../../../../src/plugins/maintenance/index.js'
import { readTimeout } from '../../../../src/plugins/maintenance/sources.js'
import { type RedisMaintenanceClient, redisMaintenanceStore } from '../../../../src/stores/redis.js'
import { keepLogs, levels } from '../../../support/logs.js'
import { type ManualClock, manualClock } from '../../../support/manual-clock.js'
import { type PrivateRedis, redisClient, redisOf, skipWithoutRedis } from '../../../support/redis.js'
import { until } from '../../../support/until.js'
import { keepsMaintenanceContract } from './maintenance-store-contract.js'

const skip = await skipWithoutRedis()
const defaultKey = 'fastify-conventions:maintenance'

/** A client that never waits for a server that is away. */
async function connect(t: Test, { url }: PrivateRedis): Promise<Redis> {
  const client = redisClient(t, url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 20,
  })
  await client.connect()
  return client
}

const server = (t: Test) => redisOf(t, { persistent: true })

/** An instance of a service that reads the store when the clock says so. */
async function instance(t: Test, client: Redis, clock: ManualClock) {
  const logs = keepLogs()
  const app = Fastify({ logger: logs.logger })
  await app.register(maintenance, {
    store: redisMaintenanceStore(client),
    now: clock.now,
    schedule: clock.schedule,
  })
  app.get('/', () => ({}))
  t.teardown(() => app.close())
  await app.ready()
  return {
    app,
    status: async () => (await app.inject('/')).statusCode,
    errors: () => logs.lines.filter(({ level }) => level >= levels.error),
    found: () => logs.lines.filter(({ msg }) => msg?.includes('reachable again')),
  }
}

/** Advances the time to the next read, and waits for its end. */
async function look(clock: ManualClock): Promise<void> {
  await clock.advance(1000)
  while (clock.waiting(readTimeout) > 0) await setImmediate()
}

/** Reads repeatedly: a client notices by itself when its server is back. */
async function lookUntil(clock: ManualClock, isSo: () => boolean): Promise<void> {
  await until(() => look(clock), isSo)
}

t.test('in Redis', { skip }, async (t) => {
  const redis = await server(t)
  const one = await connect(t, redis)
  const other = await connect(t, redis)

  await t.test('the contract of all maintenance stores', (t) =>
    keepsMaintenanceContract(t, async () => {
      await one.flushall()
      return [redisMaintenanceStore(one), redisMaintenanceStore(other)]
    }),
  )

  await t.test('one key has the notice with its version; without a notice there is no key', async (t) => {
    await one.flushall()
    const store = redisMaintenanceStore(one)
    const notice = { until: '2026-11-20T11:00:00.000Z', reason: 'move' }
    await store.set(notice)
    t.strictSame(JSON.parse((await one.get(defaultKey)) ?? ''), { version: 1, notice })
    await store.set(null)
    t.equal(await one.dbsize(), 0)
  })

  await t.test('a value that no store wrote rejects, with what is wrong', async (t) => {
    const store = redisMaintenanceStore(one)
    const message =
      /^the value of the Redis key 'fastify-conventions:maintenance' is not a maintenance notice/
    const values = ['', '{"version":1,"not', '"on"', '[1]', 'null', '{"until":"2026-11-20T12:00:00Z"}']
    for (const value of [...values, '{"version":2,"notice":{}}', '{"version":1}']) {
      await one.set(defaultKey, value)
      await t.rejects(store.get(), { message }, value)
    }
    await one.del(defaultKey)
    await one.hset(defaultKey, 'on', '1')
    await t.rejects(store.get(), /WRONGTYPE/)
    await store.set({})
    t.strictSame(await store.get(), {}, 'a new notice replaces it')
  })
})

t.test('instances of a service', { skip }, async (t) => {
  const redis = await server(t)
  const clock = manualClock('2026-11-20T08:00:00.000Z')
  const clients = [await connect(t, redis), await connect(t, redis)] as const
  const [one, other] = [await instance(t, clients[0], clock), await instance(t, clients[1], clock)]

  await t.test('while the key has any other value, the last known state stays', async (t) => {
    await one.app.maintenance.enable({ until: '2026-11-20T09:00:00Z', reason: 'move' })
    t.equal(await one.status(), 503)
    await look(clock)
    t.equal(await other.status(), 503)
    t.strictSame(other.app.maintenance.state(), one.app.maintenance.state())
    await clients[0].set(defaultKey, 'off')
    await look(clock)
    await look(clock)
    t.equal(await other.status(), 503)
    t.match(other.errors(), [{ err: { message: /not a maintenance notice/ } }], 'logged once')
    await other.app.maintenance.disable()
    await look(clock)
    t.same([await one.status(), await other.status()], [200, 200])
  })

  await t.test(
    'while Redis is away, the last known state stays; then the state in Redis counts',
    async (t) => {
      await one.app.maintenance.enable()
      await look(clock)
      const [errors, found] = [other.errors().length, other.found().length]

      redis.pause()
      await clock.advance(5 * (readTimeout + 1000))
      t.equal(await other.status(), 503)
      t.equal(other.errors().length, errors + 1, 'a Redis that does not answer is unreachable')
      redis.resume()
      await lookUntil(clock, () => other.found().length > found)

      await redis.kill()
      await lookUntil(clock, () => other.errors().length > errors + 1)
      await look(clock)
      await look(clock)
      t.equal(await other.status(), 503)
      t.equal(other.errors().length, errors + 2, 'logged once')
      await t.rejects(one.app.maintenance.disable(), 'without the store nothing changes')
      t.equal(await one.status(), 503)

      await redis.restart()
      await lookUntil(clock, () => one.found().length > found + 1 && other.found().length > found + 1)
      t.equal(await other.status(), 503)
      await one.app.maintenance.disable()
      await look(clock)
      t.equal(await other.status(), 200, 'it polls again by itself')
    },
  )
})

t.test('an invalid client throws at once', async (t) => {
  const client: RedisMaintenanceClient = { get: async () => null, set: async () => 'OK', del: async () => 0 }
  const { del: _, ...noClient } = client
  t.throws(() => redisMaintenanceStore(noClient as RedisMaintenanceClient), {
    code: 'FST_CONV_OPTION_INVALID',
    message: /redisMaintenanceStore: the client: expected a client with get\(\), set\(\) and del\(\)/,
  })
})
