/** Runs, from the claim to the end, and what ends them otherwise. */
import t from 'tap'
import { memoryOperationStore } from '../../../src/plugins/operations/stores/memory.js'
import { manualClock } from '../../support/manual-clock.js'
import { failed, failure, idOf, lease, retention, start, succeeded, sure } from './samples.js'
import { heldWork, testProcess } from './test-process.js'
import { unruly } from './unruly-store.js'

function setUp(work = heldWork(), isShared = true) {
  const clock = manualClock(start)
  const store = unruly(memoryOperationStore(), isShared)
  const process = testProcess({ store, clock, works: { work } })
  const statusOf = async (id: string) => sure(await process.registry.find(id))
  return { clock, store, work, statusOf, ...process }
}

t.test(
  'work is given its record, a signal and a way to tell its progress; its end is written down',
  async (t) => {
    const { registry, runner, work, statusOf, ended, clock } = setUp()
    const { id } = await registry.create(
      registry.draft({ name: 'work', owner: '7', input: '{"a":1}', cancellable: true }),
    )
    const outcome = runner.run(id)
    await clock.advance(0)
    const [context] = work.contexts
    t.match(context?.record, { id, run: 1, input: '{"a":1}', owner: '7' })
    t.equal(context?.signal.aborted, false)
    work.end()
    t.strictSame(await outcome, { kind: 'ended' })
    t.match(await statusOf(id), { status: 'Succeeded', result: '{"sent":1}' })
    t.equal(ended.length, 1)
    t.equal(clock.waiting(), 0, 'no timer is left')
  },
)

t.test('what work throws becomes its failure', async (t) => {
  for (const thrown of [new Error('no'), 'no', null, undefined, 0]) {
    const { begin, runner, work, statusOf, faults } = setUp()
    const { id } = await begin()
    const outcome = runner.run(id)
    await Promise.resolve()
    setImmediate(() => work.fail(thrown))
    await outcome
    t.match(await statusOf(id), { status: 'Failed', error: failure })
    t.strictSame(faults, [thrown])
  }
})

t.test('what need not be run is not run, and says so', async (t) => {
  const { begin, runner, work, registry, clock } = setUp()
  t.strictSame(await runner.run(idOf(9)), { kind: 'ended' }, 'there is none')
  const over = await begin()
  await registry.finish(over.id, null, failed)
  t.strictSame(await runner.run(over.id), { kind: 'ended' }, 'it is final')
  const foreign = await begin({ name: 'of another release' })
  t.strictSame(await runner.run(foreign.id), { kind: 'released' }, 'nobody here knows such work')
  const { id } = await begin()
  void runner.run(id)
  await clock.advance(0)
  t.strictSame(await runner.run(id), { kind: 'busy', until: clock.now() + lease }, 'it runs')
  t.equal(work.contexts.length, 1)
})

t.test('a run is begun so often at most', async (t) => {
  const { begin, runner, work, registry, clock, statusOf } = setUp(heldWork({ maxRuns: 2 }))
  const { id } = await begin()
  // Of a process that was killed since.
  await registry.claim(id, () => 2)
  clock.skip(lease)
  void runner.run(id)
  await clock.advance(0)
  t.match(await statusOf(id), { run: 2 })
  runner.close()
  await clock.advance(0)
  t.strictSame(await runner.run(id), { kind: 'released' })
  t.equal(work.contexts.length, 1)
  t.match(await statusOf(id), { run: 2, status: 'In progress' }, 'whoever looks after what is due ends it')
})

t.test('cancelled work that throws was cancelled, whatever it throws', async (t) => {
  for (const thrown of [new Error('aborted'), 'x', undefined]) {
    const { begin, runner, work, registry, statusOf, clock, faults } = setUp()
    const { id } = await begin()
    const outcome = runner.run(id)
    await clock.advance(0)
    await registry.cancel(id)
    runner.cancel(id)
    t.ok(work.contexts[0]?.signal.aborted)
    work.fail(thrown)
    await outcome
    t.match(await statusOf(id), { status: 'Failed', error: { code: 'operation-cancelled' } })
    t.strictSame(faults, [], 'it is no fault')
  }
})

