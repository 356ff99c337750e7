/** Runs: what is stored of them, how they are cancelled, replaced, retried and handed back, and their heartbeats. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import t, { type Test } from 'tap'
import { operationChannel, ProblemError } from '../../../src/index.js'
import { levels } from '../../support/logs.js'
import { handEngine, openProcess, type ProcessOptions } from './process.js'
import { lease, sure } from './samples.js'

const unwind = 10_000
const timeout = 60_000

/** A process in which an operation runs. */
async function running(t: Test, options: ProcessOptions = {}, engine = handEngine(), isLast = false) {
  const process = await openProcess(t, { engine, unwind, ...options })
  const { clock, memory, app, contexts, store } = process
  const id = await process.begin({ owner: 7 }, { a: 1 })
  const before = clock.waiting()
  const outcome = engine.run(id, isLast)
  outcome.catch(() => {})
  await clock.advance(0)
  const cancelBy = async (cancelling = app) => {
    void cancelling.operations.cancel(id)
    await clock.advance(0)
  }
  return {
    ...process,
    id,
    engine,
    context: sure(contexts.at(-1)),
    outcome,
    /** Requests a cancellation. */
    cancel: () => cancelBy(),
    cancelElsewhere: async () => cancelBy((await openProcess(t, { clock, memory, works: false })).app),
    writes: () => store.calls.replace ?? 0,
    /** How many timers the run has. */
    timers: () => clock.waiting() - before,
  }
}

type Running = Awaited<ReturnType<typeof running>>

const isSettled = (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), new Promise((go) => setImmediate(go, false))])

t.test('a run gets the input, a signal and a log; no timer is left after it', async (t) => {
  const process = await running(t)
  const { id, context, contexts, record, events, timers, lines, engine, clock } = process
  t.match(context, { operationId: id, run: 1, input: { a: 1 }, signal: { aborted: false } })
  context.log.info('hello')
  t.match(lines.at(-1), { operationId: id, operation: 'work', msg: 'hello' })
  t.notOk(lines.some((line) => 'reqId' in line))
  t.ok(timers() > 0)
  await process.end({ result: 7 })
  await process.outcome
  t.match(await record(id), { status: 'Succeeded', result: '7' })
  t.strictSame([events(), timers()], [['start', 'run', 'end'], 0])
  const path = await process.start()
  void engine.run(path.slice(-32))
  await clock.advance(0)
  contexts[1]?.log.info('hello')
  const [event, hello] = lines.slice(-2)
  t.match(event, { event: 'run', msg: "operations: 'work': run", operation: 'work', run: 1, reqId: /^req-/ })
  t.match(hello, { reqId: event?.reqId, msg: 'hello' })
})

const steps = {
  returns: ({ end }) => end(),
  'throws the reason': ({ fail, context }) => fail(context.signal.reason),
  'is cancelled': ({ cancel }) => cancel(),
  'is cancelled, unseen': ({ cancelElsewhere }) => cancelElsewhere(),
  closes: ({ close }) => close(),
  'does not unwind': ({ clock }) => clock.advance(unwind),
  'exceeds its time': ({ clock }) => clock.advance(timeout + unwind),
} satisfies Readonly<Record<string, (run: Running) => unknown>>

