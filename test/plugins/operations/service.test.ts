/** Processes: how they begin to work, wait for ends, close, and share the operations of a store. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { inProcessEngine, memoryOperationStore } from '../../../src/plugins/operations/index.js'
import { manualClock } from '../../support/manual-clock.js'
import { headerOf } from '../../support/problem.js'
import { handEngine, openProcess, type ProcessOptions } from './process.js'
import { lease, start, sure } from './samples.js'

const hour = 3_600_000

t.test('a close lets runs end, aborts them, waits for `unwind`, and hands back the rest', async (t) => {
  for (const isShared of [true, false]) {
    const [clock, memory] = [manualClock(start), memoryOperationStore()]
    const engine = inProcessEngine({ concurrency: 2, schedule: clock.schedule })
    const usual = undefined as never
    const times = isShared ? { drain: usual, unwind: usual } : { drain: '5s', unwind: '10s' }
    const options = { clock, memory, isShared, engine, ...times }
    const { app, begin, contexts, end, lines, record } = await openProcess(t, options)
    const ids = [await begin(), await begin(), await begin()]
    const closed = app.close()
    const isClosed = () => Promise.race([closed.then(() => true), pause(10, false)])
    await clock.advance(0)
    await clock.advance(4_999)
    await end()
    const signal = sure(contexts[1]?.signal)
    t.notOk(signal.aborted)
    await clock.advance(1)
    t.ok(signal.aborted)
    await clock.advance(9_999)
    t.notOk(await isClosed(), 'the handler has the time `unwind` to stop')
    await clock.advance(1)
    t.ok(await isClosed())
    t.equal(contexts.length, 2, 'the waiting operation was not begun')
    t.equal(clock.waiting(), 0, 'no timer is left')
    const left = isShared
      ? { status: 'In progress', counted: 0, runUntil: null }
      : { status: 'Failed', error: { code: 'operation-interrupted' } }
    t.match(await Promise.all(ids.map(record)), [{ status: 'Succeeded' }, left, left])
    if (!isShared) continue

    // A handler that does not stop is worth a warning; a deploy is no fault.
    const warnings = lines.flatMap(({ level, event }) => (event && level > 30 ? [event] : []))
    t.strictSame(warnings, ['abandon'])
    const other = await openProcess(t, { clock, memory })
    t.match(other.contexts, [{ operationId: ids[1], run: 2 }], 'another process begins it at once')
    await clock.advance(lease / 2)
    t.match(other.contexts[1], { operationId: ids[2], run: 1 })
  }
})

t.test("an instance whose clock is an hour ahead takes no live run: the store's clock decides", async (t) => {
  const real = Date.now
  const memory = Object.assign(memoryOperationStore(), { time: async () => real() })
  const engine = handEngine()
  const options = { memory, now: undefined as never }
  const a = await openProcess(t, options)
  t.intercept(Date, 'now', { value: () => real() + hour })
  const b = await openProcess(t, { ...options, engine })
  const id = await a.begin()
  await a.clock.advance(0)
  t.match(a.contexts, [{ operationId: id }])
  t.match(await engine.run(id), { kind: 'later' })
  await b.clock.advance(lease)
  t.strictSame(engine.jobs, [])
  t.ok((await b.record(await b.begin())).createdAt < real() + hour / 2)
})

t.test('a request waits for its operation, also in another process, or for its time', async (t) => {
  const [clock, memory] = [manualClock(start), memoryOperationStore()]
  let behind = 0
  const engines = [handEngine(), handEngine()] as const
  const now = () => clock.now() - behind
  const a = await openProcess(t, { clock, memory, engine: engines[0], now })
  const b = await openProcess(t, { clock, memory, engine: engines[1] })
  for (const [process, engine, wait] of [
    [a, engines[0], 0],
    [b, engines[1], 250],
  ] as const) {
    const answer = a.post({ prefer: 'wait=10' })
    await clock.advance(0)
    void engine.run(sure(engines[0].jobs.at(-1)).id)
    await clock.advance(0)
    await process.end()
    await clock.advance(wait)
    t.equal((await answer).status, 200)
  }
  const late = a.post({ prefer: 'wait=5' })
  await clock.advance(0)
  await clock.advance(1_000)
  behind = hour
  for (let second = 1; second < 5; second += 1) await clock.advance(1_000)
  t.equal((await late).status, 202, 'in time, also if the clock of the store is set back')
})

t.test('who waits for an operation is told of its end, also after another one has left', async (t) => {
  const { clock, post, end } = await openProcess(t, { isShared: false, identify: () => 'ann' })
  const key = { 'idempotency-key': 'a' }
  const [left, stays] = [1, 9].map((seconds) => post({ ...key, prefer: `wait=${seconds}` }))
  await clock.advance(0)
  await clock.advance(1_000)
  t.equal((await left)?.status, 202)
  await end()
  t.equal((await stays)?.status, 200)
})

t.test('Retry-After: that of the definition, or of the options, or the delay of the operation', async (t) => {
  const [clock, memory] = [manualClock(start), memoryOperationStore()]
  const options = { clock, memory, retryAfter: 7 }
  const usual = await openProcess(t, options)
  const slow = await openProcess(t, { ...options, name: 'slow', definition: { retryAfter: 60 } })
  for (const [starter, asked, delay, seconds] of [
    [usual, usual, 0, 7],
    [slow, usual, 0, 7],
    [slow, slow, 20, 60],
    [slow, slow, 90.2, 91],
    [slow, slow, 1_000_000, 86_400],
  ] as const) {
    const id = await starter.begin({ owner: null, ...(delay > 0 && { delay: delay * 1_000 }) })
    const answer = await asked.ask({ url: `/v1/operations/${id}` })
    t.equal(headerOf(answer, 'retry-after'), String(seconds))
  }
})

t.test('work() before the start lets the process work from the start on', async (t) => {
  const prepare: ProcessOptions['prepare'] = (app) => app.operations.work()
  const { begin, clock, contexts } = await openProcess(t, { works: false, prepare })
  await begin()
  await clock.advance(0)
  t.equal(contexts.length, 1)
})

t.test('a process that closes while its engine begins to work sweeps nothing', async (t) => {
  let begin = () => {}
  const work = () =>
    new Promise<void>((resolve) => {
      begin = resolve
    })
  const engine = handEngine({ work })
  const { app, clock, store } = await openProcess(t, { engine, works: false })
  const working = app.operations.work()
  await app.close()
  begin()
  await working
  await clock.advance(0)
  t.strictSame([clock.waiting(), store.calls.takeDue], [0, undefined])
})