t.test('cancelled work that is done all the same has been done', async (t) => {
  const { begin, runner, work, registry, statusOf, clock } = setUp()
  const { id } = await begin()
  const outcome = runner.run(id)
  await clock.advance(0)
  await registry.cancel(id)
  runner.cancel(id)
  work.end()
  await outcome
  t.match(await statusOf(id), { status: 'Succeeded', isCancelling: false })
})

t.test('cancelled work that does not heed it was cancelled when its time is over', async (t) => {
  const { begin, runner, registry, statusOf, clock } = setUp(heldWork({ timeout: 60_000 }))
  const { id } = await begin()
  const outcome = runner.run(id)
  await clock.advance(0)
  await registry.cancel(id)
  runner.cancel(id)
  await clock.advance(60_000)
  await outcome
  t.match(await statusOf(id), { status: 'Failed', error: { code: 'operation-cancelled' } })
})

t.test('to cancel what does not run here does nothing', async (t) => {
  const { runner } = setUp()
  t.doesNotThrow(() => runner.cancel(idOf(9)))
})

t.test('work that takes too long has failed, and what it says later does not count', async (t) => {
  const { begin, runner, work, statusOf, clock, faults } = setUp(heldWork({ timeout: 60_000 }))
  const { id } = await begin()
  const outcome = runner.run(id)
  await clock.advance(0)
  await clock.advance(60_000)
  t.strictSame(await outcome, { kind: 'ended' })
  t.match(faults, [{ code: 'operation-timed-out' }])
  const after = await statusOf(id)
  t.equal(after.status, 'Failed')
  work.end()
  await clock.advance(10 * lease)
  t.equal(await statusOf(id), after)
  t.equal(clock.waiting(), 0)
})

t.test('work that fails after its time is over troubles nobody', async (t) => {
  const { begin, runner, work, clock, faults } = setUp(heldWork({ timeout: 60_000 }))
  const { id } = await begin()
  const outcome = runner.run(id)
  await clock.advance(0)
  await clock.advance(60_000)
  await outcome
  work.fail(new Error('too late'))
  await clock.advance(1)
  t.match(faults[0], { code: 'operation-timed-out' })
})

t.test('a run that lost its place writes nothing', async (t) => {
  const { begin, runner, work, registry, statusOf, clock } = setUp()
  const { id } = await begin()
  const outcome = runner.run(id)
  await clock.advance(0)
  clock.skip(lease)
  t.match(await registry.claim(id, () => 3), { kind: 'claimed', record: { run: 2 } })
  await clock.advance(0)
  t.strictSame(await outcome, { kind: 'ended' })
  t.ok(work.contexts[0]?.signal.aborted)
  work.end()
  await clock.advance(0)
  t.match(await statusOf(id), { run: 2, status: 'In progress' })
})

t.test('a run that ends after another took its place writes nothing either', async (t) => {
  const { begin, runner, work, registry, statusOf, clock, ended } = setUp()
  const { id } = await begin()
  const outcome = runner.run(id)
  await clock.advance(0)
  clock.skip(lease)
  await registry.claim(id, () => 3)
  work.end({ ...succeeded, status: 'Failed', error: failure })
  await outcome
  t.match(await statusOf(id), { run: 2, status: 'In progress' })
  await registry.finish(id, 2, succeeded)
  t.match(await statusOf(id), { status: 'Succeeded', error: null })
  t.equal(ended.length, 1)
})

t.test(
  'an end that cannot be written down is written when the store is back, and the work is not done again',
  async (t) => {
    for (const mood of ['fails', 'hangs', 'loses answers'] as const) {
      const { begin, runner, work, store, statusOf, clock, troubles } = setUp()
      const { id } = await begin()
      const outcome = runner.run(id)
      await clock.advance(0)
      store.mood = mood
      work.end()
      await clock.advance(0)
      await clock.advance(12_000)
      store.mood = 'well'
      await clock.advance(12_000)
      t.strictSame(await outcome, { kind: 'ended' }, mood)
      t.match(await statusOf(id), { status: 'Succeeded', run: 1 })
      t.equal(work.contexts.length, 1)
      t.ok(troubles.includes('the result of an operation cannot be stored'))
      t.equal(troubles.at(-1), 'recovered')
    }
  },
)

