/** The sweeper: operations without a job, dead runs, names of other releases, and expired records. */
import t, { type Test } from 'tap'
import { inProcessEngine } from '../../../src/plugins/operations/engines/in-process.js'
import { memoryOperationStore, type OperationContext } from '../../../src/plugins/operations/index.js'
import { release } from '../../../src/plugins/operations/record.js'
import { manualClock } from '../../support/manual-clock.js'
import { handEngine, openProcess, type ProcessOptions } from './process.js'
import { lease, retention, start, sure } from './samples.js'

const hour = 3_600_000

/** A process whose engine loses each job of a start, and keeps those of sweeps. */
async function sweeping(t: Test, options: ProcessOptions = {}, engine = handEngine()) {
  const process = await openProcess(t, { engine, ...options })
  const { clock, begin } = process
  return {
    ...process,
    engine,
    async begin(...given: Parameters<typeof begin>) {
      const id = await begin(...given)
      engine.jobs.length = 0
      return id
    },
    /** Lets time go by at once, and then sweeps. */
    async sweepAfter(milliseconds: number) {
      clock.skip(milliseconds)
      await clock.advance(lease / 2)
    },
    queued: () => engine.jobs.map(({ id }) => id),
  }
}

t.test('an operation that the engine lost is added again, once in each lease', async (t) => {
  const definition = { retry: { max: 2, delay: 1_500 } }
  const { clock, begin, engine } = await sweeping(t, { definition })
  const id = await begin({ owner: 'ann', priority: 7 })
  const sweeps: number[] = []
  for (let half = 1; half <= 8; half += 1) {
    const before = engine.jobs.length
    await clock.advance(lease / 2)
    if (engine.jobs.length > before) sweeps.push(half)
  }
  t.strictSame(sweeps, [2, 4, 6, 8])
  const job = { id, name: 'work', owner: 'ann', priority: 7, delay: 0, isNew: false }
  t.match(engine.jobs[0], { ...job, retries: 2, backoff: 2_000 }, 'in whole seconds')
  const usual = await sweeping(t, { lease: undefined as never })
  const lost = await usual.begin()
  await usual.clock.advance(30_000)
  t.strictSame(usual.queued(), [lost], 'by default, within thirty seconds')
})

t.test('a dead run is found within half a lease; live and delayed ones are left alone', async (t) => {
  const { clock, begin, dieWith, queued, engine } = await sweeping(t)
  const [live, id] = [await begin(), await begin()]
  void engine.run(live)
  const delayed = await begin({ delay: 10 * lease })
  await clock.advance(7_000)
  await dieWith(id)
  await clock.advance(lease - 1)
  t.strictSame(queued(), [])
  await clock.advance(lease / 2)
  t.strictSame(queued(), [id])
  await clock.advance(9 * lease)
  t.notOk(queued().includes(delayed))
  await clock.advance(2 * lease)
  t.match(engine.jobs.at(-1), { delay: 0 })
  t.ok(queued().includes(delayed))
  t.notOk(queued().includes(live))
})

t.test('an engine that takes over gets the jobs of live runs too, every ten leases', async (t) => {
  const { clock, begin, engine, queued } = await sweeping(t, {}, handEngine({ takesOver: true }))
  const id = await begin()
  void engine.run(id)
  await clock.advance(0)
  await clock.advance(10 * lease - 1)
  t.strictSame(queued(), [])
  await clock.advance(lease / 2)
  t.strictSame(queued(), [id])
})

t.test('an operation of a name that only another release knows waits for it, but not for ever', async (t) => {
  const { clock, memory, begin, record, dieWith, sweepAfter, queued, faultsOf } = await sweeping(t)
  const other = await sweeping(t, { clock, memory, name: 'of-another-release', works: false })
  const foreign: string[] = []
  for (let count = 0; count < 250; count += 1) foreign.push(await other.begin())
  const delayed = await other.begin({ delay: hour })
  const ran = await other.begin()
  await dieWith(ran)
  const own = await begin()
  await sweepAfter(lease)
  t.strictSame(queued(), [own])
  const soon = clock.now() + 1_000
  t.equal((await memory.takeDue(soon, soon, 1_000)).length, 251, 'other processes find them a second later')

  clock.skip(hour)
  const before = await record(ran)
  await memory.replace(before, sure(release(before, 1, clock.now(), clock.now())))
  await clock.advance(0)
  for (const id of [sure(foreign[0]), sure(foreign[249])])
    t.match(await record(id), { status: 'Failed', error: { code: 'operation-interrupted' } })
  t.match(await record(ran), { status: 'In progress' }, 'its hour begins when its run ends')
  await sweepAfter(lease)
  t.match(await record(delayed), { status: 'In progress' }, 'or when its delay ends')
  await sweepAfter(hour)
  t.match(await record(delayed), { status: 'Failed' })
  t.strictSame(faultsOf('sweep'), [])
})

