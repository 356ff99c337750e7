/** What a client is told to wait, and how often it may ask. */
import fc from 'fast-check'
import t from 'tap'
import { PollLimit, pollAfter, RunTimes } from '../../../src/plugins/operations/polls.js'

const bounds = { min: 1, max: 30, initial: 5 }

t.test('when it is worth to ask again', async (t) => {
  type Row = readonly [usual: number | null, elapsed: number, seconds: number, why: string]
  const rows: readonly Row[] = [
    [null, 0, 5, 'nothing is known'],
    [null, 3_600_000, 5, 'nothing is known, however long it took'],
    [10_000, 0, 10, 'all of the usual time'],
    [10_000, 4_000, 6, 'what is left of it'],
    [10_000, 9_500, 1, 'rounded up: nobody comes too early'],
    [10_000, 10_000, 3, 'a quarter of what it took so far'],
    [10_000, 40_000, 10, 'and so on'],
    [10_000, 3_600_000, 30, 'never more than the most'],
    [3_600_000, 0, 30, 'never more than the most'],
    [0, 0, 1, 'never less than the least'],
    [100, 0, 1, 'never less than the least'],
    [10_000, -5_000, 15, 'a clock that went back'],
  ]
  for (const [usual, elapsed, seconds, why] of rows) t.equal(pollAfter(usual, elapsed, bounds), seconds, why)
  t.equal(pollAfter(null, 0, { min: 10, max: 60, initial: 5 }), 10, 'the first is within the bounds too')
  t.equal(pollAfter(null, 0, { min: 1, max: 3, initial: 5 }), 3)
})

t.test('it is a whole number within the bounds, whatever is known', async () => {
  const time = fc.integer({ min: -1_000_000, max: 1e12 })
  fc.assert(
    fc.property(fc.option(time), time, (usual, elapsed) => {
      const seconds = pollAfter(usual, elapsed, bounds)
      return Number.isInteger(seconds) && seconds >= 1 && seconds <= 30
    }),
  )
})

t.test('so many polls of one operation within a window, then how long to wait', async (t) => {
  const limit = new PollLimit({ max: 3, timeWindow: 60_000 })
  const counted = [0, 1_000, 2_000, 3_000, 59_999].map((now) => limit.count('a', now))
  t.strictSame(counted, [null, null, null, 57_000, 1])
  t.equal(limit.count('b', 3_000), null, 'each has its own')
  t.equal(limit.count('a', 60_000), null, 'a new window')
  t.equal(limit.count('a', 60_001), null)
})

t.test('who goes on asking does not wait longer for it', async (t) => {
  const limit = new PollLimit({ max: 1, timeWindow: 1_000 })
  for (let now = 0; now < 1_000; now += 10) limit.count('a', now)
  t.equal(limit.count('a', 1_000), null)
})

t.test('only the last operations are counted, so that their number is no matter', async (t) => {
  const limit = new PollLimit({ max: 1, timeWindow: 60_000 })
  for (let index = 0; index < 10_000; index += 1) limit.count(`operation ${index}`, 0)
  t.equal(limit.count('operation 0', 1), 59_999)
  limit.count('one more', 0)
  t.equal(limit.count('operation 0', 1), null, 'the first makes way')
  t.equal(limit.count('operation 9999', 1), 59_999)
})

t.test('nothing is known of a name that has not ended yet', async (t) => {
  const times = new RunTimes()
  times.add('a', 1_000, 1)
  t.equal(times.usual('b'), null)
  t.equal(times.usual('__proto__'), null)
})

t.test('three in four of the last runs were over by then', async (t) => {
  const times = new RunTimes()
  times.add('a', 4_000, 1)
  t.equal(times.usual('a'), 4_000)
  for (const [index, took] of [1_000, 3_000, 2_000].entries()) times.add('a', took, 2 + index)
  t.equal(times.usual('a'), 4_000)
  times.add('a', 1_500, 9)
  t.equal(times.usual('a'), 3_000)
})

t.test('the last sixteen count', async (t) => {
  const times = new RunTimes()
  for (let end = 1; end <= 10_000; end += 1) times.add('a', 60_000, end)
  for (let end = 10_001; end <= 10_016; end += 1) times.add('a', 2_000, end)
  t.equal(times.usual('a'), 2_000)
})

t.test('the same end teaches once, however often it is looked at; so does an older one', async (t) => {
  const times = new RunTimes()
  for (let end = 1; end <= 4; end += 1) times.add('a', 1_000, end)
  for (let time = 0; time < 100; time += 1) times.add('a', 900_000, 5)
  for (let time = 0; time < 100; time += 1) times.add('a', 900_000, 3)
  t.equal(times.usual('a'), 1_000)
})

t.test('a clock that went back gives no negative time', async (t) => {
  const times = new RunTimes()
  times.add('a', -5, 1)
  t.equal(times.usual('a'), 0)
})
