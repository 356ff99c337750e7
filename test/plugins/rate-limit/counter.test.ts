/** Counts in memory are exact, and the memory stays small; how a response tells them. */
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  limitsWith,
  memoryCounter,
  quotaFields,
  quotaProblem,
  type State,
  sfString,
} from '../../../src/plugins/rate-limit/counter.js'
import type { Quota } from '../../../src/plugins/rate-limit/options.js'

function counterAt(callers: number, now: () => number) {
  const count = memoryCounter(callers, now)
  return (caller: string, quotas: readonly (Quota & { readonly max: number })[]) => {
    const { list } = limitsWith(
      quotas,
      quotas.map(({ max }) => max),
    )
    const states = count({} as never, caller, list) as readonly State[]
    return states.map(({ limit: _, ...state }) => state)
  }
}

/** What has counted, as a plain list: the model of a counter. */
class Model {
  readonly #taken: { caller: string; name: string; window: number; start: number }[] = []
  #windows = 0

  take(caller: string, quotas: readonly (Quota & { readonly max: number })[], now: number) {
    const exceeded = quotas.map((quota) => this.#stateOf(caller, quota, now).used >= quota.max)
    if (!exceeded.includes(true)) for (const quota of quotas) this.#add(caller, quota, now)
    return quotas.map((quota, index) => {
      const { used, start } = this.#stateOf(caller, quota, now)
      return { used, ttl: start + quota.timeWindow - now, isExceeded: exceeded[index] }
    })
  }

  #add(caller: string, quota: Quota, now: number): void {
    const { start, window } = this.#stateOf(caller, quota, now)
    this.#taken.push({ caller, name: quota.name, window: window ?? this.#windows++, start })
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
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let now = 1_000_000
      const count = counterAt(100, () => now)
      const model = new Model()
      for (const { elapsed, caller, quotas } of steps) {
        now += elapsed
        deepStrictEqual(count(caller, quotas), model.take(caller, quotas, now))
      }
    }),
    { numRuns: 300 },
  )
})

t.test('a max that has changed holds at once', async (t) => {
  const count = memoryCounter(10, () => 1_000_000)
  const quota: Quota = { name: 'plan', max: () => 0, timeWindow: 60_000 }
  for (const [max, used, isExceeded] of [
    [2, 1, false],
    [2, 2, false],
    [2, 2, true],
    [1, 2, true],
    [3, 3, false],
    [3, 3, true],
  ] as const) {
    const [state] = count({} as never, 'ann', limitsWith([quota], [max]).list) as readonly State[]
    t.strictSame([state?.used, state?.isExceeded], [used, isExceeded])
  }
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
  const quotas = [1000, 3_600_000, 86_400_000].map((timeWindow) => ({
    name: `q${timeWindow}`,
    max: 1,
    timeWindow,
  }))
  const { list, policy } = limitsWith(quotas, [10, 100, 1000])
  const states = (...rows: readonly (readonly [used: number, ttl: number, isExceeded: boolean])[]): State[] =>
    rows.map(([used, ttl, isExceeded], index) => ({
      limit: list[index] as State['limit'],
      used,
      ttl,
      isExceeded,
    }))
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
  t.equal(sfString('/v1/bücher'), '"/v1/b%C3%BCcher"')
  t.equal(sfString('/v1/😀'), '"/v1/%F0%9F%98%80"')
  t.equal(sfString('/v1/\ud800'), '"/v1/%EF%BF%BD"')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => /^"(?:[ !#-[\]-~]|\\["\\])*"$/.test(sfString(name))),
  )
})
