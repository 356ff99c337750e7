/** What looks after operations whose run went silent, and after those that have had their time. */
import t from 'tap'
import type { OperationEngine } from '../../../src/plugins/operations/engines/engine.js'
import { OperationQueueFullError } from '../../../src/plugins/operations/engines/engine.js'
import { memoryOperationStore } from '../../../src/plugins/operations/stores/memory.js'
import { manualClock } from '../../support/manual-clock.js'
import { failed, lease, retention, start, sure } from './samples.js'
import { testProcess } from './test-process.js'
import { unruly } from './unruly-store.js'

/** An engine that runs nothing, and tells what it was given. */
function idleEngine(
  room = Number.POSITIVE_INFINITY,
): OperationEngine & { readonly taken: string[]; fault: Error | null } {
  const taken: string[] = []
  const engine = {
    isShared: true,
    taken,
    fault: null as Error | null,
    start: async () => {},
    async enqueue(id: string) {
      if (engine.fault !== null) throw engine.fault
      if (taken.length >= room) throw new OperationQueueFullError('full')
      taken.push(id)
    },
    close: async () => {},
  }
  return engine
}

function setUp(engine = idleEngine()) {
  const clock = manualClock(start)
  const store = unruly(memoryOperationStore())
  const process = testProcess({ store, clock, engine, works: { work: {}, once: { maxRuns: 1 } } })
  const create = async (over = {}) =>
    process.registry.create(
      process.registry.draft({ name: 'work', owner: null, input: null, cancellable: true, ...over }),
    )
  const statusOf = async (id: string) => sure(await process.registry.find(id))
  return { ...process, clock, store, engine, create, statusOf }
}

t.test('what the engine lost comes into it again, once, and then after longer and longer', async (t) => {
  const { clock, engine, create, sweeper } = setUp()
  sweeper.start()
  await clock.advance(0)
  await create()
  const after: number[] = []
  for (let half = 1; half <= 60; half += 1) {
    const before = engine.taken.length
    await clock.advance(lease / 2)
    if (engine.taken.length > before) after.push(half / 2)
  }
  t.strictSame(after, [1, 2, 4, 8, 16, 26])
})

t.test('a run that went silent is followed by another within half a lease of its end', async (t) => {
  const { clock, engine, create, registry, sweeper } = setUp()
  sweeper.start()
  const { id } = await create()
  await clock.advance(7_000)
  await registry.claim(id, () => 3)
  await clock.advance(lease - 1)
  t.strictSame(engine.taken, [])
  await clock.advance(lease / 2)
  t.strictSame(engine.taken, [id])
})

t.test('what runs, and what is not due, is left alone', async (t) => {
  const { clock, engine, create, registry, sweep } = setUp()
  const { id } = await create()
  await registry.claim(id, () => 3)
  clock.skip(lease - 1)
  await create()
  await sweep()
  t.strictSame(engine.taken, [])
})

t.test('what was run too often has failed; so has what its last process was to cancel', async (t) => {
  const { clock, engine, create, registry, sweep, statusOf, ended } = setUp()
  const spent = await create({ name: 'once' })
  const cancelled = await create()
  for (const { id } of [spent, cancelled]) await registry.claim(id, () => 1)
  await registry.cancel(cancelled.id)
  clock.skip(lease)
  await sweep()
  t.match(await statusOf(spent.id), { status: 'Failed', error: { code: 'operation-interrupted' } })
  t.match(await statusOf(cancelled.id), { status: 'Failed', error: { code: 'operation-cancelled' } })
  t.strictSame(engine.taken, [])
  t.equal(ended.length, 2, 'whoever waits for them is told')
})

t.test(
  'work of a name that only another release knows is left to it, without a loop, but not for ever',
  async (t) => {
    const { clock, engine, store, create, sweep, statusOf, troubles } = setUp()
    const foreign: string[] = []
    for (let count = 0; count < 250; count += 1)
      foreign.push((await create({ name: 'of another release' })).id)
    clock.skip(lease)
    const own = await create()
    clock.skip(lease)
    await sweep()
    t.strictSame(engine.taken, [own.id], 'what comes behind it is looked after')
    t.ok((store.calls.due ?? 0) <= 5, `${store.calls.due} looks`)
    t.equal((await statusOf(sure(foreign[0]))).version, 1, 'it is not touched')

    clock.skip(10 * lease)
    await sweep()
    t.match(await statusOf(sure(foreign[0])), { status: 'Failed', error: { code: 'operation-interrupted' } })
    t.match(await statusOf(sure(foreign[249])), { status: 'Failed' })
    t.strictSame(
      troubles.filter((trouble) => trouble !== 'recovered'),
      [],
    )
  },
)

t.test('what another release ran for long is left to it when it goes silent', async (t) => {
  const { clock, create, registry, sweep, statusOf } = setUp()
  const { id } = await create({ name: 'of another release' })
  const claim = await registry.claim(id, () => 3)
  if (claim.kind !== 'claimed') throw new Error(claim.kind)
  let { record } = claim
  for (let time = 0; time < 100; time += 1) {
    clock.skip(lease - 1)
    record = sure(await registry.renew(record, null))
  }
  clock.skip(2 * lease)
  await sweep()
  t.match(await statusOf(id), { status: 'In progress' })
})

