/** The engine in the process: bounds, order, delays, and what becomes of runs when it closes. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { RunOutcome } from '../../../../src/plugins/operations/engines/engine.js'
import {
  type InProcessEngineOptions,
  inProcessEngine,
} from '../../../../src/plugins/operations/engines/in-process.js'
import { manualClock } from '../../../support/manual-clock.js'
import { start } from '../samples.js'
import { keepsEngineContract, type NewEngine } from './engine-contract.js'
import { fakeWorker, newJob, succeeded } from './fake-worker.js'

/** An engine at work, over a clock of its own, whose runs a test ends. */
async function setup(options: InProcessEngineOptions = {}) {
  const clock = manualClock(start)
  const open = new Map<string, { resolve(outcome: RunOutcome): void; reject(error: Error): void }>()
  const worker = fakeWorker((id) => new Promise((resolve, reject) => open.set(id, { resolve, reject })))
  const engine = inProcessEngine({ ...options, schedule: clock.schedule })
  await engine.start(worker)
  await engine.work()
  return {
    engine,
    worker,
    clock,
    enqueue: (...ids: string[]) => Promise.all(ids.map((id) => engine.enqueue(newJob({ id })))),
    end(id: string, outcome: RunOutcome = succeeded) {
      open.get(id)?.resolve(outcome)
      return setImmediate()
    },
    fail(id: string) {
      open.get(id)?.reject(new Error('the registry cannot be reached'))
      return setImmediate()
    },
  }
}

const newEngine: NewEngine = ({ work: _, ...options } = {}) => inProcessEngine(options)
t.test('the contract', (t) => keepsEngineContract(t, () => newEngine, false))

t.test('so many run at the same time; the others wait in their order', async (t) => {
  const { worker, enqueue, end } = await setup({ concurrency: 2 })
  await enqueue('a', 'b', 'c', 'a', 'c')
  t.strictSame(worker.ran, ['a', 'b'])
  await end('b')
  await end('a')
  t.strictSame(worker.ran, ['a', 'b', 'c'], 'one that runs, or waits, is not added again')
  await enqueue('a')
  t.strictSame(worker.ran, ['a', 'b', 'c', 'a'], 'one that has ended can come again')
})

t.test('a delayed operation waits for its time, and is counted meanwhile', async (t) => {
  const { engine, worker, enqueue, clock } = await setup({ maxQueued: 1, concurrency: 1 })
  await engine.enqueue(newJob({ id: 'a', delay: 100 }))
  await t.rejects(engine.enqueue(newJob({ delay: 1 })), { name: 'OperationQueueFullError' })
  await enqueue('b')
  t.strictSame(worker.ran, ['b'], 'a slot is free')
  await clock.advance(99)
  t.strictSame(worker.ran, ['b'])
  const none = await setup({ concurrency: 2, maxQueued: 0 })
  await none.enqueue('a', 'b')
  await t.rejects(none.enqueue('c'), { name: 'OperationQueueFullError' })
  t.strictSame(none.worker.ran, ['a', 'b'], 'without a queue, what can run at once is accepted')
})

t.test('an owner has a share of the queue', async (t) => {
  const { engine, end } = await setup({ concurrency: 1, maxQueued: 20 })
  const start = (id: string, owner: string | null) => engine.enqueue(newJob({ id, owner }))
  for (const id of ['a', 'b', 'c']) await start(id, 'ada')
  const full = { name: 'OperationQueueFullError', isShare: true }
  await t.rejects(start('d', 'ada'), full)
  await t.resolves(start('c', 'ada'), 'one that waits needs no room')
  await start('e', 'bob')
  await start('f', null)
  await start('g', null)
  await start('h', 'bob')
  await t.rejects(start('l', 'bob'), full)
  await end('a')
  await start('i', 'ada')
  await t.rejects(start('j', 'ada'), full)
  engine.forget?.('c')
  engine.forget?.('c')
  await t.resolves(start('j', 'ada'), 'one that ended while it waited makes room once')
  await t.rejects(start('k', 'ada'), full)
})

t.test('a run that cannot be brought to its end is logged, and makes room', async (t) => {
  const { worker, enqueue, end, fail, clock } = await setup({ concurrency: 1 })
  await enqueue('a', 'b')
  await fail('a')
  t.strictSame(worker.ran, ['a', 'b'])
  await end('b', { kind: 'later', delay: 0 })
  t.strictSame(worker.log, ['an operation could not be run', 'recovered'])
  await clock.advance(99)
  t.equal(worker.ran.length, 2, 'one that cannot run yet comes again after a pause')
  await clock.advance(1)
  t.equal(worker.ran.length, 3)
})

t.test('close begins no more runs, waits for those there are, and stops the timers', async (t) => {
  const { engine, worker, clock, enqueue, end } = await setup({ concurrency: 1 })
  await enqueue('a', 'b')
  await engine.enqueue(newJob({ delay: 10 }))
  const closed = engine.close()
  await t.rejects(enqueue('c'), { name: 'Error', message: 'the engine is closed' })
  t.equal(await Promise.race([closed, setImmediate('it waits')]), 'it waits')
  t.equal(clock.waiting(), 0)
  await end('a', { kind: 'retry' })
  await closed
  t.strictSame([worker.ran, clock.waiting()], [['a'], 0])
  await t.resolves(engine.close())
})
