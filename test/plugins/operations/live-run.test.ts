/** A run under way: signs of life, progress, and how it learns that it has to end. */
import t from 'tap'
import { LiveRun } from '../../../src/plugins/operations/live-run.js'
import { OperationRegistry } from '../../../src/plugins/operations/registry.js'
import { memoryOperationStore } from '../../../src/plugins/operations/stores/memory.js'
import { manualClock } from '../../support/manual-clock.js'
import { failed, lease, retention, start, sure } from './samples.js'
import { unruly } from './unruly-store.js'

async function setUp(timeout = 3_600_000) {
  const clock = manualClock(start)
  const store = unruly(memoryOperationStore())
  const { now, schedule } = clock
  const registry = new OperationRegistry({ store, lease, retention, storeTimeout: 5_000, now, schedule })
  const { id } = await registry.create(
    registry.draft({ name: 'work', owner: null, input: null, cancellable: true }),
  )
  const claim = await registry.claim(id, () => 3)
  if (claim.kind !== 'claimed') throw new Error(claim.kind)
  const silences: unknown[] = []
  const stops: string[] = []
  const run = new LiveRun(claim.record, {
    registry,
    lease,
    timeout,
    now,
    schedule,
    onSilence: (error) => silences.push(error),
    onSign: () => {},
  })
  void run.stopped.then((reason) => stops.push(reason))
  const record = async () => sure(await registry.find(id))
  const writes = () => store.calls.replace ?? 0
  return { clock, store, registry, id, run, silences, stops, record, writes }
}

t.test('three signs of life in a lease, for as long as it goes on', async (t) => {
  const { clock, run, record, writes, stops } = await setUp(100 * lease)
  const before = writes()
  await clock.advance(lease * 10)
  t.equal(writes() - before, 30)
  t.equal((await record()).runUntil, clock.now() + lease)
  t.strictSame(stops, [])
  await run.end()
  t.equal(clock.waiting(), 0, 'and nothing is left of it')
})

t.test('progress is written at once, and then every half second at most', async (t) => {
  const { clock, run, record, writes } = await setUp()
  await clock.advance(1_000)
  run.setProgress(0.1)
  await clock.advance(0)
  t.equal((await record()).progress, 0.1)
  const before = writes()
  for (let step = 1; step <= 1_000; step += 1) {
    run.setProgress(step / 1_000)
    await clock.advance(step % 10 === 0 ? 10 : 0)
  }
  await clock.advance(500)
  t.equal((await record()).progress, 1)
  t.ok(writes() - before <= 3, `${writes() - before} writes for 1,000 steps in a second`)
})

t.test('progress that is no number changes nothing; what is out of bounds is the nearest', async (t) => {
  const { clock, run, record } = await setUp()
  const told = async (progress: unknown) => {
    run.setProgress(progress as number)
    await clock.advance(lease)
    return (await record()).progress
  }
  t.equal(await told(Number.NaN), null)
  t.equal(await told(0.5), 0.5)
  for (const nothing of [Number.NaN, '0.9', null, undefined, {}, 1n]) t.equal(await told(nothing), 0.5)
  t.equal(await told(-3), 0)
  t.equal(await told(40), 1)
})

t.test('progress does not put off the signs of life', async (t) => {
  const { clock, run, record } = await setUp()
  for (let step = 0; step < 400; step += 1) {
    run.setProgress(step / 400)
    await clock.advance(100)
  }
  t.ok(sure((await record()).runUntil) > clock.now() + lease - 1_000)
})

t.test(
  'a message to cancel aborts the signal and lets the work end it; so does a sign of life',
  async (t) => {
    const told = await setUp()
    told.run.cancel()
    t.match(told.run.signal.reason, { code: 'operation-cancelled' })
    t.strictSame(told.stops, [])

    const found = await setUp()
    await found.registry.cancel(found.id)
    t.notOk(found.run.signal.aborted)
    await found.clock.advance(lease / 3)
    t.match(found.run.signal.reason, { code: 'operation-cancelled' })
    await found.clock.advance(10 * lease)
    t.strictSame(found.stops, [], 'it goes on giving signs of life until it ends')
    t.equal((await found.record()).runUntil, found.clock.now() + lease)
  },
)