t.test('a full queue: what finds no room stays due, and the rest is looked after', async (t) => {
  const { clock, engine, create, registry, sweep, statusOf, troubles } = setUp(idleEngine(2))
  const over = await create()
  await registry.finish(over.id, null, failed)
  clock.skip(retention)
  const waiting: string[] = []
  for (let count = 0; count < 5; count += 1) waiting.push((await create()).id)
  const spent = await create({ name: 'once' })
  await registry.claim(spent.id, () => 1)
  clock.skip(retention)
  await sweep()
  t.equal(engine.taken.length, 2)
  t.match(await statusOf(spent.id), { status: 'Failed' })
  t.equal(await registry.find(over.id), null)
  t.equal((await registry.due(10)).length, 3, 'due at once, and not only after a while')
  t.strictSame(troubles, ['recovered'], 'a full queue is no trouble')
  engine.taken.length = 0
  await sweep()
  t.equal(engine.taken.length, 2)
})

t.test('while the engine cannot be reached, what is due stays due', async (t) => {
  const { clock, engine, create, registry, sweep, troubles } = setUp()
  const { id } = await create()
  clock.skip(100 * lease)
  engine.fault = new Error('ECONNREFUSED')
  await sweep()
  t.strictSame(troubles, ['operations that are due cannot be checked'])
  t.equal((await registry.due(10)).length, 1)
  engine.fault = null
  await sweep()
  t.strictSame(engine.taken, [id])
  t.equal(troubles.at(-1), 'recovered')
})

t.test('a store that fails or hangs is asked again at the next sweep', async (t) => {
  for (const mood of ['fails', 'hangs'] as const) {
    const { clock, engine, store, create, sweeper, troubles } = setUp()
    const { id } = await create()
    sweeper.start()
    store.mood = mood
    await clock.advance(3 * lease)
    t.ok((store.calls.due ?? 0) <= 7, `${store.calls.due} looks`)
    store.mood = 'well'
    await clock.advance(lease)
    t.strictSame(engine.taken, [id])
    t.equal(troubles.at(-1), 'recovered')
    await sweeper.stop()
    t.equal(clock.waiting(), 0)
  }
})

t.test('thousands that are due are looked after in one sweep', async (t) => {
  const { clock, engine, create, registry, sweep } = setUp()
  for (let count = 0; count < 2_345; count += 1) await create()
  clock.skip(lease)
  await sweep()
  t.equal(engine.taken.length, 2_345)
  t.strictSame(await registry.due(10), [])
})

t.test('final operations are never due, and go when they have had their time', async (t) => {
  const { clock, create, registry, sweep, store } = setUp()
  for (let count = 0; count < 250; count += 1) await registry.finish((await create()).id, null, failed)
  clock.skip(2 * retention - 1)
  t.strictSame(await registry.due(1_000), [])
  await sweep()
  t.equal(store.calls.expire, 1)
  clock.skip(1)
  await sweep()
  t.equal(await registry.expire(1_000), 0, 'they are gone')
})

t.test('a sweep that is under way ends at the next record when the process closes', async (t) => {
  const { clock, engine, create, sweeper } = setUp()
  for (let count = 0; count < 500; count += 1) await create()
  clock.skip(lease)
  const enqueue = engine.enqueue.bind(engine)
  let stopped: Promise<void> | null = null
  engine.enqueue = async (id) => {
    if (engine.taken.length === 10) stopped ??= sweeper.stop()
    return enqueue(id)
  }
  sweeper.start()
  await clock.advance(0)
  await stopped
  t.equal(engine.taken.length, 11)
  t.equal(clock.waiting(), 0)
})

t.test('a record that cannot be changed is in the way of no other, and of no expiry', async (t) => {
  const { clock, engine, store, create, registry, sweep, troubles } = setUp()
  const over = await create()
  await registry.finish(over.id, null, failed)
  const spent = await create({ name: 'once' })
  await registry.claim(spent.id, () => 1)
  clock.skip(2 * retention)
  const others: string[] = []
  for (let count = 0; count < 3; count += 1) others.push((await create()).id)
  clock.skip(lease)
  const replace = store.replace.bind(store)
  store.replace = async (record) => {
    if (record.id === spent.id) throw new Error('too large for a row')
    return replace(record)
  }
  await sweep()
  t.strictSame([...engine.taken].sort(), others.sort())
  t.equal(await registry.expire(1), 0)
  t.strictSame(troubles, ['operations that are due cannot be checked'])
})

t.test('where nothing can be changed, a sweep does not try with all', async (t) => {
  const { clock, store, create, sweep } = setUp()
  for (let count = 0; count < 500; count += 1) await create({ name: 'once' })
  clock.skip(lease)
  store.moods.replace = 'fails'
  await sweep()
  t.ok((store.calls.replace ?? 0) <= 20, `${store.calls.replace} times`)
})