t.test('what happens in a run decides what is stored, logged and returned to the engine', async (t) => {
  const rollback = new Error('the rollback failed')
  const aborted = { throws: new DOMException('aborted', 'AbortError') }
  const unreadable = new Proxy(new Error('x'), { get: () => JSON.parse('no JSON') })
  const succeeds = { kind: 'ended', hasFailed: false, record: { status: 'Succeeded', isCancelling: false } }
  const fails = { kind: 'ended', hasFailed: true, record: { status: 'Failed', error: { status: 500 } } }
  const cancelled = { ...fails, record: { status: 'Failed', error: { code: 'operation-cancelled' } } }
  const released = { kind: 'released', record: { status: 'In progress', runUntil: null, counted: 0 } }
  type Step = keyof typeof steps | { readonly throws: unknown }
  // What the handler throws is logged, if it is neither the failure nor the abort.
  const rows: readonly (readonly [Step[], end: { kind: string; record: object }, log?: 'logged'])[] = [
    [['returns'], succeeds],
    [[{ throws: new Error('no') }], fails],
    [[{ throws: undefined }], fails],
    [['is cancelled', 'throws the reason'], cancelled],
    [['is cancelled', aborted], cancelled],
    [['is cancelled', { throws: rollback }], cancelled, 'logged'],
    [['is cancelled', { throws: undefined }], cancelled, 'logged'],
    [['is cancelled', { throws: unreadable }], cancelled],
    [['is cancelled', 'returns'], succeeds],
    [['is cancelled, unseen', { throws: rollback }], cancelled, 'logged'],
    [['is cancelled', 'exceeds its time'], cancelled],
    [['closes', 'returns'], succeeds],
    [['closes', 'throws the reason'], released],
    [['closes', { throws: rollback }], released, 'logged'],
    [['closes', 'does not unwind'], released],
    [['is cancelled', 'closes', aborted], cancelled],
  ]
  const levelOf = new Map<string, number>()
  for (const [taken, { record, ...outcome }, log] of rows) {
    const name = taken.map((step) => (typeof step === 'string' ? step : 'throws')).join(', ')
    // An operation that was cancelled is not retried, whatever its error is.
    const run = await running(t, { definition: { timeout } }, handEngine(), record === fails.record)
    for (const step of taken) await (typeof step === 'string' ? steps[step](run) : run.fail(step.throws))
    t.strictSame(await run.outcome, outcome, name)
    t.match(await run.record(run.id), record, name)
    t.equal(run.context.signal.aborted, /is cancelled(?!, unseen)|closes/.test(name), name)
    const late = /does not unwind|exceeds/.test(name) ? ['abandon'] : []
    const last = outcome.kind === 'released' ? 'release' : 'end'
    t.strictSame(run.events().sort(), ['start', 'run', last, ...late].sort(), name)
    for (const { event, level } of run.lines) if (event !== undefined) levelOf.set(String(event), level)
    const { status, error } = await run.record(run.id)
    const end = run.lines.find(({ event }) => event === 'end')
    if (end) t.match(end, { operationId: run.id, status, ...(error && { code: error.code }) })
    const told = (what: RegExp) => run.lines.filter(({ msg }) => what.test(msg ?? ''))
    t.equal(told(/'work' failed$/).length, record === fails.record ? 1 : 0, name)
    t.match(told(/failed while it stopped/), log ? [{ operationId: run.id }] : { length: 0 }, name)
  }
  const { debug, info, warn } = levels
  const expected = { start: info, run: debug, end: info, abandon: warn, release: info }
  t.strictSame(Object.fromEntries(levelOf), expected)
})

t.test('a handler that fails runs again if its engine has a retry left', async (t) => {
  for (const error of [null, new ProblemError('operations-unavailable')]) {
    const messages: unknown[] = []
    const listen = (message: unknown) => void messages.push(message)
    subscribe(operationChannel, listen)
    t.teardown(() => unsubscribe(operationChannel, listen))
    const { id, fail, engine, outcome, record, clock, lines } = await running(t)
    await fail(error)
    t.strictSame(await outcome, { kind: 'retry' })
    const waiting = { status: 'In progress', counted: 0, runUntil: null, dueAt: clock.now() + lease }
    t.match(await record(id), waiting)
    const last = engine.run(id, true)
    await clock.advance(0)
    await fail(error)
    t.strictSame(await last, { kind: 'ended', hasFailed: true })
    t.match(await record(id), { status: 'Failed', run: 2 })
    const [told] = lines.filter(({ event }) => event === 'retry')
    t.match(told, { level: levels.warn, ...(error && { err: { message: error.message } }) })
    const of = (event: string) => ({ event, record: { id }, error: undefined })
    t.match(messages, [of('start'), of('run'), { ...of('retry'), error }, of('run'), of('end')])
  }

  // After an invalid result, the work is done.
  for (const outcome of ['no object', new ProblemError('not-found')]) {
    const { end, fail, outcome: ended } = await running(t)
    await (typeof outcome === 'string' ? end(outcome) : fail(outcome))
    t.strictSame(await ended, { kind: 'ended', hasFailed: true }, 'nor does one of the client')
  }
})

