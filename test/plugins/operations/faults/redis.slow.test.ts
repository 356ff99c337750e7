// Own process: it is slow
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { redisClient, redisOf, skipWithoutRedis } from '../../../support/redis.js'
import { startRelay } from '../../../support/tcp-relay.js'
import { until } from '../../../support/until.js'
import {
  allSucceed,
  endOf,
  startMember,
  startWork,
  stateOf,
  survivesDeploys,
  survivesFaults,
  survivesRestarts,
} from './fleet.js'

const skip = await skipWithoutRedis()
const lease = 2_000

async function redisFor(t: Test) {
  const server = await redisOf(t, { persistent: true })
  const client = redisClient(t, server.url)
  const effectsOf = async (id: string) => Number(await client.get(`effect:${id}`))
  return { server, client, place: { redis: server.url }, effectsOf }
}

t.test('records and work in Redis', { skip }, async (t) => {
  const { place, effectsOf } = await redisFor(t)
  await survivesFaults(t, place, effectsOf)
})

t.test('20 restarts during 1,000 operations: each takes effect once', { skip }, async (t) => {
  const { place, effectsOf } = await redisFor(t)
  await survivesDeploys(t, place, 5, 1_000, effectsOf)
})

// The lock of BullMQ is renewed at half of its time, which a full Redis refuses.
for (const [outcome, ownLease, milliseconds] of [
  ['work that ends before its lock is renewed is done once', 10_000, 1_000],
  ['work that takes longer runs again', lease, 1.5 * lease],
] as const) {
  t.test(`Redis is full for 30 seconds: starts are refused; ${outcome}`, { skip }, async (t) => {
    const { client, place } = await redisFor(t)
    const start = (role: 'web' | 'worker') => startMember(t, { role, lease: ownLease, ...place })
    const [web, worker] = await Promise.all([start('web'), start('worker')])
    const paths: string[] = []
    for (let count = 0; count < 8; count += 1) paths.push((await startWork(web, milliseconds)) ?? '')
    await until(async () => worker.runs.length === 8, Boolean)
    await client.config('SET', 'maxmemory-policy', 'noeviction')
    await client.config('SET', 'maxmemory', '1')
    t.equal(await startWork(web, 10), null, 'a start is a 503 with Retry-After')
    const isShort = milliseconds < ownLease / 2
    if (isShort) await allSucceed(t, [web], paths)
    await pause(30_000)
    await client.config('SET', 'maxmemory', '0')
    if (!isShort) await allSucceed(t, [web], paths)
    const after = await until(() => startWork(web, 10), Boolean)
    t.match(await endOf([web], after ?? ''), { status: 'Succeeded' })
    await pause(2 * ownLease)
    if (isShort) t.equal(new Set(worker.runs).size, worker.runs.length, 'no operation ran twice')
  })
}

t.test('Redis restarts during 200 operations', { skip }, async (t) => {
  const { server, place } = await redisFor(t)
  const restarts = (['SIGKILL', 'SIGTERM'] as const).map((signal) => () => server.restart(signal))
  await survivesRestarts(t, place, restarts)
})

t.test('one web process is cut off from Redis for ten seconds', { skip }, async (t) => {
  const { server } = await redisFor(t)
  const relay = await startRelay(server.port)
  t.teardown(() => relay.stop())
  const near = await startMember(t, { role: 'web', lease, redis: server.url })
  const far = await startMember(t, { role: 'web', lease, redis: `redis://127.0.0.1:${relay.port}` })
  const worker = () => startMember(t, { role: 'worker', lease, redis: server.url })
  const workers = await Promise.all([worker(), worker()])

  const before = (await startWork(far, 3_000)) ?? ''
  relay.cut()
  const healed = pause(10_000).then(() => relay.heal())
  let refusals = 0
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const asked = Date.now()
    const [state, path] = await Promise.all([stateOf(far, before), startWork(far, 10)])
    t.ok(Date.now() - asked < 7_500, 'the refusal comes soon')
    refusals += Number(state === null) + Number(path === null)
  }
  t.ok(refusals > 0, 'its requests are refused, with Retry-After')
  t.match(await endOf([near], before), { status: 'Succeeded' }, 'the others go on')
  t.match(await endOf([near], (await startWork(near, 10)) ?? ''), { status: 'Succeeded' })
  await healed
  t.match(await endOf([far], before, 15_000), { status: 'Succeeded' }, 'afterwards it reports the end')
  const after = await until(() => startWork(far, 10), Boolean, 10_000, 500)
  t.match(await endOf([far, near], after ?? ''), { status: 'Succeeded' }, 'and starts operations')
  for (const { log } of [near, far, ...workers]) t.ok(log.length < 30, log.slice(0, 5).join('\n'))
})
