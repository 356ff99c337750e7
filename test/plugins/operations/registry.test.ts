/** The registry, the only place that changes records: what a claim does, a store that does not work, and its clock. */
import t from 'tap'
import { storeClock } from '../../../src/plugins/operations/core.js'
import { levels } from '../../support/logs.js'
import { isProblem } from '../../support/problem.js'
import { handEngine, openProcess } from './process.js'
import { idOf, lease, sure } from './samples.js'

const hour = 3_600_000
const ended = { kind: 'ended', hasFailed: false }
const unavailable = { status: 503, code: 'operations-unavailable', detail: /may or may not have happened/ }

t.test('an input is read before a run counts', async (t) => {
  const engine = handEngine()
  const { begin, store, record, contexts, clock } = await openProcess(t, { engine })
  const id = await begin({}, { id: 7 })
  store.moods.input = 'fails'
  for (let attempt = 0; attempt < 5; attempt += 1) await t.rejects(engine.run(id))
  t.match(await record(id), { run: 0, counted: 0 })
  store.moods.input = 'well'
  void engine.run(id)
  await clock.advance(0)
  t.match(contexts, [{ run: 1, input: { id: 7 } }])
})

t.test('a claim begins a run, or returns why it does not', async (t) => {
  const [engine, of] = [handEngine(), handEngine()]
  const process = await openProcess(t, { engine })
  const { app, begin, clock, memory, record, dieWith } = process
  await openProcess(t, { engine: of, clock, memory, name: 'of-another-release' })
  const id = await begin({ delay: 5_000 })
  t.strictSame(await engine.run(idOf(9)), ended)
  t.strictSame(await of.run(id), { kind: 'later', delay: 200 })
  t.strictSame(await engine.run(id), { kind: 'later', delay: 5_000 })
  clock.skip(5_000)
  await dieWith(id)
  clock.skip(1_000)
  t.strictSame(await of.run(id), { kind: 'later', delay: 600 }, 'a tenth of its age')
  t.strictSame(await engine.run(id), { kind: 'later', delay: lease - 1_000 })
  void app.operations.cancel(id)
  await clock.advance(0)
  t.strictSame(await engine.run(id), { kind: 'later', delay: lease - 1_000 })
  clock.skip(lease)
  for (const _ of [1, 2]) t.strictSame(await engine.run(id), { kind: 'ended', hasFailed: true })
  t.match(await record(id), { error: { code: 'operation-cancelled' } })
  t.strictSame(process.events(), ['start', 'end'])
  const done = await begin()
  await process.endElsewhere(done)
  t.strictSame(await engine.run(done), { kind: 'ended', hasFailed: true })
  const old = await begin()
  clock.skip(hour)
  t.strictSame(await of.run(old), { kind: 'later', delay: 30_000 })
})

t.test('only dead runs count towards maxRuns, and not hand-backs or retries', async (t) => {
  const engine = handEngine()
  const { begin, clock, memory, record, dieWith, lines, fail } = await openProcess(t, { engine })
  const id = await begin()
  for (let error = 0; error < 4; error += 1) {
    const outcome = engine.run(id)
    await clock.advance(0)
    await fail(new Error('a deadlock'))
    t.strictSame(await outcome, { kind: 'retry' })
  }
  for (let deploy = 0; deploy < 4; deploy += 1) {
    const closing = handEngine()
    const { close } = await openProcess(t, { engine: closing, clock, memory })
    const outcome = closing.run(id)
    await clock.advance(0)
    await close()
    t.strictSame(await outcome, { kind: 'released' })
  }
  for (let death = 0; death < 2; death += 1) {
    await dieWith(id)
    clock.skip(lease)
  }
  const other = handEngine()
  const last = await openProcess(t, { engine: other, clock, memory })
  void engine.run(id)
  await clock.advance(0)
  t.match(await record(id), { run: 11, counted: 3 })
  t.match(lines.at(-1), { level: levels.warn, event: 'take-over', run: 11 })
  clock.skip(lease)
  t.strictSame(await other.run(id), { kind: 'ended', hasFailed: true })
  t.match(await record(id), { run: 11, counted: 3, error: { code: 'operation-interrupted' } })
  t.match(last.lines.at(-1), { level: levels.error, event: 'give-up' })
})

