/** Registry, runner, sweeper and engine of one process, and of two that share a store. */
import Fastify from 'fastify'
import t from 'tap'
import { checksOf } from '../../../src/options.js'
import type { OperationContext, OperationHandler } from '../../../src/plugins/operations/api.js'
import type { OperationJob } from '../../../src/plugins/operations/engines/engine.js'
import { inProcessEngine } from '../../../src/plugins/operations/engines/in-process.js'
import {
  type OperationsOptions,
  operationsOptions,
  resolveOperations,
} from '../../../src/plugins/operations/options.js'
import { type BeginOptions, operationsService } from '../../../src/plugins/operations/service.js'
import { internal } from '../../../src/plugins/operations/start.js'
import { memoryOperationStore } from '../../../src/plugins/operations/stores/memory.js'
import { keepLogs } from '../../support/logs.js'
import { type ManualClock, manualClock } from '../../support/manual-clock.js'
import { lease, start, sure } from './samples.js'
import { type UnrulyStore, unruly } from './unruly-store.js'

const hour = 3_600_000

interface Options extends OperationsOptions {
  readonly clock?: ManualClock
  readonly store?: UnrulyStore
  readonly work?: OperationHandler
  /** @default 'work' */
  readonly name?: string
}

function setUp({
  clock = manualClock(start),
  store = unruly(memoryOperationStore()),
  work,
  name = 'work',
  ...options
}: Options = {}) {
  const { logger, lines } = keepLogs()
  const engine = inProcessEngine({ schedule: clock.schedule })
  const { now, schedule } = clock
  const [, defaults] = checksOf(operationsOptions)
  const resolved = resolveOperations({ ...defaults, store, engine, now, schedule, drain: 0, ...options })
  const service = operationsService(resolved, Fastify({ logger }).log, () => false)
  const contexts: OperationContext[] = []
  const ends: ((error?: unknown) => void)[] = []
  const held = (context: OperationContext) => {
    contexts.push(context)
    return new Promise<undefined>((resolve, reject) => {
      ends.push((error) => (error === undefined ? resolve(undefined) : reject(error)))
    })
  }
  service.definitions.define(name, { cancellable: true }, work ?? held, Fastify({ logger }).log)
  return {
    clock,
    store,
    engine,
    service,
    lines,
    contexts,
    /** Ends the handlers of this process, with an error unless it is `undefined`. */
    end(error?: unknown) {
      for (const settle of ends.splice(0)) settle(error)
    },
    begin: (over: Partial<BeginOptions> = {}, input: unknown = undefined) =>
      service.begin('work', input, { ...internal, delay: 0, priority: 0, ...over }),
    find: async (id: string) => sure(await service.registry.find(id)),
    /** Ends the handlers, and closes. */
    async close() {
      await clock.advance(0)
      for (const settle of ends.splice(0)) settle()
      await clock.advance(0)
      await service.close()
    },
    async work() {
      await service.start()
      await service.work()
      await clock.advance(0)
    },
  }
}

t.test('a closing process waits for its handlers; only then another one begins the operation', async (t) => {
  const clock = manualClock(start)
  const shared = memoryOperationStore()
  const instance = (drain: number) => setUp({ clock, store: unruly(shared), drain })
  const [a, b] = [instance(5_000), instance(0)]
  await a.work()
  await b.work()
  const { id } = await a.begin({ requestId: 'req-7' })
  await clock.advance(0)
  const steps: string[] = []
  const closed = a.service.close().then(() => steps.push('closed'))
  await clock.advance(0)
  await clock.advance(4_999)
  const signal = sure(a.contexts[0]).signal
  t.notOk(signal.aborted, 'it may go on for `drain`')
  await clock.advance(1)
  t.ok(signal.aborted)
  await clock.advance(9_000)
  t.strictSame([steps, b.contexts], [[], []], 'it unwinds')
  a.end(signal.reason)
  await closed
  t.match(await b.find(id), { run: 1, counted: 0, runUntil: null })
  await clock.advance(lease)
  t.match(b.contexts, [{ operationId: id, run: 2 }])
  const events = a.lines.filter(({ event }) => event !== undefined)
  t.strictSame(
    events.map(({ event, operationId, reqId }) => [event, operationId, reqId]),
    ['start', 'run', 'release'].map((event) => [event, id, 'req-7']),
  )
  for (const { level } of [...a.lines, ...b.lines]) t.ok(level <= 30, 'a deploy is not a fault')
  await b.close()
})

