/** The one place that changes records: over a store that answers, and over one that does not. */
import t, { type Test } from 'tap'
import { cancelledFailure, OperationRegistry } from '../../../src/plugins/operations/registry.js'
import { memoryOperationStore } from '../../../src/plugins/operations/stores/memory.js'
import type { ProblemError } from '../../../src/problem/problem-error.js'
import { manualClock } from '../../support/manual-clock.js'
import { failed, idOf, lease, retention, start, succeeded, sure } from './samples.js'
import { downMessage, unruly } from './unruly-store.js'

const operation = { name: 'work', owner: null, input: null, cancellable: true }

function setUp(isShared = true, itsLease = lease) {
  const clock = manualClock(start)
  const store = unruly(memoryOperationStore(), isShared)
  const ended: string[] = []
  const registry = new OperationRegistry({
    store,
    lease: itsLease,
    retention,
    storeTimeout: 5_000,
    now: clock.now,
    schedule: clock.schedule,
    onEnd: ({ status }) => ended.push(status),
  })
  return { clock, store, registry, ended }
}

async function isUnavailable(t: Test, asked: Promise<unknown>, cause: RegExp, name: string): Promise<void> {
  const error = (await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  )) as (ProblemError & { readonly cause?: unknown }) | null
  t.equal(error?.code, 'operations-unavailable', name)
  t.equal(error?.headers?.['retry-after'], '5')
  t.match((error?.cause as Error | undefined)?.message, cause)
  t.notMatch(error?.message, cause, 'the cause is not for the client')
}

t.test('ids are 128 bits, all of them random', async (t) => {
  const { registry } = setUp()
  const ids = new Set<string>()
  for (let count = 0; count < 1_000; count += 1)
    ids.add((await registry.create(registry.draft(operation))).id)
  t.equal(ids.size, 1_000)
  for (const id of ids) if (!/^[0-9a-f]{32}$/.test(id)) t.fail(id)
  for (let place = 0; place < 32; place += 1) {
    t.ok(new Set([...ids].map((id) => id[place])).size === 16, `digit ${place} takes all its values`)
  }
})

t.test('what is no id is never looked for', async (t) => {
  const { registry, store } = setUp()
  const strange = [
    '',
    'a',
    idOf(1).toUpperCase().replace('0', 'A'),
    `${idOf(1)}0`,
    '__proto__',
    `${idOf(1)}\n`,
    'x'.repeat(10_000),
  ]
  for (const id of strange) t.equal(await registry.find(id), null)
  t.equal(store.calls.get, undefined)
})

t.test('what has had its time is not there, also where the store still has it', async (t) => {
  const { registry, clock } = setUp()
  const { id } = await registry.create(registry.draft(operation))
  await registry.cancel(id)
  clock.skip(2 * retention - 1)
  t.equal((await registry.find(id))?.status, 'Failed')
  clock.skip(1)
  t.equal(await registry.find(id), null)
  t.equal(await registry.expire(10), 1)
})

t.test('a claim says what is in its way', async (t) => {
  const { registry, clock } = setUp()
  const { id } = await registry.create(registry.draft(operation))
  t.strictSame(await registry.claim(idOf(9), () => 3), { kind: 'absent' })
  t.match(await registry.claim(id, () => 0), { kind: 'spent' })
  t.match(await registry.claim(id, () => 1), { kind: 'claimed', record: { run: 1 } })
  t.strictSame(await registry.claim(id, () => 3), { kind: 'busy', until: clock.now() + lease })
  await registry.cancel(id)
  t.strictSame(await registry.claim(id, () => 3), { kind: 'busy', until: clock.now() + lease })
  clock.skip(lease)
  t.match(await registry.claim(id, () => 3), { kind: 'cancelling' })
  await registry.finish(id, null, failed)
  t.match(await registry.claim(id, () => 3), { kind: 'final' })
})

t.test('what cannot be cancelled is left alone', async (t) => {
  const { registry } = setUp()
  const { id } = await registry.create(registry.draft({ ...operation, cancellable: false }))
  t.match(await registry.cancel(id), { status: 'In progress', isCancelling: false, version: 1 })
  t.equal(await registry.cancel(idOf(9)), null)
})