t.test('an engine that takes over claims a run at once, and needs no heartbeats', async (t) => {
  const [engine, other] = [handEngine({ takesOver: true }), handEngine({ takesOver: true })]
  const { begin, clock, memory, store, contexts, record } = await openProcess(t, { engine })
  await openProcess(t, { engine: other, clock, memory })
  const id = await begin()
  void engine.run(id)
  await clock.advance(0)
  const runUntil = clock.now() + hour + 10 * lease
  t.match(await record(id), { runUntil }, 'only the time limit bounds it')
  await clock.advance(10 * lease)
  t.equal(store.calls.replace, 1)
  contexts[0]?.progress(0.5)
  await clock.advance(500)
  t.match(await record(id), { progress: 0.5, runUntil })
  void other.run(id)
  await clock.advance(0)
  await clock.advance(1_000)
  t.match(await record(id), { run: 2, counted: 2 })
  t.match(contexts[0]?.signal.reason, { code: 'operation-interrupted' })
})

t.test('a shared store has a time limit, and no timer is left', async (t) => {
  const { ask, start, store, clock, lines } = await openProcess(t, { engine: handEngine() })
  const url = await start()
  const before = clock.waiting()
  store.mood = 'hangs'
  const answer = ask({ url })
  await clock.advance(0)
  await clock.advance(4_999)
  t.equal(clock.waiting(5_000), 1)
  await clock.advance(1)
  isProblem(t, await answer, unavailable)
  t.equal(clock.waiting(), before)
  const told = lines.find(({ part }) => part === 'store')
  t.match(told, { err: { message: /did not come within 5000 ms/ } })

  const local = await openProcess(t, { isShared: false })
  let timers = -1
  local.store.get = async () => {
    await null
    timers = local.clock.waiting(5_000)
    return null
  }
  await local.app.operations.find(idOf(1))
  t.equal(timers, 0, 'a store of the process needs none')
})

t.test('a record that changes without end, and a store that throws, are a 503', async (t) => {
  const { ask, start, store, lines } = await openProcess(t, { engine: handEngine() })
  const url = await start()
  store.replace = async () => false
  isProblem(t, await ask({ method: 'DELETE', url }), unavailable)
  t.equal(store.calls.get, 101, 'it is changed again and again, up to a hundred times')
  store.get = () => {
    throw new Error('before a promise')
  }
  isProblem(t, await ask({ url }), unavailable)
  t.ok(lines.some(({ part, err }) => part === 'store' && /a promise/.test(JSON.stringify(err))))
})

t.test('a start that the client of the store sends again, as its answer was lost, is no other', async (t) => {
  const { begin, store, app, events } = await openProcess(t, { definition: { onePer: 'id' } })
  const { create } = store
  store.create = async (record, input) => (await create(record, input)) && create(record, input)
  const id = await begin({}, { id: 7 })
  t.match(await app.operations.find(id), { id })
  t.strictSame(events(), [])
})

t.test('the time is that of the store, also if the clock of the process is an hour off', async (t) => {
  let steady = 1_000
  t.intercept(performance, 'now', { value: () => steady })
  const { timeOrigin } = performance
  const answers = [hour, hour + 99, hour - 99, -hour]
  const time = async () => {
    steady += 100
    const time = timeOrigin + steady + sure(answers.shift())
    steady += 100
    return time
  }
  const clock = storeClock({ time }, undefined)
  const moved: number[] = []
  for (let sync = 0; sync < 4; sync += 1) {
    await clock.sync()
    steady += 5_000
    moved.push(clock.now() - Math.floor(timeOrigin + steady))
  }
  t.strictSame(moved, [hour, hour, hour, -hour], 'a difference within the time of the answer moves nothing')
})
