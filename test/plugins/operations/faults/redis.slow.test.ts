import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { obstacleToRedis, startRedis } from '../../../support/redis.js'
import { startRelay } from '../../../support/tcp-relay.js'
import { endsWhateverHappens } from './fault-rows.js'
import { endOf, type Member, startMember, startWork, stateOf } from './fleet.js'

const obstacle = await obstacleToRedis()
const skip = obstacle !== null && !process.env.CI ? obstacle : false
const lease = 2_000

t.test('records and work in Redis', { skip }, async (t) => {
  const server = await startRedis({ persistent: true })
  t.teardown(() => server.stop())
  await endsWhateverHappens(t, { redis: server.url })
})

t.test(
  'Redis is started again during 200 operations: none is lost, and each ends once',
  { skip },
  async (t) => {
    const server = await startRedis({ persistent: true })
    t.teardown(() => server.stop())
    const start = (role: 'web' | 'worker', isInOrder = false) =>
      startMember(t, { role, lease, redis: server.url, isInOrder })
    const [webs, workers] = await Promise.all([
      Promise.all([start('web'), start('web', true)]),
      Promise.all([start('worker'), start('worker')]),
    ])
    const paths: string[] = []
    const begun = Array.from({ length: 200 }, async (_, index) => {
      await pause(index * 20)
      // Who is told 503 asks again, as the answer says.
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
    for (const { log } of [...webs, ...workers]) t.ok(log.length < 40, log.join('\n'))
  },
)

t.test('one web process is cut off from Redis for ten seconds', { skip }, async (t) => {
  const server = await startRedis({ persistent: true })
  t.teardown(() => server.stop())
  const relay = await startRelay(server.port)
  t.teardown(() => relay.stop())
  const near = await startMember(t, { role: 'web', lease, redis: server.url })
  const cut = `redis://127.0.0.1:${relay.port}`
  const far = await startMember(t, { role: 'web', lease, redis: cut, isInOrder: true })
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
    t.ok(Date.now() - asked < 7_500, 'it is told soon that nothing is known')
    refusals += Number(state === null) + Number(path === null)
  }
  t.ok(refusals > 0, 'requests of the one that is cut off are refused, with Retry-After')
  t.match(await endOf([near], before), { status: 'Succeeded' }, 'the others go on')
  t.match(await endOf([near], (await startWork(near, 10)) ?? ''), { status: 'Succeeded' })
  await healed
  t.match(await endOf([far], before, 15_000), { status: 'Succeeded' }, 'afterwards it knows what happened')
  let after: string | null = null
  for (let attempt = 0; after === null && attempt < 20; attempt += 1) {
    after = await startWork(far, 10)
    if (after === null) await pause(500)
  }
  t.match(await endOf([far, near], after ?? ''), { status: 'Succeeded' }, 'and starts what it is asked for')
  for (const { log } of [near, far, ...workers]) t.ok(log.length < 30, log.join('\n'))
})