t.test('cancel against finish, 500 races: one final state, told of once, the same for both', async (t) => {
  const { registry, ended } = setUp()
  const seen = { Succeeded: 0, Failed: 0 }
  for (let race = 0; race < 500; race += 1) {
    const { id } = await registry.create(registry.draft(operation))
    const isRunning = race % 3 !== 0
    if (isRunning) await registry.claim(id, () => 3)
    const cancelled = async () => {
      for (let turn = 0; turn < race % 7; turn += 1) await null
      return registry.cancel(id)
    }
    const finished = async () => {
      for (let turn = 0; turn < race % 5; turn += 1) await null
      return registry.finish(id, isRunning ? 1 : null, succeeded)
    }
    await Promise.all(
      race % 2 === 0 ? [cancelled(), finished(), cancelled()] : [finished(), cancelled(), cancelled()],
    )
    const record = sure(await registry.find(id))
    if (record.status === 'In progress') throw new Error('it has not ended')
    seen[record.status] += 1
    if (record.error !== null && record.result !== null) t.fail('it ended twice')
    const again = await Promise.all([
      registry.cancel(id),
      registry.finish(id, 1, failed),
      registry.finish(id, null, failed),
    ])
    for (const found of again) if (found !== record) t.fail('a final record changed')
  }
  t.equal(ended.length, 500)
  t.ok(seen.Succeeded > 50 && seen.Failed > 50, `${seen.Succeeded} succeeded, ${seen.Failed} were cancelled`)
})

t.test('many who claim at once: one has it', async (t) => {
  const { registry } = setUp()
  const { id } = await registry.create(registry.draft(operation))
  const claims = await Promise.all(Array.from({ length: 50 }, () => registry.claim(id, () => 3)))
  t.equal(claims.filter(({ kind }) => kind === 'claimed').length, 1)
  t.equal(claims.filter(({ kind }) => kind === 'busy').length, 49)
})

t.test('a store that fails is operations-unavailable, and its cause is kept for the log', async (t) => {
  const { registry, store } = setUp()
  const { id } = await registry.create(registry.draft(operation))
  store.mood = 'fails'
  const asks: Readonly<Record<string, () => Promise<unknown>>> = {
    create: () => registry.create(registry.draft(operation)),
    find: () => registry.find(id),
    claim: () => registry.claim(id, () => 3),
    finish: () => registry.finish(id, null, failed),
    cancel: () => registry.cancel(id),
    announceCancel: () => registry.announceCancel(id),
    release: () => registry.release(id, 1),
    due: () => registry.due(1),
    expire: () => registry.expire(1),
  }
  for (const [name, ask] of Object.entries(asks)) await isUnavailable(t, ask(), RegExp(downMessage), name)
})

t.test('a store that throws before it gives a promise fails as others do', async (t) => {
  const { registry, store } = setUp()
  store.get = () => {
    throw new Error(downMessage)
  }
  await isUnavailable(t, registry.find(idOf(1)), RegExp(downMessage), 'find')
})

t.test('a shared store has its time for an answer, and no timer is left', async (t) => {
  const { registry, store, clock } = setUp()
  const { id } = await registry.create(registry.draft(operation))
  t.equal(clock.waiting(), 0, 'none after an answer')
  store.mood = 'hangs'
  const asked = registry.find(id)
  asked.catch(() => {})
  await clock.advance(4_999)
  t.equal(clock.waiting(5_000), 1)
  await clock.advance(1)
  await isUnavailable(t, asked, /did not come within 5000 ms/, 'find')
  t.equal(clock.waiting(), 0)
})

t.test('a record that its client sent twice is created', async (t) => {
  const { registry, store } = setUp()
  const record = registry.draft(operation)
  await store.create(record)
  t.equal(await registry.create(record), record)
})

t.test('a store is asked to create a record before the call returns, and so it is told', async (t) => {
  const { registry, store, clock } = setUp()
  const asked: unknown[] = []
  const created = registry.create(registry.draft(operation), () => asked.push(store.calls.create))
  t.strictSame(asked, [1])
  await created
  store.mood = 'hangs'
  const late = Array.from({ length: 100 }, () => registry.find(idOf(1)).catch(() => {}))
  await clock.advance(5_000)
  await Promise.all(late)
  await t.rejects(registry.create(registry.draft(operation), () => asked.push('unasked')))
  store.create = () => {
    throw new Error(downMessage)
  }
  await clock.advance(5_000)
  await t.rejects(registry.create(registry.draft(operation), () => asked.push('unasked')))
  t.strictSame(asked, [1])
})

t.test('an error is an answer: a store that gives one is asked again', async (t) => {
  const { registry, store, clock } = setUp()
  store.mood = 'hangs'
  const late = Array.from({ length: 100 }, () => registry.find(idOf(1)).catch(() => {}))
  await clock.advance(5_000)
  await Promise.all(late)
  await clock.advance(5_000)
  store.mood = 'fails'
  await isUnavailable(t, registry.find(idOf(1)), RegExp(downMessage), 'the try')
  await isUnavailable(t, registry.find(idOf(1)), RegExp(downMessage), 'what comes after it')
})

