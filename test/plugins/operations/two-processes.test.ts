/** Two processes on one store: one dies, is cut off, or comes too late; each operation ends once. */
import t from 'tap'
import type { OperationWork, WorkContext } from '../../../src/plugins/operations/define.js'
import { memoryOperationStore } from '../../../src/plugins/operations/stores/memory.js'
import { manualClock } from '../../support/manual-clock.js'
import { lease, newOperation, start, stored, succeeded, sure } from './samples.js'
import { heldWork, testProcess } from './test-process.js'
import { unruly } from './unruly-store.js'

/** How a run ends by itself, so much later. */
function slowWork(clock: ReturnType<typeof manualClock>, milliseconds: number, runs: string[], name: string) {
  return {
    run: ({ record, signal }: WorkContext) =>
      new Promise((resolve, reject) => {
        runs.push(`${name} ${record.run}`)
        clock.schedule(() => resolve(succeeded), milliseconds)
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  } as Partial<OperationWork>
}

function setUp(milliseconds = 5_000, over: Partial<OperationWork> = {}) {
  const clock = manualClock(start)
  const memory = memoryOperationStore()
  const runs: string[] = []
  const [oneStore, otherStore] = [unruly(memory), unruly(memory)]
  const held = heldWork(over)
  const one = testProcess({ store: oneStore, clock, works: { work: held } })
  const other = testProcess({
    store: otherStore,
    clock,
    works: { work: { ...slowWork(clock, milliseconds, runs, 'other'), ...over } },
  })
  const statusOf = async (id: string) => sure(await other.registry.find(id))
  return { clock, one, other, oneStore, otherStore, held, runs, statusOf }
}

t.test('a process is killed during a run: the other one runs the operation after the lease', async (t) => {
  const { clock, one, other, oneStore, held, runs, statusOf } = setUp()
  await one.start()
  await other.start()
  const { id } = await one.begin()
  await clock.advance(1_000)
  t.equal(held.contexts.length, 1)
  await one.sweeper.stop()
  // The process is dead: none of its calls arrives.
  oneStore.mood = 'hangs'
  await clock.advance(lease * 1.5 + 5_000)
  t.strictSame(runs, ['other 2'])
  t.match(await statusOf(id), { status: 'Succeeded', run: 2 })
  t.equal(other.ended.length, 1)
  t.equal(one.ended.length, 0)
})

t.test('an operation in the queue of a killed process is run by the other', async (t) => {
  const { clock, one, other, oneStore, runs, statusOf } = setUp()
  await other.start()
  const { id } = await one.begin()
  oneStore.mood = 'hangs'
  await clock.advance(lease * 1.5 + 5_000)
  t.strictSame(runs, ['other 1'])
  t.match(await statusOf(id), { status: 'Succeeded' })
})

t.test('a process without a store goes on; after another took over, its result does not count', async (t) => {
  const { clock, one, other, oneStore, held, runs, statusOf } = setUp(60_000)
  await one.start()
  await other.start()
  const { id } = await one.begin()
  await clock.advance(1_000)
  oneStore.mood = 'fails'
  await clock.advance(lease * 1.5)
  t.notOk(held.contexts[0]?.signal.aborted, 'the fence protects the record, so the run goes on')
  t.strictSame(runs, ['other 2'])
  oneStore.mood = 'well'
  held.end({ status: 'Succeeded', resource: '/v1/first', result: null })
  await clock.advance(10_000)
  t.match(await statusOf(id), { status: 'In progress', run: 2 })
  await clock.advance(60_000)
  t.match(await statusOf(id), { status: 'Succeeded', run: 2, resource: null })
})

t.test('a cancellation reaches a run in another process by an announcement or a heartbeat', async (t) => {
  for (const isLost of [false, true]) {
    const { clock, one, other, otherStore, runs, statusOf } = setUp(3_600_000)
    await other.start()
    const { id } = await other.begin()
    await clock.advance(0)
    t.strictSame(runs, ['other 1'])
    if (isLost) otherStore.moods.announce = 'fails'
    t.match(await one.registry.cancel(id), { status: 'In progress', isCancelling: true })
    if (!isLost) await one.registry.ask((store) => store.announce(id))
    await clock.advance(isLost ? lease / 3 : 0)
    t.match(await statusOf(id), { status: 'Failed', error: { code: 'operation-cancelled' } })
  }
})

t.test('an operation that a closing process hands back is run by another at its next sweep', async (t) => {
  const { clock, one, other, runs, statusOf } = setUp()
  await one.start()
  await other.start()
  const { id } = await one.begin()
  await clock.advance(1_000)
  await one.sweeper.stop()
  const closed = one.engine.close()
  one.runner.close()
  t.strictSame(runs, [], 'not while the handler may still stop')
  await clock.advance(10_000)
  await closed
  await clock.advance(lease / 2 + 5_000)
  t.strictSame(runs, ['other 2'])
  t.match(await statusOf(id), { status: 'Succeeded' })
})

t.test('two processes that sweep at the same time run each operation once', async (t) => {
  const { clock, one, other, held, runs } = setUp()
  for (let count = 0; count < 20; count += 1) await stored(one.registry, newOperation())
  await one.start()
  await other.start()
  await clock.advance(lease * 1.5)
  for (let count = 0; count < 20; count += 1) {
    held.end()
    await clock.advance(1_000)
  }
  t.equal(held.contexts.length + runs.length, 20, `${held.contexts.length} here, ${runs.length} there`)
  t.equal(one.ended.length + other.ended.length, 20)
})

t.test('a process that hangs for longer than its lease cannot end the operation', async (t) => {
  const { clock, one, other, held, statusOf } = setUp(60_000)
  await one.start()
  await other.start()
  const { id } = await one.begin()
  await clock.advance(1_000)
  // The event loop of the one stands still; the other takes the run.
  clock.skip(2 * lease)
  const claim = await other.registry.claim(id, () => ({ maxRuns: 3, timeout: 60_000 }))
  t.match(claim, { record: { run: 2 } })
  held.end({ status: 'Succeeded', resource: '/v1/first', result: null })
  await clock.advance(0)
  t.match(await statusOf(id), { status: 'In progress', run: 2 })
  t.match(await other.registry.finish(id, 2, succeeded), { status: 'Succeeded', resource: null })
  t.equal(one.ended.length, 0)
})

t.test('an operation fails when its third run has died, if that is its `maxRuns`', async (t) => {
  const clock = manualClock(start)
  const memory = memoryOperationStore()
  let begun = 0
  const run = () => {
    begun += 1
    return new Promise<never>(() => {})
  }
  const { registry } = testProcess({ store: unruly(memory), clock })
  const { id } = await stored(registry, newOperation())
  for (let life = 0; life < 5; life += 1) {
    const store = unruly(memory)
    const mortal = testProcess({ store, clock, works: { work: { run } } })
    await mortal.start()
    await clock.advance(lease * 2)
    await mortal.sweeper.stop()
    store.mood = 'hangs'
    await clock.advance(lease * 2)
  }
  t.equal(begun, 3)
  const error = { code: 'operation-interrupted' }
  t.match(await registry.find(id), { status: 'Failed', run: 3, error })
})

t.test('an operation whose runs die `maxRuns` times fails', async (t) => {
  const { clock, one, other, oneStore, runs, statusOf } = setUp(5_000, { maxRuns: 1 })
  await one.start()
  await other.start()
  const { id } = await one.begin()
  await clock.advance(1_000)
  oneStore.mood = 'hangs'
  await clock.advance(lease * 1.5)
  t.strictSame(runs, [])
  t.match(await statusOf(id), { status: 'Failed', error: { code: 'operation-interrupted' }, run: 1 })
})

t.test('200 operations end once each while the stores fail by turns', async (t) => {
  const clock = manualClock(start)
  const memory = memoryOperationStore()
  const stores = [unruly(memory), unruly(memory), unruly(memory)]
  const runs: string[] = []
  const processes = stores.map((store, index) =>
    testProcess({
      store,
      clock,
      works: { work: { maxRuns: 100, ...slowWork(clock, 3_000, runs, `${index}`) } },
      concurrency: 7,
    }),
  )
  for (const process of processes) await process.start()
  const ids: string[] = []
  for (let count = 0; count < 200; count += 1) ids.push((await sure(processes[count % 3]).begin()).id)
  const moods = ['fails', 'well', 'hangs', 'well', 'loses answers', 'well'] as const
  for (let turn = 0; turn < 40; turn += 1) {
    sure(stores[turn % 3]).mood = sure(moods[turn % moods.length])
    await clock.advance(4_000)
  }
  for (const store of stores) store.mood = 'well'
  await clock.advance(20 * lease)
  const found = await Promise.all(ids.map((id) => memory.get(id)))
  t.equal(found.filter((record) => record?.status === 'Succeeded').length, 200)
  const ended = processes.flatMap(({ ended }) => ended.map(({ id }) => id))
  t.equal(new Set(ended).size, ended.length, 'each end is reported once')
})
