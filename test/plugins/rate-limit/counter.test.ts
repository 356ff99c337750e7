/** Counts are exact, their memory stays small, and what does not answer delays requests for half a second at most. */
import { deepStrictEqual } from 'node:assert/strict'
import { setImmediate as flush } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { limitsOf } from '../../../src/plugins/rate-limit/caller.js'
import {
  boundedCounter,
  type Counter,
  limitsWith,
  memoryCounter,
  patience,
  quotaFields,
  quotaProblem,
  type State,
  sfString,
} from '../../../src/plugins/rate-limit/counter.js'
import type { Quota } from '../../../src/plugins/rate-limit/options.js'
import { manualClock } from '../../support/manual-clock.js'
import { forAll, inRuns } from '../../support/property.js'

type FixedQuota = Quota & { readonly max: number }

function counterAt(callers: number, now: () => number) {
  const count = memoryCounter(callers, now)
  return (caller: string, quotas: readonly FixedQuota[]) => {
    const maxima = quotas.map(({ max }) => max)
    const states = count({} as never, caller, limitsWith(quotas, maxima).list) as readonly State[]
    return states.map(({ limit: _, ...state }) => state)
  }
}

/** What has counted, as a plain list: the model of a counter. */
class Model {
  readonly #taken: { caller: string; name: string; window: number; start: number }[] = []
  #windows = 0

  take(caller: string, quotas: readonly FixedQuota[], now: number) {
    const exceeded = quotas.map((quota) => this.#stateOf(caller, quota, now).used >= quota.max)
    for (const quota of exceeded.includes(true) ? [] : quotas) {
      const { start, window } = this.#stateOf(caller, quota, now)
      this.#taken.push({ caller, name: quota.name, window: window ?? this.#windows++, start })
    }
    return quotas.map((quota, index) => {
      const { used, start } = this.#stateOf(caller, quota, now)
      return { used, ttl: start + quota.timeWindow - now, isExceeded: exceeded[index] }
    })
  }

  #stateOf(caller: string, { name, timeWindow }: Quota, now: number) {
    const own = this.#taken.filter((each) => each.caller === caller && each.name === name)
    const last = own.at(-1)
    if (last === undefined || now < last.start || now >= last.start + timeWindow) {
      return { used: 0, start: now, window: null }
    }
    const { start, window } = last
    return { used: own.filter((each) => each.window === window).length, start, window }
  }
}

t.test('counts in memory are those of a list of all requests, whatever the clock does', async () => {
  const quotas = [
    { name: 'none', max: 0, timeWindow: 5000 },
    { name: 'burst', max: 3, timeWindow: 1000 },
    { name: 'minute', max: 10, timeWindow: 60_000 },
    { name: 'hour', max: 25, timeWindow: 3_600_000 },
  ]
  const step = fc.record({
    // Clocks are also set back.
    elapsed: fc.oneof(
      { arbitrary: fc.integer({ min: 0, max: 1500 }), weight: 8 },
      { arbitrary: fc.integer({ min: -5000, max: 70_000 }), weight: 1 },
    ),
    caller: fc.constantFrom('ann', 'bob', '__proto__'),
    quotas: fc.subarray(quotas, { minLength: 1 }),
  })
  inRuns(300, fc.array(step, { maxLength: 60 }), (steps) => {
    let now = 1_000_000
    const count = counterAt(100, () => now)
    const model = new Model()
    for (const { elapsed, caller, quotas } of steps) {
      now += elapsed
      deepStrictEqual(count(caller, quotas), model.take(caller, quotas, now))
    }
  })
})

t.test('a max that has changed holds at once', async (t) => {
  const count = memoryCounter(10, () => 1_000_000)
  const quota: Quota = { name: 'plan', max: () => 0, timeWindow: 60_000 }
  const told = [2, 2, 2, 1, 3, 3].map((max) => {
    const [state] = count({} as never, 'ann', limitsWith([quota], [max]).list) as readonly State[]
    return `${state?.used} ${state?.isExceeded}`
  })
  t.strictSame(told, ['1 false', '2 false', '2 true', '2 true', '3 false', '3 true'])
})

t.test('the least recently seen caller is dropped first', async (t) => {
  const count = counterAt(2, () => 1_000_000)
  const quotas = [{ name: 'one', max: 2, timeWindow: 60_000 }]
  const used = (caller: string) => count(caller, quotas)[0]?.used
  t.strictSame([used('a'), used('b'), used('a'), used('a')], [1, 1, 2, 2])
  used('c')
  t.strictSame([used('a'), used('b')], [2, 1], 'a refused request counts as seen')
})