t.test('a handler beyond its time limit has failed; its slot is free when it settles', async (t) => {
  for (const last of ['returns', 'throws', 'never'] as const) {
    const run = await running(t, { definition: { timeout } })
    const { id, clock, context, record, writes, end, fail, events } = run
    await clock.advance(timeout)
    t.match(context.signal.reason, { code: 'operation-timed-out' })
    const failed = await record(id)
    const detail = /took longer than it may/
    t.match(failed, { status: 'Failed', error: { code: 'operation-timed-out', detail } })
    const before = writes()
    await clock.advance(unwind - 1)
    t.equal(writes(), before, 'without heartbeats')
    t.notOk(await isSettled(run.outcome))
    if (last === 'returns') await end()
    else if (last === 'throws') await fail(new Error('the rollback failed'))
    else await clock.advance(1)
    t.strictSame(await run.outcome, { kind: 'ended', hasFailed: true })
    t.equal(await record(id), failed, 'its result is ignored')
    t.strictSame(events().slice(2), last === 'never' ? ['end', 'abandon'] : ['end'])
    t.equal(run.timers(), 0)
  }
})

t.test('a run that was replaced, or ended elsewhere, is lost: it stores nothing', async (t) => {
  for (const how of ['replaced', 'lock lost', 'replaced while it ended', 'ended by another', 'ended']) {
    const run = await running(t)
    const { id, clock, context, record, writes } = run
    if (how === 'lock lost') run.engine.lose(id)
    if (how === 'ended') await run.endElsewhere(id)
    else {
      clock.skip(lease)
      await run.dieWith(id)
      if (how === 'ended by another') await run.endElsewhere(id)
    }
    const after = await record(id)
    if (how !== 'replaced while it ended') {
      await clock.advance(lease / 3)
      t.match(context.signal.reason, { code: 'operation-interrupted' })
      const before = writes()
      context.progress(0.5)
      await clock.advance(lease)
      t.equal(writes(), before, 'nor does it send heartbeats')
      t.equal(run.timers(), 0)
    }
    await run.end()
    t.strictSame(await run.outcome, { kind: 'ended', hasFailed: false }, how)
    t.equal(await record(id), after)
    t.notOk(run.events().includes('end'))
  }
})

t.test('a store that is away neither stops a run nor loses its end', async (t) => {
  for (const mood of ['fails', 'hangs', 'loses answers'] as const) {
    const { id, clock, context, store, record, writes, end, outcome, events, faultsOf } = await running(t)
    store.moods.replace = mood
    const before = writes()
    await clock.advance(10 * lease)
    t.ok(writes() - before <= 20 * 31, `${writes() - before} writes: two in a second at most`)
    store.moods.replace = 'well'
    await clock.advance(6_000)
    t.notOk(context.signal.aborted)
    t.ok(sure((await record(id)).runUntil) > clock.now(), 'it is alive')

    store.moods.replace = mood
    await end()
    await clock.advance(10 * lease)
    store.moods.replace = 'well'
    await clock.advance(12_000)
    t.strictSame(await outcome, { kind: 'ended', hasFailed: false })
    t.match(await record(id), { status: 'Succeeded', run: 1 })
    t.equal(events().filter((event) => event === 'end').length, 1, 'those who wait for it are notified')
    const over = /the fault is over/
    t.match(faultsOf('runs'), [/the heartbeat of a run fails/, over, /the result .* cannot be stored/, over])
  }
  const { close, store, clock, end, outcome } = await running(t)
  store.mood = 'fails'
  await end()
  await clock.advance(lease)
  await close()
  await clock.advance(unwind)
  await t.rejects(outcome, { code: 'operations-unavailable' }, 'it is given up if the process closes')
})

t.test('a process that closes while it claims an operation hands it back', async (t) => {
  const engine = handEngine()
  const { close, begin, store, contexts, events } = await openProcess(t, { engine, unwind })
  const id = await begin()
  let answer = (_input: null) => {}
  store.input = () =>
    new Promise((resolve) => {
      answer = resolve
    })
  const outcome = engine.run(id)
  await close()
  answer(null)
  t.strictSame(await outcome, { kind: 'released' })
  t.strictSame(await engine.run(id), { kind: 'released' })
  t.strictSame([events(), contexts], [['start', 'run', 'release'], []])
})