t.test('with a shared store, operations run after work(), and not during a pause', async (t) => {
  const [clock, shared] = [manualClock(start), memoryOperationStore()]
  const { begin, service, contexts, close } = setUp({ clock, store: unruly(shared) })
  await service.start()
  await begin()
  await clock.advance(3 * lease)
  t.equal(contexts.length, 0, 'app.ready() of a script takes no work')
  for (const isPaused of [true, false]) await service.pause(isPaused)
  await clock.advance(3 * lease)
  t.equal(contexts.length, 0, 'nor after a pause')
  await service.pause(true)
  await service.work()
  await clock.advance(0)
  t.equal(contexts.length, 0, 'in a pause')
  await service.pause(false)
  await clock.advance(0)
  t.equal(contexts.length, 1)
  await service.pause(true)
  await begin()
  await clock.advance(3 * lease)
  t.equal(contexts.length, 1)
  const other = setUp({ clock, store: unruly(shared) })
  await other.work()
  await clock.advance(2 * lease)
  t.match(other.contexts, [{ run: 1 }], 'it leaves what is due to others')
  await service.pause(false)
  await begin()
  await clock.advance(0)
  t.equal(contexts.length, 2)
  for (const instance of [other, { close }]) await instance.close()
})

t.test("an instance whose clock is an hour ahead takes no live run: the store's clock decides", async (t) => {
  const real = Date.now
  const shared = Object.assign(memoryOperationStore(), { time: async () => real() })
  const instance = () => setUp({ store: unruly(shared), now: undefined as never })
  const [a, b] = [instance(), instance()]
  await a.work()
  t.intercept(Date, 'now', { value: () => real() + hour })
  await b.work()
  const { id } = await a.begin()
  await a.clock.advance(0)
  t.match(a.contexts, [{ operationId: id }])
  t.match(await b.service.registry.claim(id, () => ({ maxRuns: 3, timeout: hour })), { kind: 'later' })
  await b.clock.advance(lease)
  t.strictSame(b.contexts, [])
  t.ok((await b.begin()).createdAt < real() + hour / 2)
  for (const { close } of [a, b]) await close()
})

t.test('a wait ends with the operation, also in another process, or by its time limit', async (t) => {
  const [clock, shared] = [manualClock(start), memoryOperationStore()]
  let behind = 0
  const now = () => clock.now() - behind
  const { begin, work, service, end } = setUp({ clock, store: unruly(shared), now })
  const other = setUp({ clock, store: unruly(shared) })
  await work()
  for (const [waiter, wait] of [
    [service, 0],
    [other.service, 250],
  ] as const) {
    const ended = waiter.ended(await begin(), 10_000)
    await clock.advance(0)
    end()
    await clock.advance(0)
    await clock.advance(wait)
    t.match(await ended, { status: 'Succeeded' })
  }
  const record = await begin()
  const late = service.ended(record, 5_000)
  await clock.advance(0)
  await clock.advance(1_000)
  behind = hour
  for (let second = 1; second < 5; second += 1) await clock.advance(1_000)
  t.match(await late, { status: 'In progress' }, 'in time, also if the clock of the store is set back')
  end()
  await clock.advance(0)
  await service.close()
})

