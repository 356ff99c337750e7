import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t from 'tap'
import { obstacleToRedis, startRedis } from '../../../support/redis.js'
import { startRelay } from '../../../support/tcp-relay.js'
import { until } from '../../../support/until.js'
import { staysSo, survivesDeploys, survivesFaults } from './fault-rows.js'
import { endOf, kill, type Member, startMember, startWork, stateOf } from './fleet.js'

const obstacle = await obstacleToRedis()
const skip = obstacle !== null && !process.env.CI ? obstacle : false
const lease = 2_000

t.test('records and work in Redis', { skip }, async (t) => {
  const server = await startRedis({ persistent: true })
  t.teardown(() => server.stop())
  await survivesFaults(t, { redis: server.url })
})

t.test(
  '20 restarts during 1,000 operations: none is lost, and each takes effect once',
  { skip },
  async (t) => {
    const server = await startRedis({ persistent: true })
    t.teardown(() => server.stop())
    const client = new Redis(server.url)
    t.teardown(() => client.disconnect())
    const effectsOf = async (id: string) => Number(await client.get(`effect:${id}`))
    await survivesDeploys(t, { redis: server.url }, 5, 1_000, effectsOf)
  },
)

t.test(
  'the clocks of two of five processes are an hour off: nothing comes early or late',
  { skip },
  async (t) => {
    const server = await startRedis({ persistent: true })
    t.teardown(() => server.stop())
    const start = (role: 'web' | 'worker', clockShift = 0) =>
      startMember(t, { role, lease, redis: server.url, clockShift })
    const hour = 3_600_000
    const webs = [await start('web'), await start('web', hour)]
    const workers = [await start('worker'), await start('worker', hour), await start('worker', -hour)]
    const paths: string[] = []
    for (let count = 0; count < 60; count += 1) {
      paths.push((await startWork(webs[count % 2] as Member, 300 + (count % 5) * 100)) ?? '')
    }
    await kill((workers[0] as Member).process)
    const ends = await Promise.all(paths.map((path) => endOf(webs, path, 30_000)))
    t.strictSame(new Set(ends.map(({ status }) => status)), new Set(['Succeeded']))
    // A wrong clock would have let the results expire.
    await staysSo(t, webs, paths, ends)
  },
)

// The lock of BullMQ is renewed at half of its time, which a full Redis refuses.
for (const [outcome, ownLease, milliseconds] of [
  ['work that ends before its lock is renewed is done once', 10_000, 1_000],
  ['work that takes longer runs again', lease, 1.5 * lease],
] as const) {
  t.test(`Redis is full for ten seconds: starts are refused; ${outcome}`, { skip }, async (t) => {
    const server = await startRedis({ persistent: true })
    t.teardown(() => server.stop())
    const client = new Redis(server.url)
    t.teardown(() => client.disconnect())
    const start = (role: 'web' | 'worker') => startMember(t, { role, lease: ownLease, redis: server.url })
    const [web, worker] = await Promise.all([start('web'), start('worker')])
    const paths: string[] = []
    for (let count = 0; count < 8; count += 1) paths.push((await startWork(web, milliseconds)) ?? '')
    await until(
      async () => worker.runs.length,
      (runs) => runs === 8,
    )
    await client.config('SET', 'maxmemory-policy', 'noeviction')
    await client.config('SET', 'maxmemory', '1')
    t.equal(await startWork(web, 10), null, 'a start is a 503 with Retry-After')
    const endsAll = async () => {
      for (const path of paths) t.match(await endOf([web], path), { status: 'Succeeded' })
    }
    const isShort = milliseconds < ownLease / 2
    if (isShort) await endsAll()
    await pause(10_000)
    await client.config('SET', 'maxmemory', '0')
    if (!isShort) await endsAll()
    const after = await until(
      () => startWork(web, 10),
      (path) => path !== null,
    )
    t.match(await endOf([web], after ?? ''), { status: 'Succeeded' })
    await pause(2 * ownLease)
    if (isShort) t.equal(new Set(worker.runs).size, worker.runs.length, 'no operation ran twice')
  })
}

t.test('Redis restarts during 200 operations: none is lost, and each ends once', { skip }, async (t) => {
  const server = await startRedis({ persistent: true })
  t.teardown(() => server.stop())
  const start = (role: 'web' | 'worker') => startMember(t, { role, lease, redis: server.url })
  const [webs, workers] = await Promise.all([
    Promise.all([start('web'), start('web')]),
    Promise.all([start('worker'), start('worker')]),
  ])
  const paths: string[] = []
  const begun = Array.from({ length: 200 }, async (_, index) => {
    await pause(index * 20)
    // A client that gets a 503 tries again.
    for (;;) {
      const path = await startWork(webs[index % 2] as Member, 200)
      if (path !== null) return void paths.push(path)
      await pause(500)
    }
  })
  await pause(1_500)
  await server.restart('SIGKILL')
  await pause(1_000)
  await server.restart('SIGTERM')
  await Promise.all(begun)
  t.equal(new Set(paths).size, 200)
  const ends = await Promise.all(paths.map((path) => endOf(webs, path)))
  t.strictSame(new Set(ends.map(({ status }) => status)), new Set(['Succeeded']))
  for (const web of webs) t.strictSame(await Promise.all(paths.map((path) => stateOf(web, path))), ends)
  for (const { log } of [...webs, ...workers]) t.ok(log.length < 40, log.slice(0, 5).join('\n'))
})

t.test('one web process is cut off from Redis for ten seconds', { skip }, async (t) => {
  const server = await startRedis({ persistent: true })
  t.teardown(() => server.stop())
  const relay = await startRelay(server.port)
  t.teardown(() => relay.stop())
  const near = await startMember(t, { role: 'web', lease, redis: server.url })
  const cut = `redis://127.0.0.1:${relay.port}`
  const far = await startMember(t, { role: 'web', lease, redis: cut })
  const workers = await Promise.all(
    ['worker', 'worker'].map(() => startMember(t, { role: 'worker', lease, redis: server.url })),
  )

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
  let after: string | null = null
  for (let attempt = 0; after === null && attempt < 20; attempt += 1) {
    after = await startWork(far, 10)
    if (after === null) await pause(500)
  }
  t.match(await endOf([far, near], after ?? ''), { status: 'Succeeded' }, 'and starts operations')
  for (const { log } of [near, far, ...workers]) t.ok(log.length < 30, log.slice(0, 5).join('\n'))
})
