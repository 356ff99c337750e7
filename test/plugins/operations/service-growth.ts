// A program: prints the bytes of each operation in an app while it waits and when it is finished, and those that are left of each
// when they have expired. Run with --expose-gc.
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import Fastify from 'fastify'
import { inProcessEngine, operations } from '../../../src/plugins/operations/index.js'
import { manualClock } from '../../support/manual-clock.js'
import { isThorough } from '../../support/thorough.js'

const count = isThorough ? 100_000 : 40_000
const clock = manualClock('2026-11-20T08:00:00Z')
const app = Fastify()
await app.register(operations, {
  engine: inProcessEngine({ maxQueued: 1_000_000 }),
  now: clock.now,
  schedule: clock.schedule,
  identify: () => '42',
  retention: '1 hour',
})
let gate = Promise.resolve()
let runs = 0
app.operations.define('work', async ({ progress }) => {
  progress(0.5)
  await gate
  runs += 1
  return { resource: '/v1/payments/8' }
})
app.post('/v1/work', async (_, reply) => reply.startOperation('work', { id: '7' }))
await app.ready()

// The first requests allocate memory that stays.
await startAll(2_000, true)
await expire()
const before = await heap()
let open = () => {}
gate = new Promise((resolve) => {
  open = resolve
})
await startAll(count, false)
const waiting = ((await heap()) - before) / count
open()
while (runs < 2_000 + count) await turnOfTheLoop()
await startAll(1_000, true)
const each = ((await heap()) - before) / (count + 1_000)
const timers = clock.waiting()
await expire()
const left = (await heap()) - before
await app.close()
console.log(JSON.stringify({ waiting, each, left: left / count, timers, timersAfter: clock.waiting() }))

/** Starts operations, or sends requests that wait for their end and poll them. */
async function startAll(operations: number, byRequests: boolean): Promise<void> {
  for (let started = 0; started < operations; started += 1) {
    if (byRequests) {
      const answer = await app.inject({ method: 'POST', url: '/v1/work', headers: { prefer: 'wait=5' } })
      if (answer.statusCode !== 303) throw new Error(`${answer.statusCode} ${answer.payload}`)
      await app.inject(`/v1/operations/${answer.json<{ id: string }>().id}`)
    } else {
      await app.operations.start('work', { id: '7' }, { owner: 42 })
      if (started % 100 === 0) await turnOfTheLoop()
    }
  }
  await turnOfTheLoop()
}

async function expire(): Promise<void> {
  await clock.advance(0)
  clock.skip(3 * 3_600_000)
  for (let sweep = 0; sweep < 100; sweep += 1) await clock.advance(15_000)
}

async function heap(): Promise<number> {
  for (let turn = 0; turn < 5; turn += 1) {
    await turnOfTheLoop()
    global.gc?.()
  }
  return process.memoryUsage().heapUsed
}
