/** The sweeper: operations without a job, dead runs, names of other releases, and expired records. */
import t from 'tap'
import type { WorkContext } from '../../../src/plugins/operations/define.js'
import {
  type OperationEngine,
  type OperationJob,
  OperationQueueFullError,
} from '../../../src/plugins/operations/engines/engine.js'
import { inProcessEngine } from '../../../src/plugins/operations/engines/in-process.js'
import type { FaultLog } from '../../../src/plugins/operations/events.js'
import type { OperationEnd } from '../../../src/plugins/operations/record.js'
import { storeClock } from '../../../src/plugins/operations/registry.js'
import { memoryOperationStore } from '../../../src/plugins/operations/stores/memory.js'
import { manualClock } from '../../support/manual-clock.js'
import { failed, lease, newOperation, retention, start, stored, succeeded, sure } from './samples.js'
import { testProcess } from './test-process.js'
import { unruly } from './unruly-store.js'

const limits = () => ({ maxRuns: 3, timeout: 3_600_000 })

/** An engine that runs nothing, and keeps the jobs that it gets. */
function idleEngine(over: Partial<OperationEngine> = {}) {
  const engine = {
    ...inProcessEngine(),
    isShared: true,
    jobs: [] as OperationJob[],
    room: Number.POSITIVE_INFINITY,
    async enqueue(job: OperationJob) {
      if (engine.jobs.length >= engine.room) throw new OperationQueueFullError('full')
      engine.jobs.push(job)
    },
    ...over,
  }
  return engine
}

function setUp(engine = idleEngine()) {
  const clock = manualClock(start)
  const store = unruly(memoryOperationStore())
  const process = testProcess({ store, clock, engine, works: { work: {} } })
  return {
    ...process,
    clock,
    store,
    engine,
    create: (operation = {}) => stored(process.registry, newOperation(operation)),
    find: async (id: string) => sure(await process.registry.find(id)),
    queued: () => engine.jobs.map(({ id }) => id),
  }
}

t.test('an operation that the engine lost is added again, once in each lease', async (t) => {
  const { clock, create, sweeper, engine } = setUp()
  sweeper.start()
  sweeper.start()
  await clock.advance(0)
  const { id } = await create({ owner: 'ann', priority: 7 })
  const sweeps: number[] = []
  for (let half = 1; half <= 8; half += 1) {
    const before = engine.jobs.length
    await clock.advance(lease / 2)
    if (engine.jobs.length > before) sweeps.push(half)
  }
  t.strictSame(sweeps, [2, 4, 6, 8])
  t.match(engine.jobs[0], { id, name: 'work', owner: 'ann', priority: 7, delay: 0 })
  await sweeper.stop()
  t.equal(clock.waiting(), 0)
})

t.test('a dead run is found within half a lease; live and delayed ones are left alone', async (t) => {
  const { clock, create, registry, sweeper, queued, engine } = setUp()
  sweeper.start()
  const { id } = await create()
  const delayed = await create({ delay: 10 * lease })
  await clock.advance(7_000)
  await registry.claim(id, limits)
  await clock.advance(lease - 1)
  t.strictSame(queued(), [])
  await clock.advance(lease / 2)
  t.strictSame(queued(), [id])
  await clock.advance(9 * lease)
  t.notOk(queued().includes(delayed.id))
  await clock.advance(2 * lease)
  t.match(engine.jobs.at(-1), { delay: 0 })
  t.ok(queued().includes(delayed.id))
  await sweeper.stop()
})

t.test('an engine that takes over gets the jobs of live runs too, and ignores them', async (t) => {
  const engine = idleEngine({ takesOver: true })
  const { clock, create, registry, sweep, queued } = setUp(engine)
  const { id } = await create()
  await registry.claim(id, limits)
  clock.skip(10 * lease - 1)
  await sweep()
  t.strictSame(queued(), [])
  clock.skip(1)
  await sweep()
  t.strictSame(queued(), [id])
})

t.test('an operation of a name that only another release knows waits for it, but not for ever', async (t) => {
  const { clock, create, registry, sweep, queued, find, faults } = setUp()
  const names = { name: 'of another release' }
  const foreign: string[] = []
  for (let count = 0; count < 250; count += 1) foreign.push((await create(names)).id)
  const delayed = await create({ ...names, delay: 3_600_000 })
  const ran = await create(names)
  await registry.claim(ran.id, limits)
  const own = await create()
  clock.skip(lease)
  await sweep()
  t.strictSame(queued(), [own.id])
  clock.skip(1_000)
  t.equal((await registry.takeDue(1_000)).length, 251, 'other processes find them a second later')

  clock.skip(3_600_000)
  await registry.release(ran.id, 1)
  await sweep()
  t.match(await find(sure(foreign[0])), { status: 'Failed', error: { code: 'operation-interrupted' } })
  t.match(await find(sure(foreign[249])), { status: 'Failed' })
  t.match(await find(ran.id), { status: 'In progress' }, 'its hour begins when its run ends')
  clock.skip(lease)
  await sweep()
  t.match(await find(delayed.id), { status: 'In progress' }, 'or when its delay ends')
  clock.skip(3_600_000)
  await sweep()
  t.match(await find(delayed.id), { status: 'Failed' })
  t.strictSame(faults, [])
})

