/** `Retry-After` (RFC 9110 §10.2.3): never zero, never negative, never before the end. */
import fc from 'fast-check'
import t from 'tap'
import { parseHttpDate } from '../../../src/http/dates.js'
import { retryAfterField } from '../../../src/plugins/maintenance/state.js'

interface Parts {
  readonly now: number
  readonly until: number | null
  readonly jitter: number
  readonly retryAfter: number
  readonly retryAfterFormat: 'seconds' | 'http-date'
}

const now = Date.parse('2026-11-20T08:00:00.000Z')

function field(parts: Partial<Parts>): string {
  const usual: Parts = { now, until: null, jitter: 0, retryAfter: 60, retryAfterFormat: 'seconds' }
  const all = { ...usual, ...parts }
  return retryAfterField(all.now, all.until, all.jitter, all)
}

t.test('seconds count down, rounded up, to one and no further', async (t) => {
  const rows: readonly (readonly [left: number, expected: string])[] = [
    [90_000, '90'],
    [89_999, '90'],
    [1_001, '2'],
    [1, '1'],
    [-5_000, '1'],
  ]
  for (const [left, expected] of rows) t.equal(field({ until: now + left }), expected, `${left} ms left`)
  t.equal(field({ retryAfter: 120 }), '120', 'without an end')
  t.equal(field({ until: now + 1, jitter: 7 }), '8', 'jitter is added')
})

t.test('a date is rounded up to the next second, and ahead of now', async (t) => {
  const rows: readonly (readonly [parts: Partial<Parts>, expected: string])[] = [
    [{ until: now + 90_000 }, 'Fri, 20 Nov 2026 08:01:30 GMT'],
    [{ until: now + 90_001 }, 'Fri, 20 Nov 2026 08:01:31 GMT'],
    [{ until: now + 90_000, jitter: 5 }, 'Fri, 20 Nov 2026 08:01:35 GMT'],
    [{ until: now - 90_000 }, 'Fri, 20 Nov 2026 08:00:01 GMT'],
    [{ retryAfter: 120 }, 'Fri, 20 Nov 2026 08:02:00 GMT'],
    [{ until: Date.parse('9999-12-31T23:59:59Z'), jitter: 9 }, 'Fri, 31 Dec 9999 23:59:59 GMT'],
  ]
  for (const [parts, expected] of rows)
    t.equal(field({ ...parts, retryAfterFormat: 'http-date' }), expected, expected)
})

t.test('a client that follows it never comes back before the end, nor at once', async () => {
  const time = fc.integer({ min: 0, max: 4_000_000_000_000 })
  fc.assert(
    fc.property(time, time, fc.integer({ min: 0, max: 3600 }), (now, until, jitter) => {
      const seconds = Number(field({ now, until, jitter }))
      const date = parseHttpDate(field({ now, until, jitter, retryAfterFormat: 'http-date' })) ?? Number.NaN
      return (
        Number.isInteger(seconds) &&
        seconds >= 1 &&
        now + seconds * 1000 >= until &&
        date > now &&
        date >= until
      )
    }),
  )
})
