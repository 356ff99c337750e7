import t from 'tap'
import { isRetryAfter, readNotice } from '../../../src/plugins/maintenance/notice.js'

const until = '2026-11-20T12:00:00.000Z'

t.test('a notice from outside: what can be used counts, what cannot is told', async (t) => {
  const rows: readonly (readonly [value: unknown, notice: object, fault: string | null])[] = [
    [{}, {}, null],
    [{ until: '2026-11-20T13:00:00+01:00', reason: 'move' }, { until, reason: 'move' }, null],
    [{ until: new Date(until) }, { until }, null],
    [{ retryAfter: 120, owner: 'ops' }, { retryAfter: 120 }, null],
    [{ until: null, retryAfter: null, reason: null }, {}, null],
    [{ until: 'noon', reason: 'move' }, { reason: 'move' }, 'until is no RFC 3339 date-time'],
    [{ until: 1_795_000_000 }, {}, 'until is no RFC 3339 date-time'],
    [{ retryAfter: '120', reason: 7 }, {}, 'retryAfter is no integer from 1 to 604800; reason is no text'],
    [[], {}, 'it is no object'],
    ['maintenance', {}, 'it is no object'],
    [null, {}, 'it is no object'],
    [{ reason: 'x'.repeat(600) }, { reason: `${'x'.repeat(500)}…` }, null],
  ]
  for (const [value, notice, fault] of rows) {
    t.strictSame(readNotice(value), { notice, fault }, JSON.stringify(value)?.slice(0, 80))
  }
})

t.test('seconds to wait: whole, from one to a week', async (t) => {
  for (const value of [1, 604_800]) t.ok(isRetryAfter(value), String(value))
  for (const value of [0, -1, 1.5, 604_801, Number.NaN, '5', null])
    t.notOk(isRetryAfter(value), String(value))
})
