import t from 'tap'
import type { OperationWork } from '../../../src/plugins/operations/define.js'
import { operationRegistry, type RegistryOptions } from '../../../src/plugins/operations/registry.js'
import { beginRun } from '../../../src/plugins/operations/run.js'
import { memoryOperationStore } from '../../../src/plugins/operations/stores/memory.js'
import { manualClock } from '../../support/manual-clock.js'
import {
  failed,
  failure,
  idOf,
  lease,
  newOperation,
  retention,
  start,
  stored,
  succeeded,
  sure,
} from './samples.js'
import { heldWork, testProcess } from './test-process.js'
import { unruly } from './unruly-store.js'

const limits = () => ({ maxRuns: 3, timeout: 3_600_000 })
const unwind = 10_000

function setUp(over: Partial<OperationWork> = {}, registryOptions: Partial<RegistryOptions> = {}) {
  const clock = manualClock(start)
  const work = heldWork(over)
  const store = unruly(memoryOperationStore())
  const process = testProcess({ store, clock, unwind, works: { work }, registry: registryOptions })
  const { registry, runner } = process
  return {
    ...process,
    clock,
    store,
    work,
    find: async (id: string) => sure(await registry.find(id)),
    names: () => process.events.map(({ event }) => event),
    /** Begins a run of a new operation. */
    async running(operation = {}) {
      const { id } = await stored(registry, newOperation(operation))
      const outcome = runner.run(id, false)
      outcome.catch(() => {})
      await clock.advance(0)
      return { id, outcome, context: sure(work.contexts.at(-1)) }
    },
    /** Requests a cancellation, as a request does. */
    async cancel(id: string) {
      await registry.cancel(id)
      runner.look(id)
      await clock.advance(0)
    },
  }
}

type Running = ReturnType<typeof setUp> & Awaited<ReturnType<ReturnType<typeof setUp>['running']>>

