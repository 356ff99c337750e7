/** What the engine does wherever its queue is. */
import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { type BullmqEngineOptions, bullmqEngine } from '../../../../../src/engines/bullmq.js'
import type { OperationEngine } from '../../../../../src/plugins/operations/engines/engine.js'
import { type FakeWorker, fakeWorker, until } from './fake-worker.js'
import { startWorkerProcess } from './start-worker-process.js'

/** Options of engines that share one queue, which is empty. */
export type NewQueue = () => BullmqEngineOptions

export const newId = () => randomBytes(16).toString('hex')
export const newIds = (count: number) => Array.from({ length: count }, newId)

/** Starts an engine that ends with the test. */
export async function started(
  t: Test,
  options: BullmqEngineOptions,
  worker: FakeWorker,
): Promise<OperationEngine> {
  const engine = bullmqEngine(options)
  t.teardown(() => engine.close())
  await engine.start(worker)
  return engine
}

/** Something that a test opens, and what waits for it. */
export function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = () => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open: () => open() }
}

export async function keepsEngineContract(t: Test, newQueue: NewQueue): Promise<void> {
  await t.test('each operation is run, in the order of the starts', async (t) => {
    const worker = fakeWorker()
    const engine = await started(t, { ...newQueue(), concurrency: 1 }, worker)
    const ids = newIds(20)
    for (const id of ids) await engine.enqueue(id)
    await until(() => worker.ran.length === ids.length, 'all run')
    t.strictSame(worker.ran, ids)
    t.equal(engine.isShared, true)
    t.strictSame(worker.told, [])
  })

  await t.test('what waits or runs already is not put in again', async (t) => {
    const end = gate()
    const worker = fakeWorker(async () => {
      await end.passed
      return { kind: 'ended' }
    })
    const engine = await started(t, { ...newQueue(), concurrency: 1 }, worker)
    const [running = '', waiting = '', last = ''] = newIds(3)
    await engine.enqueue(running)
    await until(() => worker.ran.length === 1, 'the first runs')
    for (const id of [waiting, running, waiting, last]) await engine.enqueue(id)
    end.open()
    await until(() => worker.ran.includes(last), 'the last runs')
    t.strictSame(worker.ran, [running, waiting, last])
  })

  await t.test('what was given back, or has ended, can be put in again', async (t) => {
    const worker = fakeWorker((_, count) => ({ kind: count === 1 ? 'released' : 'ended' }))
    const engine = await started(t, newQueue(), worker)
    const id = newId()
    for (const count of [1, 2, 3]) {
      await until(async () => {
        // Until the queue has taken the job out there is nothing to put in.
        await engine.enqueue(id)
        return worker.ran.length >= count
      }, `run ${count}`)
    }
    t.ok(worker.ran.every((other) => other === id))
  })

  await t.test(
    'what somebody else may be running comes again when that is over, and not before',
    async (t) => {
      const wait = 1_200
      let free = 0
      const [busy = '', other = ''] = newIds(2)
      const worker = fakeWorker((id, count) => {
        if (id !== busy || count > 1) return { kind: 'ended' }
        free = Date.now() + wait
        return { kind: 'busy', until: free }
      })
      const engine = await started(t, { ...newQueue(), concurrency: 1 }, worker)
      await engine.enqueue(busy)
      await until(() => worker.ran.length === 1, 'it was found busy')
      await engine.enqueue(other)
      // It waits there already.
      await engine.enqueue(busy)
      await until(() => worker.ran.length >= 3, 'it came again')
      t.strictSame(worker.ran, [busy, other, busy], 'others do not wait for it')
      const early = free - Number(worker.ranAt[2])
      t.ok(early <= 0, `${early} ms early`)
    },
  )

  await t.test(
    'what others were said to run until long ago does not come again without a pause',
    async (t) => {
      const worker = fakeWorker(() => ({ kind: 'busy', until: 0 }))
      const engine = await started(t, newQueue(), worker)
      await engine.enqueue(newId())
      await until(() => worker.ran.length >= 4, 'it came again')
      const took = Number(worker.ranAt[3]) - Number(worker.ranAt[0])
      t.ok(took >= 300, `four runs took ${took} ms`)
    },
  )

  await t.test(
    'while records cannot be reached jobs come again, ever more slowly, and the log has a line',
    async (t) => {
      let isAway = true
      const worker = fakeWorker(async () => {
        if (isAway) throw new Error('no answer')
        return { kind: 'ended' }
      })
      const engine = await started(t, { ...newQueue(), concurrency: 2 }, worker)
      const ids = newIds(4)
      for (const id of ids) await engine.enqueue(id)
      await until(() => worker.ran.length >= 8, 'each has come again')
      const took = Number(worker.ranAt[7]) - Number(worker.ranAt[0])
      t.ok(took >= 3_000, `eight runs of two at a time took ${took} ms`)
      isAway = false
      const before = worker.ran.length
      await until(() => ids.every((id) => worker.ran.lastIndexOf(id) >= before), 'each has run')
      t.strictSame(worker.told, ['an operation could not be run', 'recovered'])
    },
  )

  await t.test('processes with the same queue share the work', async (t) => {
    const queue = newQueue()
    const end = gate()
    const workers = [1, 2].map(() =>
      fakeWorker(async () => {
        await end.passed
        return { kind: 'ended' }
      }),
    )
    const [one] = await Promise.all(workers.map((worker) => started(t, { ...queue, concurrency: 1 }, worker)))
    const ids = newIds(6)
    for (const id of ids) await one?.enqueue(id)
    await until(() => workers.every(({ ran }) => ran.length === 1), 'both run one')
    end.open()
    await until(() => workers.flatMap(({ ran }) => ran).length === ids.length, 'all run')
    t.strictSame(new Set(workers.flatMap(({ ran }) => ran)), new Set(ids))
  })

  await t.test('a process that does not work leaves it to others', async (t) => {
    const queue = newQueue()
    const web = fakeWorker()
    const worker = fakeWorker()
    const engine = await started(t, { ...queue, work: false }, web)
    const id = newId()
    await engine.enqueue(id)
    await started(t, queue, worker)
    await until(() => worker.ran.length === 1, 'the other runs it')
    t.strictSame(worker.ran, [id])
    t.strictSame(web.ran, [])
  })

  await t.test('a full queue takes in nothing more, until there is room', async (t) => {
    const queue = newQueue()
    const engine = await started(t, { ...queue, work: false, maxQueued: 3 }, fakeWorker())
    for (const id of newIds(3)) await engine.enqueue(id)
    await t.rejects(engine.enqueue(newId()), {
      name: 'OperationQueueFullError',
      message: /3 operations wait/,
    })
    const worker = fakeWorker()
    await started(t, queue, worker)
    await until(() => worker.ran.length === 3, 'the queue is empty')
    await until(
      () =>
        engine.enqueue(newId()).then(
          () => true,
          () => false,
        ),
      'there is room again',
    )
    await until(() => worker.ran.length === 4, 'what was put in runs')
  })

  await t.test('closing waits for what runs, and leaves what waits to others', async (t) => {
    const queue = newQueue()
    const end = gate()
    const closing = fakeWorker(async () => {
      await end.passed
      return { kind: 'ended' }
    })
    const engine = await started(t, { ...queue, concurrency: 1 }, closing)
    const [running = '', waiting = ''] = newIds(2)
    for (const id of [running, waiting]) await engine.enqueue(id)
    await until(() => closing.ran.length === 1, 'one runs')
    let isClosed = false
    const closed = engine.close().then(() => {
      isClosed = true
    })
    await t.rejects(engine.enqueue(newId()), { name: 'Error', message: 'the engine is closed' })
    const other = fakeWorker()
    await started(t, queue, other)
    await until(() => other.ran.length === 1, 'another process has taken what waited')
    t.equal(isClosed, false, 'it waits for the run')
    end.open()
    await closed
    t.strictSame([closing.ran, other.ran], [[running], [waiting]])
    t.strictSame(closing.told, [])
  })

  await t.test('what is on its way to a process that closes is run by another', async (t) => {
    const queue = newQueue()
    const web = await started(t, { ...queue, work: false }, fakeWorker())
    const ids = newIds(10)
    const ran: string[] = []
    for (const id of ids) {
      const closing = fakeWorker()
      const engine = await started(t, queue, closing)
      await web.enqueue(id)
      await engine.close()
      ran.push(...closing.ran)
    }
    const worker = fakeWorker()
    await started(t, queue, worker)
    await until(() => ran.length + worker.ran.length >= ids.length, 'all run')
    t.strictSame([...ran, ...worker.ran].toSorted(), ids.toSorted())
  })

  await t.test('an engine that has not been started says so, and can be closed', async (t) => {
    const engine = bullmqEngine(newQueue())
    await t.rejects(engine.enqueue(newId()), /has not been started/)
    await engine.close()
    await engine.close()
  })

  await t.test('what a killed process was running is run by another within its lease', async (t) => {
    const queue = newQueue()
    const lease = 4_000
    const victim = await startWorkerProcess(t, { ...queue, concurrency: 1 }, lease)
    const web = await started(t, { ...queue, work: false }, fakeWorker())
    const id = newId()
    await web.enqueue(id)
    t.equal(await victim.next(), id)
    const worker = fakeWorker(undefined, lease)
    await started(t, queue, worker)
    const killedAt = Date.now()
    await victim.kill()
    await until(() => worker.ran.length === 1, 'another runs it')
    t.strictSame(worker.ran, [id])
    const took = Number(worker.ranAt[0]) - killedAt
    t.ok(took <= lease, `after ${took} ms`)
  })
}