t.test('what takes too long is stopped', async (t) => {
  const { clock, run, stops } = await setUp(90_000)
  await clock.advance(89_999)
  t.notOk(run.signal.aborted)
  await clock.advance(1)
  t.strictSame(stops, ['timed-out'])
  t.match(run.signal.reason, { code: 'operation-timed-out' })
})

t.test('a run whose place was taken learns it at its next sign of life, and gives no more', async (t) => {
  const { clock, run, registry, id, stops, writes } = await setUp()
  clock.skip(lease)
  t.match(await registry.claim(id, () => 3), { kind: 'claimed', record: { run: 2 } })
  await clock.advance(0)
  t.strictSame(stops, ['lost'])
  t.match(run.signal.reason, { code: 'operation-interrupted' })
  await run.end()
  const before = writes()
  await clock.advance(10 * lease)
  t.equal(writes(), before)
  t.equal(clock.waiting(), 0)
})

t.test('a run that somebody ended learns it', async (t) => {
  const { clock, registry, id, stops } = await setUp()
  await registry.finish(id, 1, failed)
  await clock.advance(lease / 3)
  t.strictSame(stops, ['lost'])
})

t.test('a late timer alone loses nothing: where nobody took over, the run goes on', async (t) => {
  const { clock, record, stops } = await setUp()
  clock.skip(5 * lease)
  await clock.advance(0)
  t.strictSame(stops, [])
  t.equal((await record()).runUntil, clock.now() + lease)
})

for (const mood of ['fails', 'hangs'] as const) {
  t.test(`a store that ${mood} for less than a lease is survived`, async (t) => {
    const { clock, store, run, record, stops, silences } = await setUp()
    store.mood = mood
    await clock.advance(lease - 6_000)
    t.ok(silences.length > 0)
    store.mood = 'well'
    await clock.advance(6_000)
    t.strictSame(stops, [])
    t.notOk(run.signal.aborted)
    t.ok(sure((await record()).runUntil) > clock.now())
  })

  t.test(`a store that ${mood} for a lease ends the run: another may have taken its place`, async (t) => {
    const { clock, store, run, stops } = await setUp()
    store.mood = mood
    await clock.advance(lease - 1)
    t.strictSame(stops, [])
    await clock.advance(lease / 3)
    t.strictSame(stops, ['lost'])
    t.match(run.signal.reason, { code: 'operation-interrupted' })
    await run.end()
    t.equal(clock.waiting(), 0)
  })
}

t.test('while the store is away it is asked once in a second at most', async (t) => {
  const { clock, store, writes } = await setUp()
  store.mood = 'fails'
  const before = writes()
  await clock.advance(lease)
  t.ok(writes() - before <= 21, `${writes() - before} times in ${lease} ms`)
})

t.test('after its end it says nothing any more, whatever the work does', async (t) => {
  const { clock, run, writes } = await setUp()
  await run.end()
  const before = writes()
  run.setProgress(0.9)
  run.cancel()
  await clock.advance(10 * lease)
  t.equal(writes(), before)
  t.equal(clock.waiting(), 0)
})

t.test('its end waits for a sign of life that is on its way, and none follows', async (t) => {
  const { clock, store, run, writes } = await setUp()
  store.moods.replace = 'hangs'
  await clock.advance(lease / 3)
  const before = writes()
  const steps: string[] = []
  const ended = run.end().then(() => steps.push('ended'))
  await clock.advance(4_999)
  t.strictSame(steps, [])
  await clock.advance(1)
  await ended
  await clock.advance(10 * lease)
  t.equal(writes(), before)
  t.equal(clock.waiting(), 0)
})
