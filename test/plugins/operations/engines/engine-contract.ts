/** The rules of engines. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import type { OperationEngine, OperationWorker } from '../../../../src/plugins/operations/engines/engine.js'
import { fakeWorker, gate, isDone, newJob, newJobs, succeeded, until } from './fake-worker.js'

/** Makes engines that share one queue. */
export type NewEngine = (options?: {
  readonly work?: boolean
  readonly concurrency?: number
  readonly maxQueued?: number
}) => OperationEngine

/** Starts an engine that closes with the test. */
export async function started(t: Test, engine: OperationEngine, worker: OperationWorker) {
  t.teardown(() => engine.close())
  await engine.start(worker)
  await engine.work()
  return engine
}

/**
 * @param newQueue returns the engines of a new, empty queue
 * @param isShared whether several engines share a queue
 * @param comesTwice makes the server hand out a job that runs
 */
export async function keepsEngineContract(
  t: Test,
  newQueue: () => NewEngine,
  isShared = true,
  comesTwice?: (id: string) => Promise<unknown>,
) {
  const single = { concurrency: 1 }
  const shared = { skip: isShared ? false : 'one process has the queue' }
  const ranOne = (worker: ReturnType<typeof fakeWorker>) =>
    until(() => worker.ran.length === 1, 'a process runs it')

  await t.test('operations run by priority, and then in the order of their starts', async (t) => {
    const worker = fakeWorker()
    const engine = newQueue()(single)
    t.teardown(() => engine.close())
    if (isShared) await t.rejects(engine.enqueue(newJob()), /has not been started/)
    await engine.start(worker)
    const jobs = [0, 0, 50, 100, 50, 0].map((priority) => newJob({ priority }))
    for (const job of jobs) await engine.enqueue(job)
    t.strictSame(worker.ran, [], 'none before `work`')
    await engine.work()
    await until(() => worker.ran.length === jobs.length, 'all run')
    const order = [3, 2, 4, 0, 1, 5].map((index) => jobs[index]?.id)
    t.strictSame(worker.ran, order)
    t.equal(engine.isShared, isShared)
    t.strictSame(worker.log, [])
  })

  await t.test('a delayed operation does not run before', async (t) => {
    const worker = fakeWorker()
    const engine = await started(t, newQueue()(single), worker)
    const [late, soon] = [newJob({ delay: 1_500 }), newJob()]
    const startedAt = Date.now()
    await engine.enqueue(late)
    await engine.enqueue(soon)
    await until(() => worker.ran.length === 2, 'both run')
    t.strictSame(worker.ran, [soon.id, late.id])
    // A timer may be a millisecond early by the clock.
    t.ok(Number(worker.ranAt[1]) - startedAt >= 1_499)
  })

  await t.test('an operation that waits or runs is not added again', async (t) => {
    const end = gate()
    const worker = fakeWorker(() => end.passed)
    const engine = await started(t, newQueue()(single), worker)
    const [running, waiting, last] = [newJob(), newJob(), newJob()]
    await engine.enqueue(running)
    await ranOne(worker)
    for (const job of [waiting, waiting, last]) await engine.enqueue(job)
    end.open()
    await until(() => worker.ran.includes(last.id), 'the last runs')
    t.strictSame(worker.ran, [running.id, waiting.id, last.id])
  })

  await t.test('an operation that cannot run yet comes again later, which is no retry', async (t) => {
    const wait = 1_200
    const [first, other] = [newJob({ retries: 1 }), newJob()]
    const worker = fakeWorker((id, count) => (id === first.id && count < 3 ? busy(wait) : succeeded))
    const engine = await started(t, newQueue()(single), worker)
    for (const job of [first, other]) await engine.enqueue(job)
    await until(() => worker.ran.length >= 4, 'it came again')
    t.strictSame(worker.ran, [first.id, other.id, first.id, first.id], 'others do not wait for it')
    t.strictSame(worker.lasts, [false, false, false, false])
    t.ok(Number(worker.ranAt[2]) - Number(worker.ranAt[0]) >= wait - 2)
  })

  await t.test('an operation whose handler fails is retried, later each time', async (t) => {
    const [job, other] = [newJob({ retries: 2 }), newJob()]
    const worker = fakeWorker((id, count) => {
      if (id !== job.id) return succeeded
      return count <= 2 ? { kind: 'retry' } : { kind: 'ended', hasFailed: true }
    })
    const engine = await started(t, newQueue()(single), worker)
    for (const one of [job, other]) await engine.enqueue(one)
    await until(() => worker.ran.length >= 4, 'it ran three times')
    t.strictSame(worker.ran, [job.id, other.id, job.id, job.id])
    t.strictSame(worker.lasts, [false, false, false, true])
    const [first = 0, , second = 0, third = 0] = worker.ranAt
    t.ok(second - first >= 700, 'after a second, less up to a quarter')
    t.ok(third - second >= 1_400, 'after two')
  })

  await t.test('an operation that is handed back runs in another process', shared, async (t) => {
    const newEngine = newQueue()
    const closing = fakeWorker(() => ({ kind: 'released' }))
    const engine = await started(t, newEngine(), closing)
    const job = newJob()
    await engine.enqueue(job)
    await ranOne(closing)
    const worker = fakeWorker()
    await started(t, newEngine(), worker)
    await ranOne(worker)
    t.equal(closing.ran.length, 1, 'this process does not take it again')
  })

  await t.test('an operation without a reachable record comes again, with one line', shared, async (t) => {
    let isAway = true
    const worker = fakeWorker(() => {
      if (isAway) throw new Error('no answer')
      return succeeded
    })
    const engine = await started(t, newQueue()({ concurrency: 2 }), worker)
    const jobs = newJobs(4)
    for (const job of jobs) await engine.enqueue({ ...job, isNew: true })
    await until(() => worker.ran.length >= 4, 'each has come')
    t.ok(Number(worker.ranAt[3]) - Number(worker.ranAt[0]) >= 900, 'at its concurrency each second')
    isAway = false
    const before = worker.ran.length
    await until(() => jobs.every(({ id }) => worker.ran.lastIndexOf(id) >= before), 'each has run')
    t.strictSame(worker.log.slice(-2), ['an operation could not be run', 'recovered'])
  })

  await t.test('processes share the work; one that does not work leaves it to them', shared, async (t) => {
    const newEngine = newQueue()
    const end = gate()
    const web = fakeWorker()
    const workers = [1, 2].map(() => fakeWorker(() => end.passed))
    const engine = await started(t, newEngine({ work: false }), web)
    for (const worker of workers) await started(t, newEngine(single), worker)
    const jobs = newJobs(6)
    for (const job of jobs) await engine.enqueue(job)
    await until(() => workers.every(({ ran }) => ran.length === 1), 'both run one')
    end.open()
    await until(() => workers.flatMap(({ ran }) => ran).length === jobs.length, 'all run')
    t.strictSame(workers.flatMap(({ ran }) => ran).toSorted(), jobs.map(({ id }) => id).toSorted())
    t.strictSame(web.ran, [])
  })

  await t.test('a full queue refuses operations until it has room', shared, async (t) => {
    const newEngine = newQueue()
    const engine = await started(t, newEngine({ work: false, maxQueued: 3 }), fakeWorker())
    for (const job of newJobs(3)) await engine.enqueue(job)
    await t.rejects(engine.enqueue(newJob()), { name: 'OperationQueueFullError', isShare: false })
    const worker = fakeWorker()
    await started(t, newEngine(), worker)
    await until(() => isDone(engine.enqueue(newJob())), 'there is room again')
    await until(() => worker.ran.length === 4, 'all run')
  })

  await t.test('a paused engine begins no run, and `work` goes on', shared, async (t) => {
    const end = gate()
    const worker = fakeWorker(() => end.passed)
    const newEngine = newQueue()
    const engine = await started(t, newEngine(), worker)
    const [first, second] = [newJob(), newJob()]
    await engine.enqueue(first)
    await ranOne(worker)
    await engine.pause()
    await engine.enqueue(second)
    const other = fakeWorker()
    const others = await started(t, newEngine(), other)
    await ranOne(other)
    await others.close()
    end.open()
    const third = newJob()
    await engine.enqueue(third)
    await engine.work()
    await until(() => worker.ran.length === 2, 'the third runs')
    t.strictSame([worker.ran, other.ran], [[first.id, third.id], [second.id]])
  })

  await t.test('close waits for the runs, and leaves what waits to others', shared, async (t) => {
    const newEngine = newQueue()
    const end = gate()
    const closing = fakeWorker(() => end.passed)
    const engine = await started(t, newEngine(single), closing)
    const [running, waiting] = [newJob(), newJob()]
    for (const job of [running, waiting]) await engine.enqueue(job)
    await ranOne(closing)
    const closed = engine.close()
    await t.rejects(engine.enqueue(newJob()), { name: 'Error', message: 'the engine is closed' })
    const other = fakeWorker()
    await started(t, newEngine(), other)
    await ranOne(other)
    t.equal(await Promise.race([closed, 'it waits for the run']), 'it waits for the run')
    end.open()
    await closed
    t.strictSame([closing.ran, other.ran], [[running.id], [waiting.id]])
    t.strictSame(closing.log, [])
  })

  await t.test('an operation that arrives during a close runs in another process', shared, async (t) => {
    const newEngine = newQueue()
    const web = await started(t, newEngine({ work: false }), fakeWorker())
    const jobs = newJobs(10)
    const ran: string[] = []
    for (const job of jobs) {
      const closing = fakeWorker()
      const engine = await started(t, newEngine(), closing)
      await web.enqueue(job)
      await engine.close()
      ran.push(...closing.ran)
    }
    const worker = fakeWorker()
    await started(t, newEngine(), worker)
    await until(() => ran.length + worker.ran.length >= jobs.length, 'all run')
    t.strictSame([...ran, ...worker.ran].toSorted(), jobs.map(({ id }) => id).toSorted())
  })

  await t.test('close waits for a run whose job came twice', async (t) => {
    const end = gate()
    const worker = fakeWorker((_, count) => (count === 1 ? end.passed : busy(60_000)))
    const newEngine = newQueue()
    const engine = await started(t, newEngine(), worker)
    const job = newJob()
    await engine.enqueue(job)
    await ranOne(worker)
    await comesTwice?.(job.id)
    if (comesTwice !== undefined) await until(() => worker.ran.length === 2, 'it came twice')
    const closed = engine.close()
    t.equal(await Promise.race([closed, pause(500, 'it waits')]), 'it waits')
    end.open()
    await closed
  })
}

const busy = (delay: number) => ({ kind: 'later', delay }) as const