t.test('a full queue ends the sweep; the rest is added later, and expired records are deleted', async (t) => {
  const { clock, memory, begin, endElsewhere, engine, sweepAfter, queued, faultsOf } = await sweeping(t)
  const ended: string[] = []
  for (let count = 0; count < 250; count += 1) ended.push(await begin())
  for (const id of ended) await endElsewhere(id)
  clock.skip(2 * retention)
  for (let count = 0; count < 2_150; count += 1) await begin()
  engine.room = 2
  await sweepAfter(lease)
  t.equal(queued().length, 2)
  for (const id of ended) t.equal(await memory.get(id), null)
  t.strictSame(faultsOf('sweep'), [], 'a full queue is not a fault')
  engine.room = 10_000
  clock.skip(lease)
  await clock.advance(0)
  t.equal(queued().length, 2_002, 'one sweep adds two thousand, and leaves the rest to the next')
})

t.test('a store whose clock hangs does not end the sweeps', async (t) => {
  const clock = manualClock(start)
  let asked = 0
  // The second question is that of the first sweep.
  const time = () => (++asked === 2 ? new Promise<number>(() => {}) : Promise.resolve(clock.now()))
  const memory = { ...memoryOperationStore(), time }
  const { begin, queued, faultsOf } = await sweeping(t, { clock, memory, now: undefined as never })
  const id = await begin()
  await clock.advance(lease / 2)
  t.equal(faultsOf('sweep').length, 1)
  await clock.advance(lease)
  t.strictSame(queued(), [id])
  t.match(faultsOf('sweep'), [/cannot be checked/, /the fault is over/])
})

t.test('a record that cannot be changed or added blocks neither the others nor the expiry', async (t) => {
  const { clock, memory, store, engine, begin, endElsewhere, ...process } = await sweeping(t)
  const over = await begin()
  await endElsewhere(over)
  clock.skip(2 * retention - hour)
  const other = await sweeping(t, { clock, memory, name: 'of-another-release', works: false })
  const [foreign, unwanted] = [await other.begin(), await begin()]
  clock.skip(hour)
  const others = [await begin(), await begin()]
  const { replace } = store
  store.replace = async (previous, next) => {
    if (next.id === foreign) throw new Error('too large for a row')
    return replace(previous, next)
  }
  const { enqueue } = engine
  engine.enqueue = async (job) => {
    if (job.id === unwanted) throw new Error('an invalid job')
    return enqueue(job)
  }
  await process.sweepAfter(lease)
  t.strictSame(process.queued().sort(), others.sort())
  t.match(process.faultsOf('sweep'), [/operations that are due cannot be checked/])
  await clock.advance(lease / 2)
  t.equal(await memory.get(over), null, 'expired records are deleted at the next sweep')
})

t.test('200 operations end once each while the stores fail by turns', async (t) => {
  const clock = manualClock(start)
  const memory = memoryOperationStore()
  const work = ({ signal }: OperationContext) =>
    new Promise<void>((resolve, reject) => {
      clock.schedule(resolve, 3_000)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  const open = () => {
    const engine = inProcessEngine({ concurrency: 7, schedule: clock.schedule })
    return openProcess(t, { clock, memory, work, engine, definition: { maxRuns: 100 } })
  }
  const processes = [await open(), await open(), await open()]
  const ids: string[] = []
  for (let count = 0; count < 200; count += 1) ids.push(await sure(processes[count % 3]).begin())
  const moods = ['fails', 'well', 'hangs', 'well', 'loses answers', 'well'] as const
  for (let turn = 0; turn < 40; turn += 1) {
    sure(processes[turn % 3]).store.mood = sure(moods[turn % moods.length])
    await clock.advance(4_000)
  }
  for (const { store } of processes) store.mood = 'well'
  await clock.advance(20 * lease)
  for (const id of ids) t.match(await memory.get(id), { status: 'Succeeded' })
  const ended = processes.flatMap(({ lines }) => lines.filter(({ event }) => event === 'end'))
  t.strictSame(ended.map(({ operationId }) => operationId).sort(), ids.sort(), 'each end is reported once')
})
