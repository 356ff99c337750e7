/** `Retry-After` (RFC 9110 §10.2.3): never zero, never negative, never before the end. */
import fc from 'fast-check'
import t from 'tap'
import { parseHttpDate } from '../../../src/http/dates.js'
import { retryAfterField } from '../../../src/plugins/maintenance/state.js'

const now = Date.parse('2026-11-20T08:00:00.250Z')

/** The field as seconds, and as a date. */
function fieldsOf(until: number | null, jitter = 0, at = now, retryAfter = 120): [string, string] {
  const field = (retryAfterFormat: 'seconds' | 'http-date') =>
    retryAfterField(at, until, jitter, { retryAfter, retryAfterFormat })
  return [field('seconds'), field('http-date')]
}

t.test('what is left is rounded up to the next second, and is at least one', async (t) => {
  for (const [left, jitter, seconds, time] of [
    [90_000, 0, '90', '08:01:31'],
    [89_999, 0, '90', '08:01:31'],
    [90_001, 0, '91', '08:01:32'],
    [1, 7, '8', '08:00:09'],
    [-90_000, 0, '1', '08:00:02'],
    [null, 0, '120', '08:02:01'],
  ] as const) {
    const fields = fieldsOf(left === null ? null : now + left, jitter)
    t.strictSame(fields, [seconds, `Fri, 20 Nov 2026 ${time} GMT`], `${left} ms left`)
  }
  const [, last] = fieldsOf(Date.parse('9999-12-31T23:59:59Z'), 9)
  t.equal(last, 'Fri, 31 Dec 9999 23:59:59 GMT')
})

t.test('a client that follows it never comes back before the end, nor at once', async () => {
  const time = fc.integer({ min: 0, max: 4_000_000_000_000 })
  fc.assert(
    fc.property(time, time, fc.integer({ min: 0, max: 3600 }), (now, until, jitter) => {
      const [field, dateField] = fieldsOf(until, jitter, now)
      const seconds = Number(field)
      const date = parseHttpDate(dateField) ?? Number.NaN
      const isLater = seconds >= 1 && date > now
      return Number.isInteger(seconds) && isLater && now + seconds * 1000 >= until && date >= until
    }),
  )
})