/** Whether a promise has settled. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  return (await Promise.race([promise.then(() => true), new Promise((go) => setImmediate(go))])) === true
}

t.test('a run gets the record, the input and a signal; no timer is left after it', async (t) => {
  const { running, work, find, names, clock } = setUp()
  const { id, outcome, context } = await running({ owner: '7', input: '{"a":1}' })
  t.match(context, { record: { id, run: 1, owner: '7' }, input: '{"a":1}', signal: { aborted: false } })
  work.end()
  await outcome
  t.match(await find(id), { status: 'Succeeded', result: '{"sent":1}' })
  t.strictSame([names(), clock.waiting()], [['run'], 0])
})

const steps = {
  returns: ({ work }) => work.end(),
  'throws the reason': ({ work, context }) => work.fail(context.signal.reason),
  'is cancelled': ({ cancel, id }) => cancel(id),
  'is cancelled, unseen': ({ registry, id }) => registry.cancel(id),
  closes: ({ runner }) => runner.close(),
  'does not unwind': ({ clock }) => clock.advance(unwind),
  'exceeds its time': ({ clock }) => clock.advance(3_600_000 + unwind),
  'looks at its record': ({ runner, id, clock }) => {
    for (const seen of [id, idOf(9)]) runner.look(seen)
    return clock.advance(lease)
  },
} satisfies Readonly<Record<string, (run: Running) => unknown>>

t.test('what happens in a run decides what is stored, logged and returned to the engine', async (t) => {
  const rollback = new Error('the rollback failed')
  const aborted = { throws: new DOMException('aborted', 'AbortError') }
  const unreadable = new Proxy(new Error('x'), {
    get() {
      throw new TypeError('no')
    },
  })
  const succeeds = { kind: 'ended', hasFailed: false, record: { status: 'Succeeded', isCancelling: false } }
  const fails = { kind: 'ended', hasFailed: true, record: { status: 'Failed', error: failure } }
  const cancelled = { ...fails, record: { status: 'Failed', error: { code: 'operation-cancelled' } } }
  const released = { kind: 'released', record: { status: 'In progress', runUntil: null, counted: 0 } }
  type Step = keyof typeof steps | { readonly throws: unknown }
  // What the handler throws is logged, if it is neither the failure nor the abort.
  const rows: readonly (readonly [
    steps: readonly Step[],
    end: { readonly kind: string; readonly record: object },
    log?: 'logged',
  ])[] = [
    [['returns'], succeeds],
    ...[new Error('no'), undefined, 0].map((thrown) => [[{ throws: thrown }], fails] as const),
    [['is cancelled', 'throws the reason'], cancelled],
    [['is cancelled', aborted], cancelled],
    [['is cancelled', { throws: rollback }], cancelled, 'logged'],
    [['is cancelled', { throws: undefined }], cancelled, 'logged'],
    [['is cancelled', { throws: unreadable }], cancelled],
    [['is cancelled', 'returns'], succeeds],
    [['is cancelled, unseen', { throws: rollback }], cancelled, 'logged'],
    [['is cancelled', 'exceeds its time'], cancelled],
    [['looks at its record', 'returns'], succeeds],
    [['closes', 'returns'], succeeds],
    [['closes', 'throws the reason'], released],
    [['closes', { throws: rollback }], released, 'logged'],
    [['closes', 'does not unwind'], released],
    [['is cancelled', 'closes', aborted], cancelled],
    [['is cancelled, unseen', 'closes', aborted], cancelled],
  ]
  for (const [taken, { record, ...outcome }, log] of rows) {
    const name = taken.map((step) => (typeof step === 'string' ? step : 'throws')).join(', ')
    // An operation that was cancelled is not retried, whatever its error is.
    const process = setUp({ isRetried: () => record === cancelled.record })
    const run = { ...process, ...(await process.running()) }
    for (const step of taken) await (typeof step === 'string' ? steps[step](run) : run.work.fail(step.throws))
    t.strictSame(await run.outcome, outcome, name)
    t.match(await run.find(run.id), record, name)
    t.equal(run.context.signal.aborted, /is cancelled(?!, unseen)|closes/.test(name), name)
    t.equal(run.ended.length, outcome.kind === 'ended' ? 1 : 0, name)
    const [last] = taken.slice(-1)
    const thrown = typeof last === 'object' ? [last.throws] : []
    t.strictSame(run.errors, record === fails.record ? thrown : [], name)
    const line = [{ err: thrown[0], operationId: run.id }, /failed while it stopped/]
    t.match(run.lines, log ? [line] : { length: 0 }, name)
    const abandons = taken.includes('does not unwind') ? ['abandon'] : []
    if (outcome.kind === 'released') t.strictSame(run.names(), ['run', ...abandons, 'release'], name)
  }
})

t.test('a run in place of a dead one is a take-over, up to maxRuns', async (t) => {
  const { running, runner, registry, clock, events } = setUp()
  const { id } = await stored(registry, newOperation())
  await registry.claim(id, limits)
  clock.skip(lease)
  const other = await running()
  void runner.run(id, false)
  await clock.advance(0)
  const counts = events.map(({ event, record }) => `${event} ${record.id} ${record.counted}`)
  t.strictSame(counts, [`run ${other.id} 1`, `take-over ${id} 2`])
})

t.test('a handler that fails runs again if its engine has a retry left', async (t) => {
  const error = new Error('a deadlock')
  const { running, runner, work, find, names, errors, clock } = setUp({
    isRetried: (given) => given === error,
  })
  const { id, outcome } = await running()
  work.fail(error)
  t.strictSame(await outcome, { kind: 'retry' })
  t.match(await find(id), { status: 'In progress', counted: 0, runUntil: null, dueAt: clock.now() + lease })
  const last = runner.run(id, true)
  await clock.advance(0)
  work.fail(error)
  t.strictSame(await last, { kind: 'ended', hasFailed: true })
  t.match(await find(id), { status: 'Failed', run: 2 })
  t.strictSame(errors, [error])
  t.strictSame(names(), ['run', 'retry', 'run'])
})

t.test('a handler beyond its time limit has failed; its slot is free when it settles', async (t) => {
  for (const last of ['returns', 'throws', 'never'] as const) {
    const { running, work, find, clock, errors, names, store } = setUp({ timeout: 60_000 })
    const { id, outcome, context } = await running()
    await clock.advance(60_000)
    t.match(context.signal.reason, { code: 'operation-timed-out' })
    const record = await find(id)
    t.match(record, { status: 'Failed', error: failure })
    t.match(errors, [{ code: 'operation-timed-out' }])
    const { replace } = store.calls
    await clock.advance(unwind - 1)
    t.equal(store.calls.replace, replace, 'without heartbeats')
    t.notOk(await isSettled(outcome))
    if (last === 'returns') work.end()
    else if (last === 'throws') work.fail(new Error('the rollback failed'))
    else await clock.advance(1)
    t.strictSame(await outcome, { kind: 'ended', hasFailed: true })
    t.equal(await find(id), record, 'its result is ignored')
    const abandoned = names().filter((name) => name === 'abandon')
    t.equal(abandoned.length, last === 'never' ? 1 : 0, 'and counted')
    t.equal(clock.waiting(), 0)
  }
})

t.test('a run that was replaced, or whose engine lost its lock, stores nothing', async (t) => {
  for (const how of ['replaced', 'lock lost', 'replaced while it ended'] as const) {
    const { running, runner, work, registry, find, clock, ended } = setUp()
    const { id, outcome, context } = await running()
    if (how === 'lock lost') runner.lost(id)
    clock.skip(lease)
    t.match(await registry.claim(id, limits), { record: { run: 2 } })
    if (how !== 'replaced while it ended') await clock.advance(0)
    t.equal(context.signal.aborted, how !== 'replaced while it ended')
    work.end()
    t.strictSame(await outcome, { kind: 'ended', hasFailed: false }, how)
    t.match(await find(id), { run: 2, status: 'In progress' })
    await registry.finish(id, 2, succeeded)
    t.equal(ended.length, 1)
  }
})

t.test('an end is stored when the store is back, and the work is not repeated', async (t) => {
  for (const mood of ['fails', 'hangs', 'loses answers'] as const) {
    const { running, work, store, find, clock, faults, ended } = setUp()
    const { id, outcome } = await running()
    store.mood = mood
    work.end()
    await clock.advance(10 * lease)
    store.mood = 'well'
    await clock.advance(12_000)
    t.strictSame(await outcome, { kind: 'ended', hasFailed: false })
    t.match(await find(id), { status: 'Succeeded', run: 1 })
    t.equal(work.contexts.length, 1)
    t.equal(ended.length, 1, 'those who wait for it are notified')
    t.ok(faults.includes('the result of an operation cannot be stored'))
    t.equal(faults.at(-1), 'recovered')
  }
  const { running, runner, work, store, clock } = setUp()
  const { outcome } = await running()
  store.mood = 'fails'
  work.end()
  await clock.advance(lease)
  runner.close()
  await clock.advance(unwind)
  await t.rejects(outcome, { code: 'operations-unavailable' }, 'it is given up if the process closes')
})

t.test('a run that begins while the process closes is aborted', async (t) => {
  const { registry, runner, work, clock } = setUp()
  const { id } = await stored(registry, newOperation())
  const outcome = runner.run(id, false)
  runner.close()
  await clock.advance(0)
  await clock.advance(unwind)
  t.strictSame(await outcome, { kind: 'released' })
  t.strictSame(await runner.run(id, false), { kind: 'released' })
  t.ok(work.contexts.every(({ signal }) => signal.aborted))
})

t.test('an operation runs once in a process, also if the engine calls twice at the same time', async (t) => {
  const { runner, registry, clock, work } = setUp({}, { takesOver: true })
  const { id } = await stored(registry, newOperation())
  const outcomes = [runner.run(id, false), runner.run(id, false)]
  await clock.advance(0)
  t.equal(work.contexts.length, 1)
  t.match(await outcomes[1], { kind: 'later' })
  runner.close()
  t.ok(work.contexts[0]?.signal.aborted)
  work.end()
  t.match(await outcomes[0], { kind: 'ended' })
})

async function setUpRun({ timeout = 3_600_000, takesOver = false, isShared = true } = {}) {
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
  const { clock, run, record, writes, stops } = await setUpRun({ timeout: 100 * lease, isShared: false })
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

t.test(
  'a run that has to stop sends heartbeats until its work ends: no other process begins it',
  async (t) => {
    const { clock, run, record } = await setUpRun()
    run.stop('closing')
    await clock.advance(2 * lease)
    t.ok(sure((await record()).runUntil) > clock.now())
    await run.end()
  },
)

t.test('progress is stored every half second at most, and does not delay the heartbeats', async (t) => {
  const { clock, run, record, writes } = await setUpRun()
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

t.test('looks at the record are one at a time, and change nothing unless it is cancelled', async (t) => {
  for (const takesOver of [false, true]) {
    const { clock, run, registry, id, stops, store, writes } = await setUpRun({ takesOver })
    const [before, reads] = [writes(), store.calls.get ?? 0]
    for (let count = 0; count < 1_000; count += 1) run.look()
    await clock.advance(499)
    t.equal((store.calls.get ?? 0) - reads, 2, 'one, and one for those that came during it')
    t.equal(writes(), before)
    t.notOk(run.signal.aborted)
    await registry.cancel(id)
    run.look()
    await clock.advance(0)
    t.match(run.signal.reason, { code: 'operation-cancelled' })
    await clock.advance(3 * lease)
    t.strictSame(stops, [], 'its work ends it')
  }
})

t.test('a cancellation in this process is found at once, in another within a second', async (t) => {
  const { clock, run, registry, id } = await setUpRun()
  // Progress waits to be stored.
  run.setProgress(0.5)
  await registry.cancel(id)
  run.look()
  await clock.advance(0)
  t.match(run.signal.reason, { code: 'operation-cancelled' })

  const other = await setUpRun()
  await other.registry.cancel(other.id)
  await other.clock.advance(999)
  t.notOk(other.run.signal.aborted)
  await other.clock.advance(1)
  t.match(other.run.signal.reason, { code: 'operation-cancelled' })
})

t.test('a run that is replaced or ended elsewhere is lost, and sends no more heartbeats', async (t) => {
  for (const how of ['replaced', 'ended'] as const) {
    const { clock, run, registry, id, stops, writes } = await setUpRun()
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
    const { clock, store, run, record, stops, failures, writes } = await setUpRun()
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
