/** Two processes on one store: one dies, is cut off, or comes too late; each operation ends once. */
import t from 'tap'
import type { OperationWork, WorkContext } from '../../../src/plugins/operations/definitions.js'
import { memoryOperationStore } from '../../../src/plugins/operations/stores/memory.js'
import { manualClock } from '../../support/manual-clock.js'
import { lease, start, succeeded, sure } from './samples.js'
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

t.test('one is killed in mid-run: the other takes it up after its lease, and it ends once', async (t) => {
  const { clock, one, other, oneStore, held, runs, statusOf } = setUp()
  await one.start()
  await other.start()
  const { id } = await one.begin()
  await clock.advance(1_000)
  t.equal(held.contexts.length, 1)
  await one.sweeper.stop()
  // It is gone: none of its calls arrives any more.
  oneStore.mood = 'hangs'
  await clock.advance(lease * 1.5 + 5_000)
  t.strictSame(runs, ['other 2'])
  t.match(await statusOf(id), { status: 'Succeeded', run: 2 })
  t.equal(other.ended.length, 1)
  t.equal(one.ended.length, 0)
})

t.test('work that must not be done twice has failed then, and is not run again', async (t) => {
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

t.test('what waited in the queue of the one that was killed is run by the other', async (t) => {
  const { clock, one, other, oneStore, runs, statusOf } = setUp()
  await other.start()
  const { id } = await one.begin()
  oneStore.mood = 'hangs'
  await clock.advance(lease * 1.5 + 5_000)
  t.strictSame(runs, ['other 1'])
  t.match(await statusOf(id), { status: 'Succeeded' })
})

t.test('one is cut off and comes back: it gives up, and what it says does not count', async (t) => {
  const { clock, one, other, oneStore, held, runs, statusOf } = setUp(60_000)
  await one.start()
  await other.start()
  const { id } = await one.begin()
  await clock.advance(1_000)
  oneStore.mood = 'fails'
  await clock.advance(lease * 1.5)
  t.ok(held.contexts[0]?.signal.aborted, 'it was told to stop before another could be through')
  t.strictSame(runs, ['other 2'])
  oneStore.mood = 'well'
  held.end({ status: 'Succeeded', resource: '/of/the/first', result: null })
  await clock.advance(10_000)
  t.match(await statusOf(id), { status: 'In progress', run: 2 })
  await clock.advance(60_000)
  t.match(await statusOf(id), { status: 'Succeeded', run: 2, resource: null })
})

t.test('one hangs for longer than its lease with its end in its hands: the other decides', async (t) => {
  const { clock, one, other, held, statusOf } = setUp(60_000)
  await one.start()
  await other.start()
  const { id } = await one.begin()
  await clock.advance(1_000)
  // The event loop of the one stands still; the other takes the run.
  clock.skip(2 * lease)
  t.match(await other.registry.claim(id, () => 3), { kind: 'claimed', record: { run: 2 } })
  held.end({ status: 'Succeeded', resource: '/of/the/first', result: null })
  await clock.advance(0)
  t.match(await statusOf(id), { status: 'In progress', run: 2 })
  t.match(await other.registry.finish(id, 2, succeeded), { status: 'Succeeded', resource: null })
  t.equal(one.ended.length, 0)
})

t.test(
  'a cancellation asked of one reaches the run in the other: by message, else by sign of life',
  async (t) => {
    for (const isLost of [false, true]) {
      const { clock, one, other, otherStore, runs, statusOf } = setUp(3_600_000)
      await other.start()
      const { id } = await other.begin()
      await clock.advance(0)
      t.strictSame(runs, ['other 1'])
      if (isLost) otherStore.moods.announceCancel = 'fails'
      t.match(await one.registry.cancel(id), { status: 'In progress', isCancelling: true })
      if (!isLost) await one.registry.announceCancel(id)
      await clock.advance(isLost ? lease / 3 : 0)
      t.match(await statusOf(id), { status: 'Failed', error: { code: 'operation-cancelled' } })
    }
  },
)

t.test('one closes: the other goes on at its next sweep', async (t) => {
  const { clock, one, other, runs, statusOf } = setUp()
  await one.start()
  await other.start()
  const { id } = await one.begin()
  await clock.advance(1_000)
  await one.sweeper.stop()
  const closed = one.engine.close()
  one.runner.close()
  await closed
  await clock.advance(lease / 2 + 5_000)
  t.strictSame(runs, ['other 2'])
  t.match(await statusOf(id), { status: 'Succeeded' })
})

t.test('both sweep at the same time: one of them runs it', async (t) => {
  const { clock, one, other, held, runs } = setUp()
  for (let count = 0; count < 20; count += 1) {
    await one.registry.create(
      one.registry.draft({ name: 'work', owner: null, input: null, cancellable: true }),
    )
  }
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

t.test('a process that dies over and over: so many runs, then the operation has failed', async (t) => {
  const clock = manualClock(start)
  const memory = memoryOperationStore()
  let begun = 0
  const works = {
    work: {
      run: () => {
        begun += 1
        return new Promise<never>(() => {})
      },
    },
  }
  const last = testProcess({
    store: unruly(memory),
    clock,
    engine: { isShared: false, start: async () => {}, enqueue: async () => {}, close: async () => {} },
    works,
  })
  const { id } = await last.registry.create(
    last.registry.draft({ name: 'work', owner: null, input: null, cancellable: true }),
  )
  for (let life = 0; life < 5; life += 1) {
    const store = unruly(memory)
    const mortal = testProcess({ store, clock, works })
    await mortal.start()
    await clock.advance(lease * 2)
    await mortal.sweeper.stop()
    store.mood = 'hangs'
    await clock.advance(lease * 2)
  }
  t.equal(begun, 3)
  t.match(await last.registry.find(id), {
    status: 'Failed',
    run: 3,
    error: { code: 'operation-interrupted' },
  })
})

t.test(
  '200 operations, stores that come and go: each ends once, none is lost, none stays in progress',
  async (t) => {
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
    const told = processes.flatMap(({ ended }) => ended.map(({ id }) => id))
    t.equal(new Set(told).size, told.length, 'no end is told of twice')
  },
)