t.test('an operation runs once in a process, also if the engine calls twice at the same time', async (t) => {
  const { id, engine, contexts, end, outcome } = await running(t, {}, handEngine({ takesOver: true }))
  t.strictSame(await engine.run(id), { kind: 'later', delay: lease })
  t.equal(contexts.length, 1)
  await end()
  t.match(await outcome, { kind: 'ended' })
})

t.test('operations that the store does not know are logged once: services may share a queue', async (t) => {
  const engine = handEngine()
  const { lines } = await openProcess(t, { engine })
  for (const digit of ['a', 'b'])
    t.strictSame(await engine.run(digit.repeat(32)), { kind: 'ended', hasFailed: false })
  const told = lines.filter(({ msg }) => msg?.includes('a `queue` of its own'))
  t.match(told, [{ level: levels.warn, operationId: 'a'.repeat(32) }])
  t.equal(told.length, 1)
})

t.test('a run sends three heartbeats in a lease, and none after its end', async (t) => {
  const options = { isShared: false, definition: { timeout: 100 * lease } }
  const run = await running(t, options, handEngine({ isShared: false }))
  const { id, clock, record, writes, context, end, app } = run
  const before = writes()
  await clock.advance(lease * 10)
  t.equal(writes() - before, 30)
  t.equal((await record(id)).runUntil, clock.now() + lease)
  await end()
  context.progress(0.9)
  await app.operations.cancel(id)
  await clock.advance(10 * lease)
  t.equal(writes() - before, 31)
  t.equal(run.timers(), 0)
})

t.test('a closing process sends heartbeats until its work ends: no other one begins it', async (t) => {
  const { id, close, clock, record, dieWith, store } = await running(t, { unwind: 10 * lease })
  await close()
  await clock.advance(2 * lease)
  t.ok(sure((await record(id)).runUntil) > clock.now())
  clock.skip(lease)
  await dieWith(id)
  await clock.advance(lease / 3)
  const reads = store.calls.get
  await clock.advance(lease)
  t.equal(store.calls.get, reads, 'or until another run takes its place')
})

t.test('progress is stored every half second at most, and does not delay the heartbeats', async (t) => {
  const { id, clock, context, record, writes, fail, outcome } = await running(t, {}, undefined, true)
  const before = writes()
  for (let step = 1; step <= 100; step += 1) {
    context.progress(step / 100)
    await clock.advance(10)
  }
  context.progress(Number.NaN)
  await clock.advance(500)
  t.equal((await record(id)).progress, 1, 'what is no number changes nothing')
  t.ok(writes() - before <= 3, `${writes() - before} writes for 100 steps in a second`)
  for (let step = 0; step < 400; step += 1) {
    context.progress(step / 400)
    await clock.advance(100)
  }
  t.ok(sure((await record(id)).runUntil) > clock.now() + lease - 1_000)
  await fail(new Error('too late'))
  await outcome
  const { status, progress } = await record(id)
  t.strictSame([status, sure(progress) < 1], ['Failed', true], 'how far it came')
})

t.test('a cancellation in this process is found at once, in another within a second', async (t) => {
  for (const takesOver of [false, true]) {
    const reason = { code: 'operation-cancelled' }
    const { context, cancel } = await running(t, {}, handEngine({ takesOver }))
    // It waits to be stored.
    context.progress(0.5)
    await cancel()
    t.match(context.signal.reason, reason)

    const other = await running(t, {}, handEngine({ takesOver }))
    const before = other.writes()
    await other.clock.advance(8_000)
    t.equal(other.writes(), before, 'it looks each second, and writes nothing')
    await other.cancelElsewhere()
    await other.clock.advance(999)
    t.notOk(other.context.signal.aborted)
    await other.clock.advance(1)
    t.match(other.context.signal.reason, reason)

    const busy = await running(t, {}, handEngine({ takesOver }))
    busy.store.moods.replace = 'hangs'
    busy.context.progress(0.5)
    await busy.clock.advance(500)
    await busy.cancelElsewhere()
    busy.store.moods.replace = 'well'
    await busy.cancel()
    await busy.clock.advance(4_999)
    t.notOk(busy.context.signal.aborted, 'one question at a time')
    await busy.clock.advance(1)
    t.match(busy.context.signal.reason, reason, 'or when the store did not answer to the last one')
  }
})
