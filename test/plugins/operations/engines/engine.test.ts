/** What the engines on BullMQ and on pg-boss have in common, over a queue in memory. */
import t from 'tap'
import {
  queueLimit,
  runJob,
  type SharedQueue,
  serverOf,
  sharedEngine,
} from '../../../../src/plugins/operations/engines/engine.js'
import { fakeWorker, newJob, succeeded } from './fake-worker.js'

/** A queue that notes what it is told; the promise of `close` is the same each time. */
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
    await engine.pause()
    await engine.start(fakeWorker())
    await engine.work()
    await engine.enqueue(newJob({ id: 'a' }))
    await engine.pause()
    await Promise.all([engine.close(), engine.close()])
    await engine.work()
    await t.rejects(engine.enqueue(newJob()), { message: 'the engine is closed' })
    t.strictSame(calls, ['open', ...(works ? ['work'] : []), 'a', 'pause', 'close'])
  }
})

t.test('a start that fails closes the queue; an engine that was not started can be closed', async (t) => {
  const open = async () => Promise.reject(new Error('no server'))
  const { calls, queue } = fakeQueue({ open })
  await t.rejects(sharedEngine(true, false, () => queue).start(fakeWorker()), { message: 'no server' })
  t.strictSame(calls, ['close'])
  await t.resolves(sharedEngine(true, false, () => queue).close())
})

t.test(
  'a run that cannot be brought to its end comes later, and its slot rests until the close',
  async (t) => {
    const closing = AbortSignal.abort()
    const worker = fakeWorker((id) => {
      if (id === 'broken') throw new Error('no answer')
      return id === 'soon' ? { kind: 'later', delay: 7 } : succeeded
    })
    t.strictSame(await runJob(worker, 'broken', false, closing), { kind: 'later', delay: 5_000 })
    t.strictSame(worker.log, ['an operation could not be run'])
    t.equal(await runJob(worker, 'well', true, closing), succeeded)
    t.strictSame(worker.log, ['an operation could not be run', 'recovered'])
    t.strictSame(await runJob(worker, 'soon', true, closing), { kind: 'later', delay: 100 })
    t.strictSame(worker.lasts, [false, true, true])
  },
)

t.test('a queue is full by its last count, of once a second, and what was added since', async (t) => {
  let [time, counts, isDown] = [0, 0, false]
  t.intercept(performance, 'now', { value: () => time })
  const add = queueLimit(3, async () => {
    counts += 1
    if (isDown) throw new Error('no answer')
    return 1
  })
  const full = { name: 'OperationQueueFullError', isShare: false, message: '3 operations wait already' }
  for (const second of [0, 1_001, 2_002]) {
    time = second
    for (let added = 0; added < 2; added += 1) await add()
    time = second + 1_000
    await t.rejects(add(), full)
  }
  t.equal(counts, 3)
  isDown = true
  time = 4_000
  for (let attempt = 0; attempt < 2; attempt += 1) await t.rejects(add(), { message: 'no answer' })
  t.equal(counts, 5, 'a count that failed is done again')
})

t.test('a server is a URL, or what leads to it; an error shows no password', async (t) => {
  const check = serverOf<{ host: string }>(/^redis:/, 'a redis: URL', ({ host }) => typeof host === 'string')
  for (const given of ['redis://a', { host: 'a' }]) t.equal(check('redis', given), given)
  for (const [other, shown] of [
    ['http://user:secret@a', /a redis: URL, received 'http:\/\/…@a'$/],
    [{}, /a redis: URL, received/],
    [7, /received 7$/],
  ] as const)
    t.throws(() => check('redis', other), { message: shown })
})
