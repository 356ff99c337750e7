import t from 'tap'
import { progressOf } from '../../../src/plugins/operations/progress.js'

t.test('progress is a number from 0 to 1, the nearest; what is no number says nothing', async (t) => {
  const rows: readonly (readonly [given: unknown, read: number | null])[] = [
    [0, 0],
    [0.4, 0.4],
    [1, 1],
    [-1, 0],
    [40, 1],
    [Number.POSITIVE_INFINITY, 1],
    [Number.NEGATIVE_INFINITY, 0],
    [Number.NaN, null],
    ['0.5', null],
    [1n, null],
    [null, null],
    [undefined, null],
    [{ valueOf: () => 1 }, null],
  ]
  for (const [given, read] of rows) t.equal(progressOf(given), read)
})
