import t from 'tap'
import { duration, timeWindowOf } from '../../src/time/time-window.js'

t.test('a window is milliseconds, or a number with a unit', async (t) => {
  const units: Readonly<Record<string, number>> = {
    's sec secs second seconds': 1000,
    'm min mins minute minutes': 60_000,
    'h hr hrs hour hours': 3_600_000,
    'd day days': 86_400_000,
  }
  const ofUnits = Object.entries(units).flatMap(([names, milliseconds]) =>
    names.split(' ').map((name) => [`2 ${name}`, 2 * milliseconds] as const),
  )
  const ofOne = ['ms', 'millisecond', 'milliseconds'].map((name) => [`1500${name}`, 1500] as const)
  const windows: readonly (readonly [window: unknown, milliseconds: number])[] = [
    ...[...ofUnits, ...ofOne],
    [1000, 1000],
    ['1.5 hours', 5_400_000],
    ['2.125s', 2125],
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
  const units = ['xms', 'xs', 'xm', 'xh', 'xd', 'msx', 'sx', 'mx', 'hx', 'dx'].map((name) => `2000 ${name}`)
  for (const other of [...numbers, ...texts, ...units, '2.1234 s', ['2 s'], null, undefined, {}])
    t.equal(timeWindowOf(other), null, String(other))
})

t.test('an option that is a window becomes milliseconds, or its name is in the error', async (t) => {
  t.equal(duration('x.timeWindow', '30s'), 30_000)
  t.throws(() => duration('x.timeWindow', '10 ms'), { message: /^x\.timeWindow: expected at least a second/ })
})
