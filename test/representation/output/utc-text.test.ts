/** A Date is written in UTC as `toISOString()` writes it, whichever day it is. */
import fc from 'fast-check'
import t from 'tap'
import { utcText } from '../../../src/representation/output/utc-text.js'

// The furthest that a Date goes from 1970, in milliseconds.
const furthest = 8.64e15
const firstOfYear = (year: number): number => Date.parse(`${String(year).padStart(4, '0')}-01-01T00:00:00Z`)

t.test('on every day that a Date can be', async (t) => {
  const time = fc.oneof(
    fc.integer({ min: firstOfYear(1900), max: firstOfYear(2100) }),
    fc.integer({ min: firstOfYear(0), max: firstOfYear(9999) }),
    fc.integer({ min: -furthest, max: furthest }),
  )
  const details = fc.check(
    fc.property(time, (one) => utcText(new Date(one)) === new Date(one).toISOString()),
    { numRuns: 5000 },
  )
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? 'random times')
})

t.test('also around the years where it gets longer, and at both ends', async (t) => {
  const turns = [firstOfYear(0), firstOfYear(1000), 0, firstOfYear(9999), Date.UTC(10_000, 0)]
  const times = turns.flatMap((turn) => [-1000, -100, -10, -1, 0, 1, 10, 100, 1000].map((by) => turn + by))
  for (const time of [...times, -furthest, furthest]) {
    t.equal(utcText(new Date(time)), new Date(time).toISOString())
  }
})

t.test('a Date that is none is refused', async (t) => {
  t.throws(() => utcText(new Date(Number.NaN)), { name: 'RangeError', message: 'Invalid time value' })
})