t.test('a full queue ends the sweep; the rest is added later, and expired records are deleted', async (t) => {
  const engine = idleEngine()
  const { clock, create, registry, sweep, queued, faults } = setUp(engine)
  const ended = await create()
  await registry.finish(ended.id, null, failed)
  clock.skip(2 * retention)
  for (let count = 0; count < 2_150; count += 1) await create()
  clock.skip(lease)
  engine.room = 2
  await sweep()
  t.equal(queued().length, 2)
  t.equal(await registry.ask((store) => store.expire(clock.now(), 1)), 0, 'nothing is left to delete')
  t.strictSame(faults, [], 'a full queue is not a fault')
  engine.room = 10_000
  clock.skip(lease)
  await sweep()
  t.equal(queued().length, 2_002, 'one sweep adds two thousand, and leaves the rest to the next')
})

t.test('a store that fails or hangs is asked again at the next sweep', async (t) => {
  for (const mood of ['fails', 'hangs'] as const) {
    const { clock, queued, store, create, sweeper, faults } = setUp()
    const { id } = await create()
    sweeper.start()
    store.mood = mood
    await clock.advance(3 * lease)
    t.ok((store.calls.takeDue ?? 0) <= 7, `${store.calls.takeDue} reads`)
    store.mood = 'well'
    await clock.advance(lease)
    t.strictSame(queued(), [id])
    t.equal(faults.at(-1), 'recovered')
    await sweeper.stop()
    t.equal(clock.waiting(), 0)
  }
})

t.test('a store whose clock hangs neither ends the sweeps nor blocks a close', async (t) => {
  const { clock, newSweeper, create, queued } = setUp()
  const { id } = await create()
  clock.skip(lease)
  const faults: string[] = []
  const hanging = { time: () => (faults.length === 0 ? new Promise<number>(() => {}) : Promise.resolve(0)) }
  const sweeper = newSweeper({
    clock: storeClock(hanging, undefined),
    faults: { failed: (what: string) => faults.push(what), recovered: () => {} } as unknown as FaultLog,
  })
  sweeper.start()
  await clock.advance(lease / 2)
  t.equal(faults.length, 1)
  await clock.advance(lease / 2)
  t.strictSame(queued(), [id])
  await sweeper.stop()
})

t.test('final operations are never due, and are deleted after twice the retention', async (t) => {
  const { clock, create, registry, sweep, queued, store } = setUp()
  const { id: first } = await create()
  await registry.finish(first, null, failed)
  for (let count = 0; count < 249; count += 1) await registry.finish((await create()).id, null, failed)
  clock.skip(2 * retention - 1)
  await sweep()
  t.strictSame(queued(), [])
  t.not(await store.get(first), null)
  clock.skip(1)
  await sweep()
  t.equal(await registry.ask((store) => store.expire(clock.now(), 1_000)), 0)
  t.equal(await store.get(first), null)
})

t.test('a sweep ends at the next record when the process closes', async (t) => {
  const { clock, engine, create, sweeper, queued } = setUp()
  for (let count = 0; count < 50; count += 1) await create()
  clock.skip(lease)
  const { enqueue } = engine
  let stopped: Promise<void> | null = null
  engine.enqueue = async (job) => {
    if (engine.jobs.length === 10) stopped ??= sweeper.stop()
    return enqueue(job)
  }
  sweeper.start()
  await clock.advance(0)
  await stopped
  t.equal(queued().length, 11)
  t.equal(clock.waiting(), 0)
})

t.test('a record that cannot be changed or added blocks neither the others nor the expiry', async (t) => {
  const { clock, store, engine, create, registry, sweep, queued, faults } = setUp()
  const over = await create()
  await registry.finish(over.id, null, failed)
  clock.skip(2 * retention - 3_600_000)
  const [foreign, unwanted] = [await create({ name: 'of another release' }), await create()]
  clock.skip(3_600_000)
  const others = [await create(), await create()].map(({ id }) => id)
  clock.skip(lease)
  const { replace } = store
  store.replace = async (previous, next) => {
    if (next.id === foreign.id) throw new Error('too large for a row')
    return replace(previous, next)
  }
  const { enqueue } = engine
  engine.enqueue = async (job) => {
    if (job.id === unwanted.id) throw new Error('an invalid job')
    return enqueue(job)
  }
  await sweep()
  t.strictSame(queued().sort(), others.sort())
  t.strictSame(faults, ['operations that are due cannot be checked'])
  await sweep()
  const left = await registry.ask((store) => store.expire(clock.now(), 1))
  t.equal(left, 0, 'expired records are deleted at the next sweep')
})

t.test('200 operations end once each while the stores fail by turns', async (t) => {
  const clock = manualClock(start)
  const memory = memoryOperationStore()
  const stores = [unruly(memory), unruly(memory), unruly(memory)]
  const slowly = ({ signal }: WorkContext) =>
    new Promise<OperationEnd>((resolve, reject) => {
      clock.schedule(() => resolve(succeeded), 3_000)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  const processes = stores.map((store) =>
    testProcess({
      store,
      clock,
      works: { work: { maxRuns: 100, run: slowly } },
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
