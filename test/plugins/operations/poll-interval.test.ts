import fc from 'fast-check'
import t from 'tap'
import { pollAfter } from '../../../src/plugins/operations/poll-interval.js'

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
