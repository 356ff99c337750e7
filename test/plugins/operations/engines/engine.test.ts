/** What the engines on BullMQ and on pg-boss have in common, over a queue in memory; the options of all engines. */
import t from 'tap'
import { bullmqEngine } from '../../../../src/plugins/operations/engines/bullmq.js'
import {
  queueLimit,
  runJob,
  type SharedQueue,
  sharedEngine,
} from '../../../../src/plugins/operations/engines/engine.js'
import { inProcessEngine } from '../../../../src/plugins/operations/engines/in-process.js'
import { pgBossEngine } from '../../../../src/plugins/operations/engines/pg-boss.js'
import { fakeWorker, newJob, succeeded } from './fake-worker.js'

/** A queue that notes what it is told. */
function fakeQueue(over: Partial<SharedQueue> = {}) {
  const calls: string[] = []
  const note = (call: string) => async () => void calls.push(call)
  const work = () => void calls.push('work')
  const queue = { open: note('open'), work, pause: note('pause'), close: note('close'), ...over }
  return { calls, queue: { add: async ({ id }: { id: string }) => void calls.push(id), ...queue } }
}

t.test('an engine adds jobs from its start to its close, and works if its process does', async (t) => {
  for (const works of [true, false]) {
    const { calls, queue } = fakeQueue()
    const engine = sharedEngine(works, true, () => queue)
    t.match(engine, { isShared: true, takesOver: true })
    await t.rejects(engine.enqueue(newJob()), { message: 'the engine has not been started' })
    await engine.work()
    await engine.start(fakeWorker())
    await engine.work()
    await engine.enqueue(newJob({ id: 'a' }))
    await engine.pause()
    await Promise.all([engine.close(), engine.close()])
    await engine.work()
    await t.rejects(engine.enqueue(newJob()), { message: 'the engine is closed' })
    t.strictSame(calls, ['open', ...(works ? ['work'] : []), 'a', 'pause', 'close'])
  }
  const { calls, queue } = fakeQueue({ open: async () => Promise.reject(new Error('no server')) })
  const engine = sharedEngine(true, false, () => queue)
  await t.resolves(engine.close(), 'also one that was not started')
  await t.rejects(sharedEngine(true, false, () => queue).start(fakeWorker()), { message: 'no server' })
  t.strictSame(calls, ['close'], 'a start that fails closes the queue')
})

t.test('a run without a reachable record comes later, and its slot rests until the close', async (t) => {
  const worker = fakeWorker((id) => {
    if (id === 'broken') throw new Error('no answer')
    return id === 'soon' ? { kind: 'later', delay: 7 } : succeeded
  })
  const closing = AbortSignal.abort()
  t.strictSame(await runJob(worker, 'broken', false, closing), { kind: 'later', delay: 5_000 })
  t.equal(await runJob(worker, 'well', true, closing), succeeded)
  t.strictSame(worker.log, ['an operation could not be run', 'recovered'])
  t.strictSame(await runJob(worker, 'soon', true, closing), { kind: 'later', delay: 100 })
  t.strictSame(worker.lasts, [false, true, true])
})

t.test('a queue is full by its last count, of once a second, and what was added since', async (t) => {
  let [time, counts, isDown] = [0, 0, false]
  t.intercept(performance, 'now', { value: () => time })
  const add = queueLimit(3, async () => {
    counts += 1
    if (isDown) throw new Error('no answer')
    return 1
  })
  for (const second of [0, 1_001]) {
    time = second
    for (let added = 0; added < 2; added += 1) await add()
    time = second + 1_000
    await t.rejects(add(), { name: 'OperationQueueFullError', isShare: false })
  }
  t.equal(counts, 2)
  isDown = true
  time = 4_000
  for (let attempt = 0; attempt < 2; attempt += 1) await t.rejects(add(), { message: 'no answer' })
  t.equal(counts, 4, 'a count that failed is done again')
})

t.test('invalid options are refused by their name; an error shows no password', async (t) => {
  const [redis, postgres] = ['redis://a', 'postgres://a']
  const rows: readonly (readonly [engine: (options: never) => unknown, options: unknown, message: RegExp])[] =
    [
      [inProcessEngine, { concurrency: 0 }, /inProcessEngine\.concurrency: expected an integer from 1/],
      [inProcessEngine, { maxQueued: -1 }, /inProcessEngine\.maxQueued/],
      [inProcessEngine, { schedule: 5 }, /inProcessEngine\.schedule/],
      [inProcessEngine, { maxQueue: 1 }, /inProcessEngine\.maxQueue: there is no such option/],
      [bullmqEngine, undefined, /bullmqEngine\.redis: expected a redis:/],
      [bullmqEngine, { redis: 'http://user:secret@a' }, /redis: expected a redis:.*received 'http:\/\/…@a'/],
      [bullmqEngine, { redis: 6379 }, /bullmqEngine\.redis: expected.*received 6379$/],
      [bullmqEngine, { redis, queue: 'a:b' }, /bullmqEngine\.queue: expected a name without ':'/],
      [bullmqEngine, { redis, concurrency: 0 }, /bullmqEngine\.concurrency/],
      [bullmqEngine, { redis, maxQueued: 0 }, /bullmqEngine\.maxQueued/],
      [bullmqEngine, { redis, work: 'yes' }, /bullmqEngine\.work/],
      [pgBossEngine, { postgres: 'http://user:secret@a' }, /postgres: expected.*received 'http:\/\/…@a'/],
      [pgBossEngine, { postgres: {} }, /pgBossEngine\.postgres: expected/],
      [pgBossEngine, { postgres, queue: 'a b' }, /pgBossEngine\.queue/],
      [pgBossEngine, { postgres, migrate: 'yes' }, /pgBossEngine\.migrate/],
    ]
  for (const [engine, options, message] of rows)
    t.throws(() => engine(options as never), { message }, JSON.stringify(options))
})
