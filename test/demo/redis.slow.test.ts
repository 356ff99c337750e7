// Own process: starts processes, and waits for them
/** `REDIS_URL` of the demo: what its processes share, and what becomes of it while Redis is away. */
import t, { type Test } from 'tap'
import { redisMaintenanceStore } from '../../src/stores/redis.js'
import { endChild } from '../support/child.js'
import { redisClient, redisOf, skipWithoutRedis } from '../support/redis.js'
import { until } from '../support/until.js'
import { type Caller, callerOf } from './client.js'
import { failureOf, spawnDemo, startDemo } from './run-demo.js'

const skip = await skipWithoutRedis()
const target = '/v1/users?limit=1'

const server = (t: Test) => redisOf(t, { persistent: true })

const statusOf = (caller: Caller) => async () => (await caller.get(target)).status

/** What is left to a caller, as the answer tells; `NaN` where it was not counted. */
async function leftOf(caller: Caller): Promise<number> {
  return Number(/r=(\d+)/.exec((await caller.get(target)).headers.get('ratelimit') ?? '')?.[1])
}

t.test('two processes with one Redis', { skip }, async (t) => {
  const redis = await server(t)
  const environment = { REDIS_URL: redis.url, RATE_LIMIT_MAX: '1000' }
  const demos = await Promise.all([startDemo(t, environment), startDemo(t, environment)])
  const [one, other] = [callerOf(demos[0].origin), callerOf(demos[1].origin)]

  await t.test('share the counts of a caller', async (t) => {
    // Until a process has seen the token, it counts the address.
    for (const caller of [one, other]) await caller.get(target)
    t.strictSame(
      [await leftOf(one), await leftOf(other), await leftOf(other), await leftOf(one)],
      [999, 998, 997, 996],
    )
  })

  await t.test('share the maintenance', async (t) => {
    const store = redisMaintenanceStore(redisClient(t, redis.url))
    await store.set({ until: new Date(Date.now() + 600_000).toISOString(), reason: 'The move' })
    for (const caller of [one, other]) {
      await until(statusOf(caller), (status) => status === 503)
      const { json, headers } = await caller.get(target)
      t.match(json, { code: 'maintenance', detail: 'The move' })
      t.ok(Number(headers.get('retry-after')) > 500)
    }
    await store.set(null)
    for (const caller of [one, other]) t.equal(await until(statusOf(caller), (status) => status === 200), 200)
  })

  await t.test('serve while Redis is down, log it once, and count again when it is back', async (t) => {
    const before = await leftOf(one)
    await redis.kill()
    await until(() => leftOf(one), Number.isNaN)
    const statuses = new Set<number>()
    // Long enough for several attempts to connect.
    for (const end = Date.now() + 1_500; Date.now() < end; ) statuses.add(await statusOf(one)())
    t.strictSame([...statuses], [200])
    await redis.restart()
    const after = await until(
      () => leftOf(one),
      (left) => left > 0,
    )
    t.ok(after < before, `what was counted before counts: ${after}, ${before} before`)
    const [{ complaints }] = demos
    await until(
      async () => complaints,
      (lines) => lines.length > 1,
    )
    t.match(complaints[0], /^demo server: Redis is away: .+/)
    t.strictSame(complaints.slice(1), ['demo server: Redis is back'])
  })

  await t.test('a Redis that does not reply delays no request, and no end', async (t) => {
    redis.pause()
    const statuses = await Promise.all(Array.from({ length: 50 }, statusOf(one)))
    t.strictSame([...new Set(statuses)], [200])
    t.equal(await endChild(demos[0].process, 'SIGTERM'), 0)
    await redis.kill()
    t.equal(await endChild(demos[1].process, 'SIGTERM'), 0, 'nor one that is down')
  })
})

t.test('an unusable Redis is an error of one line at the start', { skip }, async (t) => {
  const redis = await server(t)
  const failure = (url: string) => failureOf(spawnDemo({ PORT: '0', REDIS_URL: url }))
  t.match(await failure(`${redis.url}/99`), /^demo server: REDIS_URL: .*DB index is out of range$/)
  redis.pause()
  t.match(await failure(redis.url), /^demo server: REDIS_URL: .*timed out$/)
  await redis.kill()
  t.match(await failure(redis.url), /^demo server: REDIS_URL: connect ECONNREFUSED [\d.:]+$/)
})
