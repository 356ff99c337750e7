/** RFC 9111 §5.3 and decisions §4: `Expires` in the future, and at most one year ahead. */
import fc from 'fast-check'
import t from 'tap'
import { parseHttpDate } from '../../../src/http/http-date.js'
import { judgeExpires, longestExpiry } from '../../../src/plugins/caching/expires.js'

const now = Date.parse('2026-11-20T12:00:00.400Z')

t.test('a time ahead is sent as IMF-fixdate, whatever it was given as', async (t) => {
  const value = 'Sat, 21 Nov 2026 12:00:00 GMT'
  for (const time of [
    new Date('2026-11-21T12:00:00Z'),
    Date.parse('2026-11-21T12:00:00.999Z'),
    value,
    'Saturday, 21-Nov-26 12:00:00 GMT',
    'Sat Nov 21 12:00:00 2026',
  ]) {
    t.same(judgeExpires(time, now), { verdict: 'ok', value }, String(time))
  }
})

t.test('what is not ahead is past, to the second', async (t) => {
  for (const time of [0, -1, now, now - 1, now + 500, 'Fri, 20 Nov 2026 12:00:00 GMT', new Date(0)]) {
    t.same(judgeExpires(time, now), { verdict: 'past' }, String(time))
  }
  t.same(judgeExpires(now + 600, now), { verdict: 'ok', value: 'Fri, 20 Nov 2026 12:00:01 GMT' })
})

t.test('what is more than one year ahead is clamped to one', async (t) => {
  const value = 'Sat, 20 Nov 2027 12:00:00 GMT'
  t.same(judgeExpires(now + longestExpiry, now), { verdict: 'ok', value })
  t.same(judgeExpires(now + longestExpiry + 1, now), { verdict: 'clamped', value })
  t.same(judgeExpires('Thu, 31 Dec 2037 23:55:55 GMT', now), { verdict: 'clamped', value })
  t.same(judgeExpires(new Date(8.64e15), now), { verdict: 'clamped', value })
  t.same(judgeExpires(1e300, now), { verdict: 'clamped', value })
})

t.test('RFC 9111 §5.3: what is no date is invalid, 0 among others', async (t) => {
  const infinite = Number.POSITIVE_INFINITY
  for (const time of [
    '0',
    '-1',
    '',
    'never',
    '2026-11-21T12:00:00Z',
    Number.NaN,
    infinite,
    new Date('never'),
  ]) {
    t.same(judgeExpires(time, now), { verdict: 'invalid' }, String(time))
  }
})

t.test('whatever is sent is ahead, and at most one year', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.double(), fc.integer(), fc.date(), fc.string()), (time) => {
      const judged = judgeExpires(time, now)
      if (!('value' in judged)) return true
      const sent = parseHttpDate(judged.value, now) ?? 0
      return sent > now - 1000 && sent <= now + longestExpiry
    }),
  )
})