t.test('the quota whose window ends last decides when a refused request is sent again', async (t) => {
  const windows = [1000, 3_600_000, 86_400_000]
  const quotas = windows.map((timeWindow) => ({ name: `q${timeWindow}`, max: 1, timeWindow }))
  const { list, policy } = limitsWith(quotas, [10, 100, 1000])
  const states = (...rows: readonly (readonly [used: number, ttl: number, isExceeded: boolean])[]) =>
    rows.map(([used, ttl, isExceeded], index) => {
      return { limit: list[index] as State['limit'], used, ttl, isExceeded }
    })
  const both = states([10, 700, true], [100, 90_001, true], [999, 80_000_000, false])
  for (const given of [both, both.toReversed()]) {
    const violated = given.flatMap(({ limit, isExceeded }) => (isExceeded ? [limit.quota.name] : []))
    t.match(quotaProblem(policy, given, 'v'), {
      message: 'There were more than 100 requests in 3600 seconds; try again in 91 seconds',
      headers: { 'retry-after': '91' },
      extensions: { v: violated },
    })
  }
  const headers = { 'retry-after': '1', ratelimit: '"q1000";r=0;t=0' }
  t.match(quotaProblem(policy, states([10, 0, true]), 'v'), { headers }, 'after a second, at least')
  const { ratelimit } = quotaFields(policy, states([11, 1000, false]))
  t.equal(ratelimit, '"q1000";r=0;t=1', 'after its max was lowered')
})

t.test('any name is written as a string of RFC 9651', async (t) => {
  t.equal(sfString('POST /v1/orders/:id/retry'), '"POST /v1/orders/:id/retry"')
  t.equal(sfString('a "quoted" \\ one'), '"a \\"quoted\\" \\\\ one"')
  t.equal(sfString('/v1/😀'), '"/v1/%F0%9F%98%80"')
  t.equal(sfString('/v1/\ud800'), '"/v1/%EF%BF%BD"')
  forAll(fc.string({ unit: 'binary' }), (name) => /^"(?:[ !#-[\]-~]|\\["\\])*"$/.test(sfString(name)))
})

/** Counts by a counter that keeps what is asked of it, for the test to answer. */
function setUp() {
  const clock = manualClock('2026-11-20T08:00:00Z')
  const asked: { answer(): void; fail(error: Error): void }[] = []
  const held: Counter = () =>
    new Promise((resolve, reject) => {
      asked.push({ answer: () => resolve([]), fail: reject })
    })
  const bounded = boundedCounter(held, clock.schedule)
  const outcomes: unknown[] = []
  const keep = (outcome: unknown) => void outcomes.push(outcome)
  const count = () => void Promise.resolve(bounded({} as never, 'ann', [])).then(keep, keep)
  return { clock, asked, outcomes, count }
}

t.test('a call without a reply in time fails once, whatever comes later', async (t) => {
  const { clock, asked, outcomes, count } = setUp()
  count()
  await clock.advance(patience)
  asked[0]?.answer()
  asked[0]?.fail(new Error('closed'))
  await flush()
  t.equal(outcomes.length, 1)
  t.match(outcomes[0], { message: 'an answer of Redis did not come within 500 ms' })
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

t.test('calls before the first failure all run, and do not end the wait of the retry', async (t) => {
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
})

t.test('a max that does not come in time is a failure, and is looked up again', async (t) => {
  const clock = manualClock('2026-11-20T08:00:00Z')
  let calls = 0
  const max = () => (++calls === 1 ? new Promise<number>(() => {}) : Promise.resolve(5))
  const limits = limitsOf([{ name: 'default', max, timeWindow: 60_000 }], clock.now, clock.schedule)
  const ask = async () => limits({} as never, { key: 'key:ann', id: 'ann' })
  const both = [ask(), ask()].map((limits) => t.rejects(limits, { message: /did not come within 500 ms/ }))
  t.equal(calls, 1, 'both wait for one result')
  await clock.advance(patience)
  await Promise.all(both)
  t.match(await ask(), { policy: '"default";q=5;w=60' })
  t.equal(calls, 2)
  t.equal(clock.waiting(), 0)
})