t.test('an end that cannot be written down for a lease is given up: another run will follow', async (t) => {
  const { begin, runner, work, store, clock } = setUp()
  const { id } = await begin()
  const outcome = runner.run(id)
  outcome.catch(() => {})
  await clock.advance(0)
  store.mood = 'fails'
  work.end()
  await clock.advance(2 * lease)
  await t.rejects(outcome, { code: 'operations-unavailable' })
  t.equal(clock.waiting(), 0)
})

t.test('when the process closes, others go on where the store is shared', async (t) => {
  const { begin, runner, work, statusOf, clock } = setUp()
  const { id } = await begin()
  const outcome = runner.run(id)
  await clock.advance(0)
  runner.close()
  t.strictSame(await outcome, { kind: 'released' })
  t.match(work.contexts[0]?.signal.reason, { code: 'operation-interrupted' })
  t.match(await statusOf(id), { status: 'In progress', runUntil: null, dueAt: clock.now() })
})

t.test('where nobody could go on it has failed', async (t) => {
  const { begin, runner, statusOf, clock } = setUp(heldWork(), false)
  const { id } = await begin()
  const outcome = runner.run(id)
  await clock.advance(0)
  runner.close()
  t.strictSame(await outcome, { kind: 'ended' })
  t.match(await statusOf(id), { status: 'Failed', error: { code: 'operation-interrupted', status: 500 } })
})

t.test('what was to be cancelled is, when the process closes', async (t) => {
  const { begin, runner, registry, statusOf, clock } = setUp()
  const { id } = await begin()
  const outcome = runner.run(id)
  await clock.advance(0)
  await registry.cancel(id)
  runner.cancel(id)
  runner.close()
  await outcome
  t.match(await statusOf(id), { status: 'Failed', error: { code: 'operation-cancelled' } })
})

t.test('a run that was about to begin when the process closed does not go on without end', async (t) => {
  const { begin, runner, work, statusOf } = setUp()
  const { id } = await begin()
  const outcome = runner.run(id)
  runner.close()
  t.strictSame(await outcome, { kind: 'released' })
  t.ok(work.contexts.every(({ signal }) => signal.aborted))
  t.match(await statusOf(id), { status: 'In progress', runUntil: null })
})

t.test('cancel against finish, 500 races of real runs: what the caller was told is what stays', async (t) => {
  const clock = manualClock(start)
  const store = unruly(memoryOperationStore())
  const works = {
    work: {
      run: async ({ signal, record }: { signal: AbortSignal; record: { id: string } }) => {
        for (let turn = 0; turn < Number.parseInt(record.id.slice(0, 2), 16) % 23; turn += 1) {
          await null
          signal.throwIfAborted()
        }
        return succeeded
      },
    },
  }
  const process = testProcess({ store, clock, works, concurrency: 1_000 })
  await process.start()
  const seen: Record<string, number> = {}
  const races = Array.from({ length: 500 }, async (_, race) => {
    const { id } = await process.begin()
    for (let turn = 0; turn < race % 29; turn += 1) await null
    const told = sure(await process.registry.cancel(id))
    await process.registry.announceCancel(id)
    await clock.advance(0)
    const { status, error, result } = sure(await process.registry.find(id))
    seen[status] = (seen[status] ?? 0) + 1
    if (status === 'In progress') t.fail('it goes on')
    if (told.status !== 'In progress' && told.status !== status) t.fail('it was told otherwise')
    if (status === 'Failed' && error?.code !== 'operation-cancelled') t.fail('it failed otherwise')
    if (error !== null && result !== null) t.fail('it ended twice')
  })
  await Promise.all(races)
  t.equal(process.ended.length, 500)
  t.ok((seen.Succeeded ?? 0) > 20 && (seen.Failed ?? 0) > 20, JSON.stringify(seen))
  await clock.advance(3 * retention)
  await process.sweeper.stop()
  t.strictSame(await process.registry.due(10), [])
})