t.test('a sign of life that is late by its own time says nothing of others', async (t) => {
  const { registry, store, clock } = setUp(true, 3_000)
  const runs = Array.from({ length: 100 }, async () => {
    const { id } = await registry.create(registry.draft(operation))
    const claim = await registry.claim(id, () => 1)
    if (claim.kind !== 'claimed') throw new Error(claim.kind)
    return claim.record
  })
  const records = await Promise.all(runs)
  store.mood = 'hangs'
  const renewed = records.map((record) => registry.renew(record, null).catch(({ code }) => code))
  await clock.advance(1_000)
  t.strictSame(new Set(await Promise.all(renewed)), new Set(['operations-unavailable']))
  store.mood = 'well'
  t.equal(await registry.find(idOf(1)), null)
})

t.test('while a hundred answers are overdue a store is asked once in its time for an answer', async (t) => {
  const { registry, store, clock } = setUp()
  store.mood = 'hangs'
  const ask = () => registry.find(idOf(1)).catch(() => {})
  const asked = Array.from({ length: 100 }, ask)
  await clock.advance(5_000)
  await Promise.all(asked)
  t.equal(store.calls.get, 100)
  await isUnavailable(t, registry.find(idOf(1)), /the store does not answer/, 'at once')
  const later = []
  for (let second = 0; second < 100; second += 1) {
    later.push(ask(), ask())
    await clock.advance(1_000)
  }
  await clock.advance(5_000)
  await Promise.all(later)
  t.equal(store.calls.get, 100 + 19)
  store.mood = 'well'
  await registry.find(idOf(1))
  for (let more = 0; more < 5; more += 1) t.equal(await registry.find(idOf(1)), null, 'it answers again')
})

t.test('a sign of life is given up while there is time for another', async (t) => {
  const clock = manualClock(start)
  const store = unruly(memoryOperationStore())
  const { now, schedule } = clock
  const registry = new OperationRegistry({
    store,
    lease: 3_000,
    retention,
    storeTimeout: 5_000,
    now,
    schedule,
  })
  const { id } = await registry.create(registry.draft(operation))
  const claim = await registry.claim(id, () => 1)
  if (claim.kind !== 'claimed') throw new Error(claim.kind)
  store.mood = 'hangs'
  const renewed = registry.renew(claim.record, null)
  renewed.catch(() => {})
  await clock.advance(1_000)
  await isUnavailable(t, renewed, /within 1000 ms/, 'renew')
})

t.test('an end whose answer got lost is found when it is written again', async (t) => {
  const { registry, store, ended } = setUp()
  const { id } = await registry.create(registry.draft(operation))
  await registry.claim(id, () => 3)
  store.moods.replace = 'loses answers'
  await isUnavailable(t, registry.finish(id, 1, succeeded), RegExp(downMessage), 'finish')
  store.moods.replace = 'well'
  t.match(await registry.finish(id, 1, succeeded), { status: 'Succeeded', run: 1, version: 3 })
  t.equal(ended.length, 0, 'whose end it was is not known')
})

t.test('a sign of life whose answer got lost is given again', async (t) => {
  const { registry, store } = setUp()
  const { id } = await registry.create(registry.draft(operation))
  const claim = await registry.claim(id, () => 3)
  if (claim.kind !== 'claimed') throw new Error(claim.kind)
  store.moods.replace = 'loses answers'
  await t.rejects(registry.renew(claim.record, 0.1))
  store.moods.replace = 'well'
  t.match(await registry.renew(claim.record, 0.2), { run: 1, progress: 0.2, version: 4 })
})

t.test('a sign of life tells that somebody asked to cancel', async (t) => {
  const { registry } = setUp()
  const { id } = await registry.create(registry.draft(operation))
  const claim = await registry.claim(id, () => 3)
  if (claim.kind !== 'claimed') throw new Error(claim.kind)
  await registry.cancel(id)
  t.match(await registry.renew(claim.record, 0.2), { isCancelling: true, progress: 0.2 })
  t.match(await registry.finish(id, 1, { status: 'Failed', error: cancelledFailure }), {
    isCancelling: false,
  })
})

t.test('a full store is operations-full', async (t) => {
  const clock = manualClock(start)
  const { now, schedule } = clock
  const store = memoryOperationStore({ maxOperations: 1 })
  const registry = new OperationRegistry({ store, lease, retention, storeTimeout: 5_000, now, schedule })
  await registry.create(registry.draft(operation))
  await t.rejects(registry.create(registry.draft(operation)), { code: 'operations-full', statusCode: 503 })
})
