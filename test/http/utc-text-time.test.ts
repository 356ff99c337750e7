import fc from 'fast-check'
import { test } from 'tap'
import { utcDateTime } from '../../src/http/date-time.js'
import { utcTextTime } from '../../src/http/utc-text-time.js'

const years = { min: new Date('0100-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z') }

test('a time in UTC is read to the second, with and without milliseconds', async (t) => {
  fc.assert(
    fc.property(fc.date({ ...years, noInvalidDate: true }), (date) => {
      const second = Math.floor(date.getTime() / 1000) * 1000
      const text = date.toISOString()
      return utcTextTime(text) === second && utcTextTime(`${text.slice(0, 19)}Z`) === second
    }),
  )
  t.equal(utcTextTime('2024-02-29T23:59:59.999Z'), Date.UTC(2024, 1, 29, 23, 59, 59))
})

test('what is no time in UTC, or not written so, is not read', async (t) => {
  const texts = [
    '',
    'Z',
    '2026-11-20',
    '2026-11-20T08:00:00',
    '2026-11-20T08:00:00+00:00',
    '2026-11-20T08:00:00.00Z',
    '2026-11-20T08:00:00.0000Z',
    '2026-11-20 08:00:00.000Z',
    '2026-11-20T08:00:00.0x0Z',
    '2026-11-20T08:00:00,000Z',
    '2026-13-20T08:00:00.000Z',
    '2026-00-20T08:00:00.000Z',
    '2026-02-29T08:00:00.000Z',
    '1900-02-29T08:00:00.000Z',
    '2026-04-31T08:00:00.000Z',
    '2026-01-00T08:00:00.000Z',
    '2026-01-32T08:00:00.000Z',
    '2026-11-20T24:00:00.000Z',
    '2026-11-20T08:60:00.000Z',
    '2026-11-20T08:00:60.000Z',
    '0026-11-20T08:00:00.000Z',
    '2o26-11-20T08:00:00.000Z',
    'T'.repeat(23).concat('Z'),
  ]
  for (const text of texts) t.ok(Number.isNaN(utcTextTime(text)), text)
})

test('nothing is read as a time that RFC 3339 would not have', async (t) => {
  const piece = fc.constantFrom('0', '1', '2', '3', '5', '9', '-', 'T', ':', '.', 'Z')
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.string({ unit: piece, minLength: 18, maxLength: 25 }), (text) => {
        return Number.isNaN(utcTextTime(text)) || utcDateTime(text) !== null
      }),
    ),
  )
})
