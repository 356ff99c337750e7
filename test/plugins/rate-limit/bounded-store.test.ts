/** A store that fails, or does not answer, does not delay requests for longer than half a second. */
import { setImmediate as flush } from 'node:timers/promises'
import t from 'tap'
import { boundedStore, patience } from '../../../src/plugins/rate-limit/stores/bounded.js'
import type { QuotaOutcome, QuotaStore } from '../../../src/plugins/rate-limit/stores/store.js'
import { manualClock } from '../../support/manual-clock.js'

const outcome: QuotaOutcome = { isTaken: true, states: [] }

/** A store that keeps what is asked of it, for the test to answer. */
function heldStore() {
  const asked: { answer(): void; fail(error: Error): void }[] = []
  const hold = <Result>(result: Result) =>
    new Promise<Result>((resolve, reject) => {
      asked.push({ answer: () => resolve(result), fail: reject })
    })
  const store: QuotaStore = { take: () => hold(outcome), giveBack: () => hold(undefined) }
  return { store, asked }
}

function setUp() {
  const clock = manualClock('2026-11-20T08:00:00Z')
  const { store, asked } = heldStore()
  const bounded = boundedStore(store, clock.schedule)
  const outcomes: unknown[] = []
  const keep = (error: { readonly cause?: unknown }) => outcomes.push(error.cause)
  const count = () =>
    void Promise.resolve(bounded.take('key', [], 1)).then((each) => outcomes.push(each), keep)
  const giveBack = () => void Promise.resolve(bounded.giveBack('key', [], 1, [])).then(() => {}, keep)
  return { clock, asked, outcomes, count, giveBack }
}

t.test('a reply in time is returned, and no timer is left', async (t) => {
  const { clock, asked, outcomes, count } = setUp()
  count()
  await clock.advance(patience - 1)
  asked[0]?.answer()
  await flush()
  t.strictSame(outcomes, [outcome])
  t.equal(clock.waiting(), 0)
})

t.test('a call without a reply in time fails once, whatever comes later', async (t) => {
  const { clock, asked, outcomes, count } = setUp()
  count()
  await clock.advance(patience)
  asked[0]?.answer()
  asked[0]?.fail(new Error('closed'))
  await flush()
  t.equal(outcomes.length, 1)
  t.match(outcomes[0], { message: 'an answer of the store of the quotas did not come within 500 ms' })
})

t.test('after a failure one call tries again, and the others fail until it has a reply', async (t) => {
  const { clock, asked, outcomes, count } = setUp()
  count()
  asked[0]?.fail(new Error('closed'))
  await flush()
  for (let calls = 0; calls < 100; calls += 1) count()
  await flush()
  t.equal(asked.length, 2, 'one asks')
  t.equal(outcomes.length, 100, 'the others have failed')
  await clock.advance(patience)
  await flush()
  t.equal(outcomes.length, 101)
  count()
  count()
  t.equal(asked.length, 3, 'the next one asks')
  asked[2]?.answer()
  await flush()
  count()
  count()
  t.equal(asked.length, 5, 'and once it is answered, all do')
})

t.test(
  'calls before the first failure all run, and do not end the wait of the one that tries again',
  async (t) => {
    const { asked, count } = setUp()
    count()
    count()
    t.equal(asked.length, 2, 'both run')
    asked[0]?.fail(new Error('closed'))
    await flush()
    count()
    t.equal(asked.length, 3, 'one tries again')
    asked[1]?.fail(new Error('closed'))
    await flush()
    count()
    await flush()
    t.equal(asked.length, 3, 'it still waits')
  },
)

t.test('giving back waits no longer, and tells too whether the store is away', async (t) => {
  const { clock, asked, outcomes, count, giveBack } = setUp()
  giveBack()
  await clock.advance(patience)
  t.match(outcomes, [{ message: /did not come within 500 ms/ }])
  count()
  count()
  t.equal(asked.length, 2, 'one call tries again')
})

t.test('each failure is the problem quota-unavailable, with its cause', async (t) => {
  const store: QuotaStore = {
    take() {
      throw new Error('thrown')
    },
    giveBack: () => Promise.reject(new Error('thrown')),
  }
  const bounded = boundedStore(store, manualClock('2026-11-20T08:00:00Z').schedule)
  const calls: readonly (() => Promise<unknown>)[] = [
    async () => bounded.take('key', [], 1),
    async () => bounded.giveBack('key', [], 1, []),
  ]
  for (const call of calls) {
    await t.rejects(async () => call(), {
      code: 'quota-unavailable',
      statusCode: 503,
      headers: { 'retry-after': /^[1-9]\d*$/, 'cache-control': 'no-store' },
      cause: { message: 'thrown' },
    })
  }
})

t.test('a store that returns anything else than a state for each quota has failed', async (t) => {
  const quota = { name: 'default', max: 5, timeWindow: 60_000 }
  const state = { used: 1, ttl: 60_000, end: 0 }
  const outcomes: readonly unknown[] = [
    undefined,
    null,
    {},
    { isTaken: true },
    { isTaken: true, states: [] },
    { isTaken: true, states: [state, state] },
    { states: [state] },
  ]
  for (const outcome of outcomes) {
    const store: QuotaStore = { take: async () => outcome as QuotaOutcome, giveBack: () => {} }
    const bounded = boundedStore(store, manualClock('2026-11-20T08:00:00Z').schedule)
    await t.rejects(async () => bounded.take('key', [quota], 1), {
      code: 'quota-unavailable',
      cause: { message: 'the store of the quotas has not returned a state for each of them' },
    })
  }
})
