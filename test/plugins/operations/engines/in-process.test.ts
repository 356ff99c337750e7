/** The engine in the process: bounds, order, and what becomes of runs when it closes. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { OperationWorker, RunOutcome } from '../../../../src/plugins/operations/engines/engine.js'
import { inProcessEngine } from '../../../../src/plugins/operations/engines/in-process.js'

/** A worker whose runs a test ends. */
function heldWorker() {
  const begun: string[] = []
  const open = new Map<string, { resolve(outcome: RunOutcome): void; reject(error: unknown): void }>()
  const troubles: string[] = []
  const worker: OperationWorker = {
    run: (id) => {
      begun.push(id)
      return new Promise((resolve, reject) => open.set(id, { resolve, reject }))
    },
    failed: (what) => void troubles.push(what),
    recovered: () => void troubles.push('recovered'),
    lease: 30_000,
  }
  const settle = async (id: string, act: 'resolve' | 'reject'): Promise<void> => {
    if (act === 'resolve') open.get(id)?.resolve({ kind: 'ended' })
    else open.get(id)?.reject(new Error('the registry cannot be reached'))
    await setImmediate()
  }
  return {
    worker,
    begun,
    troubles,
    end: (id: string) => settle(id, 'resolve'),
    fail: (id: string) => settle(id, 'reject'),
  }
}

t.test('so many run at the same time, the others wait in their order', async (t) => {
  const { worker, begun, end } = heldWorker()
  const engine = inProcessEngine({ concurrency: 2 })
  await engine.start(worker)
  for (const id of ['a', 'b', 'c', 'd', 'e']) await engine.enqueue(id)
  t.strictSame(begun, ['a', 'b'])
  await end('b')
  t.strictSame(begun, ['a', 'b', 'c'])
  await end('a')
  await end('c')
  t.strictSame(begun, ['a', 'b', 'c', 'd', 'e'])
})

t.test('a full queue takes nothing in, and says so', async (t) => {
  const { worker, begun, end } = heldWorker()
  const engine = inProcessEngine({ concurrency: 1, maxQueued: 2 })
  await engine.start(worker)
  for (const id of ['a', 'b', 'c']) await engine.enqueue(id)
  await t.rejects(engine.enqueue('d'), {
    name: 'OperationQueueFullError',
    message: '2 operations wait already',
  })
  await t.resolves(engine.enqueue('b'), 'what is in it already needs no room')
  await end('a')
  await t.resolves(engine.enqueue('d'))
  await end('b')
  await end('c')
  await end('d')
  t.strictSame(begun, ['a', 'b', 'c', 'd'])
})

t.test('an owner takes a share of the queue, and the others go on', async (t) => {
  const { worker, begun, end } = heldWorker()
  const engine = inProcessEngine({ concurrency: 1, maxQueued: 5, maxQueuedPerOwner: 2 })
  await engine.start(worker)
  for (const id of ['a', 'b', 'c']) await engine.enqueue(id, 'ada')
  const full = { name: 'OperationQueueFullError', isShare: true }
  await t.rejects(engine.enqueue('d', 'ada'), full)
  await t.resolves(engine.enqueue('c', 'ada'), 'what is in it already needs no room')
  await engine.enqueue('e', 'bob')
  await engine.enqueue('f')
  await engine.enqueue('g')
  await t.rejects(engine.enqueue('h', 'bob'), { name: 'OperationQueueFullError', isShare: false })
  await end('a')
  await engine.enqueue('i', 'ada')
  await t.rejects(engine.enqueue('j', 'ada'), full)
  engine.forget?.('c')
  engine.forget?.('c')
  await t.resolves(engine.enqueue('j', 'ada'), 'what ended while it waited gives its place back, once')
  await t.rejects(engine.enqueue('k', 'ada'), full)
  t.strictSame(begun, ['a', 'b'])
})

t.test('without a queue what can run at once is taken in', async (t) => {
  const { worker, begun } = heldWorker()
  const engine = inProcessEngine({ concurrency: 2, maxQueued: 0 })
  await engine.start(worker)
  await engine.enqueue('a')
  await engine.enqueue('b')
  await t.rejects(engine.enqueue('c'), { name: 'OperationQueueFullError' })
  t.strictSame(begun, ['a', 'b'])
})

t.test('the same operation is in it once, while it waits or runs', async (t) => {
  const { worker, begun, end } = heldWorker()
  const engine = inProcessEngine({ concurrency: 1 })
  await engine.start(worker)
  for (const id of ['a', 'a', 'b', 'b', 'a']) await engine.enqueue(id)
  await end('a')
  await end('b')
  t.strictSame(begun, ['a', 'b'])
  await engine.enqueue('a')
  t.strictSame(begun, ['a', 'b', 'a'], 'after that it can come again')
})

t.test('what comes before the start waits for it', async (t) => {
  const { worker, begun } = heldWorker()
  const engine = inProcessEngine()
  await engine.enqueue('a')
  t.strictSame(begun, [])
  await engine.start(worker)
  t.strictSame(begun, ['a'])
})

t.test('a run that cannot be brought to its end is told, and makes room', async (t) => {
  const { worker, begun, end, fail, troubles } = heldWorker()
  const engine = inProcessEngine({ concurrency: 1 })
  await engine.start(worker)
  for (const id of ['a', 'b']) await engine.enqueue(id)
  await fail('a')
  t.strictSame(begun, ['a', 'b'])
  await end('b')
  t.strictSame(troubles, ['an operation could not be run', 'recovered'])
})

t.test('a worker that throws at once is one that rejects', async (t) => {
  const { worker, troubles } = heldWorker()
  const engine = inProcessEngine({ concurrency: 1 })
  const run = () => {
    throw new Error('no')
  }
  await engine.start({ ...worker, run })
  await engine.enqueue('a')
  await setImmediate()
  t.strictSame(troubles, ['an operation could not be run'])
  await engine.close()
})

t.test('closing begins nothing any more and waits for what runs', async (t) => {
  const { worker, begun, end } = heldWorker()
  const engine = inProcessEngine({ concurrency: 1 })
  await engine.start(worker)
  for (const id of ['a', 'b']) await engine.enqueue(id)
  const steps: string[] = []
  const closed = engine.close().then(() => steps.push('closed'))
  await t.rejects(engine.enqueue('c'), { name: 'Error', message: 'the engine is closed' })
  await setImmediate()
  t.strictSame(steps, [])
  await end('a')
  await closed
  t.strictSame(begun, ['a'])
  await t.resolves(engine.close(), 'closing twice is closing once')
})

t.test('what ended while it waited is not run, and its place is free', async (t) => {
  const { worker, begun, end } = heldWorker()
  const engine = inProcessEngine({ concurrency: 1, maxQueued: 1 })
  await engine.start(worker)
  for (const id of ['a', 'b']) await engine.enqueue(id)
  engine.forget?.('b')
  engine.forget?.('a')
  engine.forget?.('never there')
  await t.resolves(engine.enqueue('c'))
  await end('a')
  t.strictSame(begun, ['a', 'c'])
})

t.test('options that are wrong are refused by their name', async (t) => {
  const rows: readonly (readonly [options: object, message: RegExp])[] = [
    [{ concurrency: 0 }, /inProcessEngine\.concurrency: expected an integer from 1/],
    [{ maxQueued: -1 }, /inProcessEngine\.maxQueued/],
    [{ maxQueue: 1 }, /inProcessEngine\.maxQueue: there is no such option/],
  ]
  for (const [options, message] of rows) t.throws(() => inProcessEngine(options), { message })
})
