/** The stores of quotas: the contract, and that of a process stays small. */
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { memoryQuotaStore } from '../../../src/plugins/rate-limit/stores/memory.js'
import type { QuotaLimit, QuotaOutcome } from '../../../src/plugins/rate-limit/stores/store.js'
import { quotaStoreContract } from '../../../src/testing/index.js'

t.test('the store in memory fulfils the contract', async (t) => {
  let now = Date.UTC(2026, 10, 20, 12)
  const open = async () => {
    const store = memoryQuotaStore(10_000, () => now)
    return [store, store] as const
  }
  const wait = async (milliseconds: number) => {
    now += milliseconds
  }
  for (const { name, run } of quotaStoreContract({ open, wait })) {
    await t.test(name, async (t) => t.resolves(run()))
  }
})

/** What has counted, as a plain list: the model of a store. */
class Model {
  readonly #taken: { caller: string; name: string; window: number; start: number; cost: number }[] = []
  #windows = 0

  take(caller: string, quotas: readonly QuotaLimit[], cost: number, now: number) {
    const isTaken = quotas.every((quota) => this.#stateOf(caller, quota, now).used + cost <= quota.max)
    if (isTaken && cost > 0) for (const quota of quotas) this.#add(caller, quota, cost, now)
    const states = quotas.map((quota) => {
      const { used, start } = this.#stateOf(caller, quota, now)
      return { used, ttl: start + quota.timeWindow - now, end: start + quota.timeWindow }
    })
    return { isTaken, states }
  }

  giveBack(
    caller: string,
    quotas: readonly QuotaLimit[],
    cost: number,
    ends: readonly number[],
    now: number,
  ) {
    for (const [index, quota] of quotas.entries()) {
      const { start, window } = this.#stateOf(caller, quota, now)
      if (window !== null && start + quota.timeWindow === ends[index]) this.#add(caller, quota, -cost, now)
    }
  }

  #add(caller: string, quota: QuotaLimit, cost: number, now: number): void {
    const { start, window } = this.#stateOf(caller, quota, now)
    this.#taken.push({ caller, name: quota.name, window: window ?? this.#windows++, start, cost })
  }

  #stateOf(caller: string, { name, timeWindow }: QuotaLimit, now: number) {
    const own = this.#taken.filter((each) => each.caller === caller && each.name === name)
    const last = own.at(-1)
    if (last === undefined || now < last.start || now >= last.start + timeWindow) {
      return { used: 0, start: now, window: null }
    }
    const { start, window } = last
    const used = own.reduce((sum, each) => (each.window === window ? sum + each.cost : sum), 0)
    return { used, start, window }
  }
}

t.test('the store in memory counts like a list of all requests, whatever the clock does', (t) => {
  const quotas: readonly QuotaLimit[] = [
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
    caller: fc.constantFrom('ann', 'bob'),
    quotas: fc.subarray([...quotas], { minLength: 1 }),
    cost: fc.integer({ min: 0, max: 4 }),
    givesBack: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let now = 1_000_000
      const store = memoryQuotaStore(100, () => now)
      const model = new Model()
      for (const { elapsed, caller, quotas, cost, givesBack } of steps) {
        now += elapsed
        const expected = model.take(caller, quotas, cost, now)
        deepStrictEqual(store.take(caller, quotas, cost), expected)
        if (!givesBack || !expected.isTaken || cost === 0) continue
        now += Math.abs(elapsed) % 1200
        const ends = expected.states.map(({ end }) => end)
        model.giveBack(caller, quotas, cost, ends, now)
        store.giveBack(caller, quotas, cost, ends)
      }
    }),
    { numRuns: 300 },
  )
  t.end()
})

t.test('no caller gets more than max in a window, whatever is given back', (t) => {
  const quota = { name: 'login', max: 5, timeWindow: 60_000 }
  const store = memoryQuotaStore(10, () => 1_000_000)
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 40 }), (attempts) => {
      const caller = String(Math.random())
      let failures = 0
      for (const isFailure of attempts) {
        const { isTaken, states } = store.take(caller, [quota], 1) as QuotaOutcome
        strictEqual(isTaken, failures < 5)
        if (!isTaken) continue
        if (isFailure) failures += 1
        else store.giveBack(caller, [quota], 1, [states[0]?.end ?? 0])
      }
      return failures <= 5
    }),
  )
  t.end()
})

v8.setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

t.test('a million callers leave as many as the store keeps, the most recent ones', async (t) => {
  const quotas = [
    { name: 'burst', max: 5, timeWindow: 60_000 },
    { name: 'daily', max: 1000, timeWindow: 86_400_000 },
  ]
  const store = memoryQuotaStore(1000, () => 1_000_000)
  const used = (caller: number) =>
    (store.take(`address:${caller}`, quotas, 0) as QuotaOutcome).states.map((state) => state.used)
  const take = (from: number, to: number) => {
    for (let caller = from; caller < to; caller += 1) store.take(`address:${caller}`, quotas, 1)
  }
  const heapUsed = () => {
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  take(0, 20_000)
  const before = heapUsed()
  take(20_000, 1_000_000)
  const grown = heapUsed() - before
  t.strictSame(used(998_999), [0, 0], 'dropped')
  t.strictSame(
    [used(999_001), used(999_999)],
    [
      [1, 1],
      [1, 1],
    ],
    'kept',
  )
  // A million kept windows would be some 300 MB.
  t.ok(grown < 20_000_000, `${Math.round(grown / 1e6)} MB`)
})
