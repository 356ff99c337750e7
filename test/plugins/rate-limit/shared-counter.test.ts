/** What fails, or does not answer, does not delay requests for longer than half a second: Redis, and a function for `max`. */
import { setImmediate as flush } from 'node:timers/promises'
import t from 'tap'
import { limitsOf } from '../../../src/plugins/rate-limit/caller.js'
import {
  boundedCounter,
  type Counter,
  patience,
  type State,
} from '../../../src/plugins/rate-limit/counter.js'
import { manualClock } from '../../support/manual-clock.js'

const states: readonly State[] = []

/** Counts by a counter that keeps what is asked of it, for the test to answer. */
function setUp() {
  const clock = manualClock('2026-11-20T08:00:00Z')
  const asked: { answer(): void; fail(error: Error): void }[] = []
  const held: Counter = () =>
    new Promise((resolve, reject) => {
      asked.push({ answer: () => resolve(states), fail: reject })
    })
  const bounded = boundedCounter(held, clock.schedule)
  const outcomes: unknown[] = []
  const count = () =>
    void Promise.resolve(bounded({} as never, 'ann', [])).then(
      (each) => outcomes.push(each),
      (error) => outcomes.push(error),
    )
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
  const max = (): Promise<number> => {
    calls += 1
    return calls === 1 ? new Promise(() => {}) : Promise.resolve(5)
  }
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
