// Own process: waits for Redis
/** Maintenance that instances share in Redis with a real server, and two clients of it. */
import t, { type Test } from 'tap'
import { readTimeout } from '../../../../src/plugins/maintenance/sources.js'
import { redisMaintenanceStore } from '../../../../src/stores/redis.js'
import { manualClock } from '../../../support/manual-clock.js'
import { type PrivateRedis, redisClient, redisOf, skipWithoutRedis } from '../../../support/redis.js'
import { until } from '../../../support/until.js'
import { faults, look, serviceWith, start } from '../service.js'

const skip = await skipWithoutRedis()
const defaultKey = 'fastify-conventions:maintenance'

/** A client that never waits for a server that is away. */
async function connect(t: Test, { url }: PrivateRedis) {
  const client = redisClient(t, url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 20,
  })
  await client.connect()
  return client
}

t.test('in Redis', { skip }, async (t) => {
  const redis = await redisOf(t)
  const one = await connect(t, redis)
  const other = await connect(t, redis)

  await t.test('both stores get what one sets, in one key with its version', async (t) => {
    const stores = [redisMaintenanceStore(one), redisMaintenanceStore(other)] as const
    const notice = { until: '2026-11-20T12:00:00.000Z', reason: 'Größeres “move”' }
    for (const set of [null, notice, { retryAfter: 120 }, {}, null, null]) {
      await stores[0].set(set)
      for (const store of stores) t.strictSame(await store.get(), set)
      const value = set && { version: 1, notice: set }
      t.strictSame(JSON.parse((await one.get(defaultKey)) ?? 'null'), value)
      t.equal(await one.dbsize(), set === null ? 0 : 1, 'without a notice there is no key')
    }
  })

  await t.test('a value that no store wrote rejects, with what is wrong', async (t) => {
    const store = redisMaintenanceStore(one)
    const message = RegExp(`^the value of the Redis key '${defaultKey}' is not a maintenance notice`)
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

t.test('while Redis is away, the last known state stays; then that in Redis counts', { skip }, async (t) => {
  const redis = await redisOf(t, { persistent: true })
  const clock = manualClock(start)
  /** Reads repeatedly: a client notices by itself when its server is back. */
  const lookUntil = (isSo: () => boolean) => until(() => look(clock), isSo)
  const open = async () =>
    serviceWith(t, { store: redisMaintenanceStore(await connect(t, redis)) }, { clock })
  const [one, other] = [await open(), await open()]
  const errors = () => other.told(faults).length
  const returns = () => Math.min(...[one, other].map(({ told }) => told(/reachable again/).length))
  await one.app.maintenance.enable()
  await look(clock)
  t.equal(await other.status(), 503)

  redis.pause()
  await clock.advance(5 * (readTimeout + 1000))
  t.equal(await other.status(), 503)
  t.equal(errors(), 1, 'a Redis that does not answer is unreachable')
  redis.resume()
  await lookUntil(() => returns() > 0)

  await redis.kill()
  await lookUntil(() => errors() > 1)
  await look(clock)
  await look(clock)
  t.equal(await other.status(), 503)
  t.equal(errors(), 2, 'logged once')
  await t.rejects(one.app.maintenance.disable(), 'without the store nothing changes')
  t.equal(await one.status(), 503)

  await redis.restart()
  await lookUntil(() => returns() > 1)
  t.equal(await other.status(), 503)
  await one.app.maintenance.disable()
  await look(clock)
  t.equal(await other.status(), 200, 'it polls again by itself')
})

t.test('an invalid client throws at once', async (t) => {
  const client = { get: async () => null, set: async () => 'OK' }
  const message = /redisMaintenanceStore: the client: expected a client with get\(\), set\(\) and del\(\)/
  t.throws(() => redisMaintenanceStore(client as never), { code: 'FST_CONV_OPTION_INVALID', message })
})
