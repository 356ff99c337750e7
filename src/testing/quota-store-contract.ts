import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { QuotaLimit, QuotaOutcome, QuotaStore } from '../plugins/rate-limit/stores/store.js'
import type { ContractClause } from './operation-store-contract.js'

/** The options of a contract. */
export interface QuotaStoreSetUp {
  /** Opens a store, and returns it as two instances see it; if it is not shared, the same object twice. */
  open(): Promise<readonly [QuotaStore, QuotaStore]>
  /** Waits, or moves the clock of the stores by a number of milliseconds. */
  wait(milliseconds: number): Promise<void>
}

/**
 * Returns the tests of a {@link QuotaStore}, for any test runner:
 *
 * ```ts
 * for (const { name, run } of quotaStoreContract({ open, wait })) test(name, run)
 * ```
 *
 * Each test uses callers of its own, so the store need not be empty.
 */
export function quotaStoreContract({ open, wait }: QuotaStoreSetUp): readonly ContractClause[] {
  return Object.entries(clauses).map(([name, check]) => ({
    name,
    run: async () => check(...(await open()), wait),
  }))
}

type Clause = (one: QuotaStore, other: QuotaStore, wait: QuotaStoreSetUp['wait']) => Promise<void>

const clauses: Readonly<Record<string, Clause>> = {
  async '`take` counts for a caller, whichever instance is called'(one, other) {
    const caller = randomCaller()
    strictEqual(usedIn(await one.take(caller, [hourly], 1)), '1')
    strictEqual(usedIn(await other.take(caller, [hourly], 1)), '2')
    strictEqual(usedIn(await one.take(randomCaller(), [hourly], 1)), '1', 'another caller')
  },
  async '`take` returns the end of the window, which begins with the first request'(one, other, wait) {
    const caller = randomCaller()
    const [first] = (await one.take(caller, [hourly], 1)).states
    strictEqual(first?.ttl, 3_600_000)
    await wait(20)
    const [second] = (await other.take(caller, [hourly], 1)).states
    ok(second !== undefined && second.ttl > 3_590_000 && second.ttl <= 3_600_000 - 20, `${second?.ttl}`)
    ok(isSameWindow(first, second))
  },
  async '`take` takes what fits, to the last unit'(one) {
    const caller = randomCaller()
    strictEqual(isTakenIn(await one.take(caller, [hourly], 4)), true)
    strictEqual(isTakenIn(await one.take(caller, [hourly], 2)), false)
    strictEqual(isTakenIn(await one.take(caller, [hourly], 1)), true)
    const full = await one.take(caller, [hourly], 1)
    deepStrictEqual([isTakenIn(full), usedIn(full)], [false, '5'])
  },
  async '`take` takes from all quotas or from none'(one, other) {
    const caller = randomCaller()
    deepStrictEqual(summary(await one.take(caller, [hourly, daily], 3)), [true, '3 3'])
    deepStrictEqual(summary(await other.take(caller, [hourly, daily], 3)), [false, '3 3'])
    deepStrictEqual(summary(await one.take(caller, [daily, hourly], 3)), [false, '3 3'], 'in any order')
    deepStrictEqual(summary(await one.take(caller, [daily], 3)), [true, '6'])
  },
  async '`take` begins no window of a refused request'(one, _, wait) {
    const caller = randomCaller()
    await one.take(caller, [hourly], 5)
    const { states } = await one.take(caller, [hourly, daily], 1)
    deepStrictEqual(states[1]?.used, 0)
    strictEqual(states[1]?.ttl, daily.timeWindow, 'the whole length')
    await wait(20)
    strictEqual((await one.take(caller, [daily], 1)).states[0]?.ttl, daily.timeWindow)
  },
  async '`take` with cost 0 reads, and begins no window'(one, other, wait) {
    const caller = randomCaller()
    deepStrictEqual(summary(await one.take(caller, [hourly], 0)), [true, '0'])
    await wait(20)
    strictEqual((await other.take(caller, [hourly], 1)).states[0]?.ttl, hourly.timeWindow)
    await one.take(caller, [hourly], 4)
    deepStrictEqual(summary(await other.take(caller, [hourly], 0)), [true, '5'])
  },
  async '`take` succeeds for as many of 60 concurrent calls as fit'(one, other) {
    const caller = randomCaller()
    const quotas = [{ ...hourly, max: 40 }, daily]
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => (index % 2 ? one : other).take(caller, quotas, 2)),
    )
    const taken = outcomes.filter(isTakenIn)
    strictEqual(taken.length, 20)
    strictEqual(new Set(taken.map(usedIn)).size, 20, 'each gets its own state')
  },
  async '`take` obeys a `max` that has changed'(one) {
    const caller = randomCaller()
    await one.take(caller, [hourly], 5)
    deepStrictEqual(summary(await one.take(caller, [{ ...hourly, max: 2 }], 1)), [false, '5'])
    deepStrictEqual(summary(await one.take(caller, [{ ...hourly, max: 6 }], 1)), [true, '6'])
    deepStrictEqual(summary(await one.take(randomCaller(), [{ ...hourly, max: 0 }], 1)), [false, '0'])
  },
  async '`take` counts exactly up to 10^15'(one) {
    const caller = randomCaller()
    const large = { ...hourly, max: 999_999_999_999_999 }
    await one.take(caller, [large], 999_999_999_999_998)
    deepStrictEqual(summary(await one.take(caller, [large], 1)), [true, '999999999999999'])
    deepStrictEqual(summary(await one.take(caller, [large], 1)), [false, '999999999999999'])
  },
  async '`take` begins a new window when one has ended'(one, other, wait) {
    const caller = randomCaller()
    const second = { name: 'second', max: 1, timeWindow: 1000 }
    strictEqual(isTakenIn(await one.take(caller, [second, hourly], 1)), true)
    const refused = await other.take(caller, [second, hourly], 1)
    strictEqual(isTakenIn(refused), false)
    await wait(refused.states[0]?.ttl ?? 0)
    deepStrictEqual(summary(await other.take(caller, [second, hourly], 1)), [true, '1 2'])
  },
  async '`take` keeps callers and quotas of any name apart'(one, other) {
    const prefix = randomCaller()
    const names = ['', ' ', 'a', 'a b', '{a}', '}a{', '*', "'", '\u0000', 'ü', '\ud83d\ude00', '__proto__']
    const each = names.flatMap((caller) => names.map((name) => [`${prefix}/${caller}`, name] as const))
    for (const [caller, name] of each) {
      const quotas = [
        { ...hourly, name: `1 ${name}` },
        { ...daily, name: `2 ${name}` },
      ]
      deepStrictEqual(
        summary(await one.take(caller, quotas, 1)),
        [true, '1 1'],
        JSON.stringify([caller, name]),
      )
      deepStrictEqual(summary(await other.take(caller, quotas, 1)), [true, '2 2'])
    }
  },
  async '`giveBack` gives back what was taken, and the window stays'(one, other) {
    const caller = randomCaller()
    await one.take(caller, [hourly, daily], 2)
    const { states } = await one.take(caller, [hourly, daily], 3)
    await other.giveBack(caller, [hourly], 3, [states[0]?.end ?? 0])
    const after = await one.take(caller, [hourly, daily], 1)
    deepStrictEqual(summary(after), [true, '3 6'])
    ok(isSameWindow(states[0], after.states[0]))
  },
  async '`giveBack` leaves a later window as it is'(one, other, wait) {
    const caller = randomCaller()
    const second = { name: 'second', max: 5, timeWindow: 1000 }
    const { states } = await one.take(caller, [second], 1)
    const ends = [states[0]?.end ?? 0]
    await wait(states[0]?.ttl ?? 0)
    await other.giveBack(caller, [second], 1, ends)
    deepStrictEqual(summary(await one.take(caller, [second], 2)), [true, '2'], 'there was no window')
    await other.giveBack(caller, [second], 1, ends)
    deepStrictEqual(summary(await one.take(caller, [second], 1)), [true, '3'], 'there was a later window')
  },
  async '`giveBack` gives back no more than was used'(one) {
    const caller = randomCaller()
    const { states } = await one.take(caller, [hourly], 1)
    for (let calls = 0; calls < 3; calls += 1) await one.giveBack(caller, [hourly], 1, [states[0]?.end ?? 0])
    deepStrictEqual(summary(await one.take(caller, [hourly], 5)), [true, '5'])
    deepStrictEqual(summary(await one.take(caller, [hourly], 1)), [false, '5'])
  },
}

const hourly: QuotaLimit = { name: 'hourly', max: 5, timeWindow: 3_600_000 }
const daily: QuotaLimit = { name: 'daily', max: 1000, timeWindow: 86_400_000 }

const randomCaller = () => `address:${randomBytes(16).toString('hex')}`
const isTakenIn = ({ isTaken }: QuotaOutcome) => isTaken
const usedIn = ({ states }: QuotaOutcome) => states.map(({ used }) => used).join(' ')
const summary = (outcome: QuotaOutcome) => [outcome.isTaken, usedIn(outcome)]

/** Whether two states are of one window; a clock that counts in microseconds may be one millisecond off. */
function isSameWindow(
  one: { readonly end: number } | undefined,
  other: { readonly end: number } | undefined,
) {
  return one !== undefined && other !== undefined && Math.abs(one.end - other.end) <= 5
}