t.test('who waits for an operation is told of its end, also after another one has left', async (t) => {
  const { begin, work, service, end, clock, close } = setUp({ store: unruly(memoryOperationStore(), false) })
  await work()
  const record = await begin()
  const [left, stays] = [1_000, 9_000].map((time) => service.ended(record, time))
  await clock.advance(1_000)
  t.match(await left, { status: 'In progress' })
  end()
  await clock.advance(0)
  t.match(await stays, { status: 'Succeeded' })
  await close()
})

t.test('an operation that only another process defines runs there', async (t) => {
  const [clock, shared] = [manualClock(start), memoryOperationStore()]
  const [own, other] = ['another', 'work'].map((name) => setUp({ clock, store: unruly(shared), name }))
  await sure(other).service.start()
  const { id } = await sure(other).begin()
  clock.skip(lease)
  await sure(own).work()
  await sure(other).work()
  await clock.advance(lease)
  t.match(await sure(other).find(id), { run: 1 })
  for (const instance of [own, other]) await sure(instance).close()
})

t.test('an engine that takes over is asked for lost jobs every ten leases', async (t) => {
  for (const [takesOver, interval] of [
    [false, 20_000],
    [true, 200_000],
  ] as const) {
    const clock = manualClock(start)
    const jobs: OperationJob[] = []
    const inner = inProcessEngine({ schedule: clock.schedule })
    const engine = {
      ...inner,
      takesOver,
      isShared: true,
      enqueue: async (job: OperationJob) => void jobs.push(job),
    }
    const { begin, work, close } = setUp({ clock, engine })
    await work()
    await begin()
    await clock.advance(interval - 1)
    t.match(jobs, [{ isNew: true }])
    await clock.advance(19_999)
    t.match(jobs, [{ isNew: true }, { isNew: false }])
    t.equal(jobs.length, 2)
    await close()
  }
})

t.test('Retry-After: that of the definition, or of the options, or the delay of the operation', async (t) => {
  const { service, clock } = setUp({ retryAfter: 7 })
  service.definitions.define('slow', { retryAfter: 60 }, async () => {}, Fastify().log)
  const at = (seconds: number) => clock.now() + seconds * 1_000
  for (const [name, notBefore, seconds] of [
    ['work', null, 7],
    ['of another release', null, 7],
    ['slow', at(20), 60],
    ['slow', at(90.2), 91],
    ['slow', at(1_000_000), 86_400],
  ] as const) {
    t.equal(service.retryAfter({ name, notBefore }), seconds)
  }
})

t.test('work() before the start lets the process work from the start on', async (t) => {
  const { begin, service, clock, contexts, close } = setUp({ unwind: 0 })
  await service.work()
  await clock.advance(0)
  t.equal(clock.waiting(), 0, 'nothing is swept')
  await service.start()
  await begin()
  await clock.advance(0)
  t.equal(contexts.length, 1)
  await service.work()
  await close()
  t.equal(clock.waiting(), 0)
})

t.test('a process that closes while its engine begins to work sweeps nothing', async (t) => {
  const clock = manualClock(start)
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const engine = { ...inProcessEngine({ schedule: clock.schedule }), work: () => begun }
  const { service } = setUp({ clock, engine, unwind: 0 })
  await service.start()
  const working = service.work()
  await service.close()
  begin()
  await working
  await clock.advance(0)
  t.equal(clock.waiting(), 0)
})

t.test('a start has an event if its record stays, also if the engine refused it', async (t) => {
  for (const stays of [false, true]) {
    const engine = inProcessEngine({ maxQueued: 0 })
    const { begin, service, store, lines, close } = setUp({ engine })
    await service.start()
    if (stays) store.moods.remove = 'fails'
    await t.rejects(begin(), { code: stays ? 'operations-unavailable' : 'operations-full' })
    t.equal(lines.filter(({ event }) => event === 'start').length, stays ? 1 : 0)
    await close()
  }
  const { begin, service, lines, close } = setUp()
  await service.start()
  for (const _ of [1, 2]) await begin({ key: 'a' })
  t.equal(lines.filter(({ event }) => event === 'start').length, 1, 'a start that is sent again is no other')
  await close()
})
