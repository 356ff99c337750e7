/** The registry, the only place that changes records: over a store that works, and over one that does not. */
import t from 'tap'
import type { OperationRecord } from '../../../src/plugins/operations/record.js'
import {
  operationRegistry,
  type RegistryOptions,
  storeClock,
} from '../../../src/plugins/operations/registry.js'
import { memoryOperationStore } from '../../../src/plugins/operations/stores/memory.js'
import { manualClock } from '../../support/manual-clock.js'
import { idOf, lease, newOperation, retention, start, stored, succeeded } from './samples.js'
import { downMessage, unruly } from './unruly-store.js'

const limits = (maxRuns: number) => () => ({ maxRuns, timeout: 3_600_000 })

function setUp(over: Partial<RegistryOptions> = {}, isShared = true) {
  const clock = manualClock(start)
  const store = unruly(memoryOperationStore(), isShared)
  const ended: OperationRecord[] = []
  const usual = { store, lease, checkInterval: lease, takesOver: false, retention }
  const { now, schedule } = clock
  const onEnd = (record: OperationRecord) => void ended.push(record)
  const registry = operationRegistry({ ...usual, now, schedule, onEnd, ...over })
  const create = (operation = {}) => stored(registry, newOperation(operation))
  const claim = async (id: string) => {
    const claim = await registry.claim(id, limits(3))
    if ('kind' in claim) throw new Error(claim.kind)
    return claim.record
  }
  return { clock, store, registry, ended, create, claim }
}

/** The error for a store that fails; its cause is for the log, and not for the client. */
const unavailable = (cause: RegExp) => ({
  code: 'operations-unavailable',
  headers: { 'retry-after': '5' },
  message: /^Operations cannot be reached at the moment; what was asked for may or may not have happened$/,
  cause: { message: cause },
})
const isDown = unavailable(RegExp(downMessage))

t.test('an input is stored apart from its record, and read before the run counts', async (t) => {
  const { registry, store, create } = setUp()
  const record = await create({ input: '{"id":7}' })
  t.equal(await store.input(record.id), '{"id":7}')
  store.moods.input = 'fails'
  for (let attempt = 0; attempt < 5; attempt += 1) await t.rejects(registry.claim(record.id, limits(3)))
  t.match(await registry.find(record.id), { run: 0, counted: 0 })
  store.moods.input = 'well'
  t.match(await registry.claim(record.id, limits(3)), { record: { run: 1, counted: 1 }, input: '{"id":7}' })
  t.match(await registry.claim((await create()).id, limits(3)), { input: null })
})

t.test('a claim begins a run, or returns why it does not', async (t) => {
  const { registry, clock, create, ended } = setUp()
  const { id } = await create({ delay: 5_000 })
  t.strictSame(await registry.claim(idOf(9), limits(3)), { kind: 'ended', hasFailed: false })
  t.strictSame(await registry.claim(id, () => undefined), { kind: 'later', delay: 200 })
  t.strictSame(await registry.claim(id, limits(3)), { kind: 'later', delay: 5_000 })
  clock.skip(5_000)
  t.match(await registry.claim(id, limits(3)), { record: { run: 1 } })
  clock.skip(1_000)
  t.strictSame(await registry.claim(id, limits(3)), { kind: 'later', delay: lease - 1_000 })
  await registry.cancel(id)
  t.strictSame(await registry.claim(id, limits(3)), { kind: 'later', delay: lease - 1_000 })
  t.equal(ended.length, 0)
  clock.skip(lease)
  for (const _ of [1, 2]) t.match(await registry.claim(id, limits(3)), { kind: 'ended', hasFailed: true })
  t.match(await registry.find(id), { error: { code: 'operation-cancelled' } })
  t.equal(ended.length, 1)
  const done = await create()
  await registry.finish(done.id, null, succeeded)
  t.strictSame(await registry.claim(done.id, limits(3)), { kind: 'ended', hasFailed: false })
})

t.test('only dead runs count towards maxRuns, and not hand-backs or retries', async (t) => {
  const { registry, clock, create, claim, ended } = setUp()
  const { id } = await create()
  for (let deploy = 0; deploy < 10; deploy += 1) await registry.release(id, (await claim(id)).run)
  for (let error = 0; error < 10; error += 1) await registry.retry(id, (await claim(id)).run)
  for (let death = 0; death < 3; death += 1) {
    await claim(id)
    clock.skip(lease)
  }
  t.match(await registry.claim(id, limits(3)), { kind: 'ended', hasFailed: true })
  t.match(await registry.find(id), { run: 23, counted: 3, error: { code: 'operation-interrupted' } })
  t.equal(ended.length, 1)
})

t.test('an engine that takes over claims a run at once, and needs no heartbeats', async (t) => {
  const { registry, store, clock, create, claim } = setUp({ takesOver: true })
  const { id } = await create()
  const first = await claim(id)
  t.equal(first.runUntil, clock.now() + 3_600_000 + lease, 'only the time limit bounds it')
  clock.skip(10 * lease)
  t.equal(await registry.renew(first, null), first)
  t.equal(store.calls.replace, 1)
  t.match(await registry.renew(first, 0.5), { progress: 0.5, runUntil: first.runUntil })
  t.match(await registry.claim(id, limits(3)), { record: { run: 2, counted: 2 } })
  t.equal(await registry.renew(first, null), null)
  t.equal(await registry.renew(first, 0.6), null)
})

