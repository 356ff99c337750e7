import t from 'tap'
import { timeWindowOf } from '../../src/time/time-window.js'

t.test('a window is milliseconds, or a number with a unit', async (t) => {
  const windows: readonly (readonly [window: unknown, milliseconds: number])[] = [
    [1000, 1000],
    ['1 minute', 60_000],
    ['1m', 60_000],
    ['5 min', 300_000],
    ['30s', 30_000],
    ['30 seconds', 30_000],
    ['1.5 hours', 5_400_000],
    ['2 days', 172_800_000],
    ['1500 ms', 1500],
  ]
  for (const [window, milliseconds] of windows) t.equal(timeWindowOf(window), milliseconds, String(window))
})

t.test('an invalid window, or one below a second, is refused', async (t) => {
  const numbers = [999, 0, -1, 1000.5, Number.NaN, Number.POSITIVE_INFINITY]
  const texts = [
    '',
    '1',
    'minute',
    '1 fortnight',
    '0 s',
    '10 ms',
    '-1 minute',
    '1e3 s',
    '1  minute',
    '1 minute ',
  ]
  for (const other of [...numbers, ...texts, null, undefined, {}])
    t.equal(timeWindowOf(other), null, String(other))
})
