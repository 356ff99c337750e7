/** A run of this process: heartbeats, progress, and why it has to end. */
import t from 'tap'
import { operationRegistry } from '../../../src/plugins/operations/registry.js'
import { beginRun } from '../../../src/plugins/operations/run.js'
import { memoryOperationStore } from '../../../src/plugins/operations/stores/memory.js'
import { manualClock } from '../../support/manual-clock.js'
import { failed, lease, newOperation, retention, start, stored, sure } from './samples.js'
import { unruly } from './unruly-store.js'

const limits = () => ({ maxRuns: 3, timeout: 3_600_000 })

async function setUp({ timeout = 3_600_000, takesOver = false, isShared = true } = {}) {
  const clock = manualClock(start)
  const store = unruly(memoryOperationStore(), isShared)
  const { now, schedule } = clock
  const times = { lease, checkInterval: lease, retention, now, schedule }
  const registry = operationRegistry({ store, takesOver, ...times })
  const { id } = await stored(registry, newOperation())
  const claim = await registry.claim(id, limits)
  if ('kind' in claim) throw new Error(claim.kind)
  const failures: unknown[] = []
  const stops: string[] = []
  const run = beginRun(claim.record, timeout, {
    registry,
    lease,
    schedule,
    faults: { failed: (_what: string, error: unknown) => failures.push(error), recovered() {} } as never,
  })
  void run.stopped.then((reason) => stops.push(reason))
  const record = async () => sure(await registry.find(id))
  const writes = () => store.calls.replace ?? 0
  return { clock, store, registry, id, run, failures, stops, record, writes }
}

t.test('a run sends three heartbeats in a lease, and none after its end', async (t) => {
  const { clock, run, record, writes, stops } = await setUp({ timeout: 100 * lease, isShared: false })
  const before = writes()
  await clock.advance(lease * 10)
  t.equal(writes() - before, 30)
  t.equal((await record()).runUntil, clock.now() + lease)
  t.strictSame(stops, [])
  await run.end()
  run.setProgress(0.9)
  run.look()
  await clock.advance(10 * lease)
  t.equal(writes() - before, 30)
  t.equal(clock.waiting(), 0)
})

t.test('progress is stored every half second at most, and does not delay the heartbeats', async (t) => {
  const { clock, run, record, writes } = await setUp()
  const before = writes()
  for (let step = 1; step <= 1_000; step += 1) {
    run.setProgress(step / 1_000)
    await clock.advance(step % 10 === 0 ? 10 : 0)
  }
  run.setProgress(Number.NaN)
  await clock.advance(500)
  t.equal((await record()).progress, 1, 'what is no number changes nothing')
  t.ok(writes() - before <= 3, `${writes() - before} writes for 1,000 steps in a second`)
  for (let step = 0; step < 400; step += 1) {
    run.setProgress(step / 400)
    await clock.advance(100)
  }
  t.ok(sure((await record()).runUntil) > clock.now() + lease - 1_000)
})

t.test('a look at the record changes nothing unless it is cancelled', async (t) => {
  for (const takesOver of [false, true]) {
    const { clock, run, registry, id, stops } = await setUp({ takesOver })
    run.look()
    await clock.advance(0)
    t.notOk(run.signal.aborted)
    await registry.cancel(id)
    run.look()
    await clock.advance(0)
    t.match(run.signal.reason, { code: 'operation-cancelled' })
    await clock.advance(3 * lease)
    t.strictSame(stops, [], 'its work ends it')
  }
})

t.test('many looks are one at a time, and write nothing', async (t) => {
  const { clock, run, store, writes } = await setUp()
  const [before, reads] = [writes(), store.calls.get ?? 0]
  for (let count = 0; count < 1_000; count += 1) run.look()
  await clock.advance(499)
  t.equal((store.calls.get ?? 0) - reads, 2, 'one, and one for those that came during it')
  t.equal(writes(), before)
})

t.test('a cancellation in this process is found at once, in another within a second', async (t) => {
  const { clock, run, registry, id } = await setUp()
  // Progress waits to be stored.
  run.setProgress(0.5)
  await registry.cancel(id)
  run.look()
  await clock.advance(0)
  t.match(run.signal.reason, { code: 'operation-cancelled' })

  const other = await setUp()
  await other.registry.cancel(other.id)
  await other.clock.advance(999)
  t.notOk(other.run.signal.aborted)
  await other.clock.advance(1)
  t.match(other.run.signal.reason, { code: 'operation-cancelled' })
})

t.test('a run that is replaced or ended elsewhere is lost, and sends no more heartbeats', async (t) => {
  for (const how of ['replaced', 'ended'] as const) {
    const { clock, run, registry, id, stops, writes } = await setUp()
    if (how === 'ended') await registry.finish(id, 1, failed)
    else {
      clock.skip(lease)
      t.match(await registry.claim(id, limits), { record: { run: 2 } })
    }
    await clock.advance(lease / 3)
    t.strictSame(stops, ['lost'], how)
    t.match(run.signal.reason, { code: 'operation-interrupted' })
    const before = writes()
    run.setProgress(0.5)
    await clock.advance(10 * lease)
    t.equal(writes(), before)
    t.equal(clock.waiting(), 0)
  }
})

t.test('a store that fails or hangs for ten leases does not stop the run', async (t) => {
  for (const mood of ['fails', 'hangs'] as const) {
    const { clock, store, run, record, stops, failures, writes } = await setUp()
    store.mood = mood
    const before = writes()
    await clock.advance(10 * lease)
    t.ok(failures.length > 0)
    t.ok(writes() - before <= 20 * 31, `${writes() - before} writes: two in a second at most`)
    store.mood = 'well'
    await clock.advance(6_000)
    t.strictSame(stops, [])
    t.notOk(run.signal.aborted)
    t.ok(sure((await record()).runUntil) > clock.now())
  }
})