t.test('a store that fails is operations-unavailable, and its cause is kept for the log', async (t) => {
  const { registry, store, create } = setUp()
  const record = await create({ input: '7' })
  store.mood = 'fails'
  const questions: readonly (() => Promise<unknown>)[] = [
    () => create(),
    () => registry.find(record.id),
    () => registry.claim(record.id, limits(3)),
    () => registry.takeDue(1),
    () => registry.ask((store) => store.expire(0, 1)),
  ]
  for (const ask of questions) await t.rejects(ask(), isDown, String(ask))
  store.get = () => {
    throw new Error(downMessage)
  }
  await t.rejects(registry.find(record.id), isDown, 'an error before a promise')
})

t.test('a shared store has a time limit, and no timer is left', async (t) => {
  const { registry, store, clock, create } = setUp()
  const { id } = await create()
  t.equal(clock.waiting(), 0, 'none after an answer')
  store.mood = 'hangs'
  const answer = registry.find(id)
  answer.catch(() => {})
  await clock.advance(4_999)
  t.equal(clock.waiting(5_000), 1)
  await clock.advance(1)
  await t.rejects(answer, unavailable(/did not come within 5000 ms/))
  t.equal(clock.waiting(), 0)
  const local = setUp({}, false)
  const created = local.create()
  t.equal(local.clock.waiting(), 0, 'a store of the process needs none')
  await created
})

t.test('a record that changes without end is operations-unavailable', async (t) => {
  const { registry, store, create } = setUp()
  const { id } = await create()
  store.replace = async () => false
  await t.rejects(registry.cancel(id), unavailable(/changed 100 times/))
})

t.test('a start that the client of the store sends again, as its answer was lost, is no other', async (t) => {
  const { registry, store } = setUp()
  const create = store.create.bind(store)
  store.create = async (record, input) => (await create(record, input)) && create(record, input)
  const record = await stored(registry, newOperation({ onePer: 'a'.repeat(64) }))
  t.match(await registry.find(record.id), { id: record.id })
})

t.test('a change whose answer was lost is found when it is done again', async (t) => {
  const { registry, store, ended, create, claim } = setUp()
  const { id } = await create()
  const run = await claim(id)
  store.moods.replace = 'loses answers'
  await t.rejects(registry.renew(run, 0.1))
  store.moods.replace = 'well'
  t.match(await registry.renew(run, 0.2), { run: 1, progress: 0.2 })
  store.moods.replace = 'loses answers'
  await t.rejects(registry.finish(id, 1, succeeded), isDown)
  store.moods.replace = 'well'
  t.match(await registry.finish(id, 1, succeeded), { status: 'Succeeded', run: 1 })
  await registry.finish(id, 2, succeeded)
  t.equal(ended.length, 1, 'an end that another run reports is not announced')
})

t.test('due operations are taken once in an interval; a postponed one comes back earlier', async (t) => {
  const { registry, clock, create } = setUp()
  const [one, other] = [await create(), await create()]
  clock.skip(lease)
  t.equal((await registry.takeDue(10)).length, 2)
  t.equal((await registry.takeDue(10)).length, 0)
  await registry.postpone(one.id, 1_000)
  clock.skip(1_000)
  t.match(await registry.takeDue(10), [{ id: one.id }])
  clock.skip(lease - 1_000)
  t.match(await registry.takeDue(10), [{ id: other.id }])
})

const hour = 3_600_000
const { timeOrigin } = performance

/** Sets the steady time of the process, in milliseconds since its start, for the rest of the test. */
function steady(t: { intercept: typeof import('tap').default.intercept }) {
  const process = { time: 1_000 }
  t.intercept(performance, 'now', { value: () => process.time })
  return process
}

t.test('the time is that of the store, also if the clock of the process is an hour off', async (t) => {
  const process = steady(t)
  for (const difference of [-hour, 0, hour]) {
    const clock = storeClock({ time: async () => timeOrigin + process.time + difference }, undefined)
    await clock.sync()
    process.time += 5_000
    t.equal(clock.now(), Math.floor(timeOrigin + process.time + difference))
  }
})

t.test('a difference within the time of the answer does not move the clock', async (t) => {
  const process = steady(t)
  const answers = [0, 99, -99, 300, -300]
  const time = async () => {
    process.time += 100
    const time = timeOrigin + process.time + (answers.shift() ?? 0)
    process.time += 100
    return time
  }
  const clock = storeClock({ time }, undefined)
  const moved: number[] = []
  for (let sync = 0; sync < 5; sync += 1) {
    await clock.sync()
    moved.push(clock.now() - Math.floor(timeOrigin + process.time))
  }
  t.strictSame(moved, [0, 0, 0, 300, -300])
})

t.test('a store without a clock has that of the process; a clock of the options replaces both', async (t) => {
  t.intercept(Date, 'now', { value: () => 7_000 })
  const local = storeClock({}, undefined)
  await local.sync()
  t.equal(local.now(), 7_000)
  const given = storeClock({ time: async () => hour }, () => 42.9)
  await given.sync()
  t.equal(given.now(), 42)
})
