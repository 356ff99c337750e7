/** RFC 3339 §5.6 (grammar) and §5.7 (restrictions). */
import fc from 'fast-check'
import t from 'tap'
import { timeOf, utcDateTime } from '../../src/http/dates.js'

t.test('date-times of RFC 3339, as the same instant in UTC', async (t) => {
  const rows: readonly (readonly [text: string, utc: string])[] = [
    // The examples of RFC 3339 §5.8, but for the leap seconds.
    ['1985-04-12T23:20:50.52Z', '1985-04-12T23:20:50.52Z'],
    ['1996-12-19T16:39:57-08:00', '1996-12-20T00:39:57Z'],
    ['1937-01-01T12:00:27.87+00:20', '1937-01-01T11:40:27.87Z'],
    ['2026-01-02T03:04:05+00:00', '2026-01-02T03:04:05Z'],
    ['2026-01-02t03:04:05z', '2026-01-02T03:04:05Z'],
    ['2026-01-01T00:00:00+23:59', '2025-12-31T00:01:00Z'],
    ['2024-02-29T23:30:00-01:00', '2024-03-01T00:30:00Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['0000-12-31T23:00:00-02:00', '0001-01-01T01:00:00Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
    ['2026-01-02T03:04:05.100Z', '2026-01-02T03:04:05.100Z'],
  ]
  for (const [text, utc] of rows) t.equal(utcDateTime(text), utc, text)
})

t.test('invalid date-times, and dates that do not exist, are not RFC 3339', async (t) => {
  const plain =
    '2026-01-02 2026-01-02T03:04Z 2026-01-02T03:04:05 2026-01-02T03:04:05+0100 2026-01-02T03:04:05+01 ' +
    '2026-01-02T03:04:05+24:00 2026-01-02T03:04:05+01:60 2026-01-02T03:04:05.Z 2026-01-02T03:04:05,5Z ' +
    '2026-01-02T03:04:05.1234567890Z 2026-1-2T03:04:05Z +002026-01-02T03:04:05Z 2026-00-02T03:04:05Z ' +
    '2026-13-02T03:04:05Z 2026-01-00T03:04:05Z 2026-01-32T03:04:05Z 2026-02-29T03:04:05Z ' +
    '1900-02-29T03:04:05Z 2026-04-31T03:04:05Z 2026-01-02T24:00:00Z 2026-01-02T03:60:05Z ' +
    '2026-01-02T03:04:60Z 0000-01-01T00:00:00Z 0001-01-01T00:00:00+00:01 9999-12-31T23:59:59-00:01 ' +
    '٢٠٢٦-01-02T03:04:05Z 1767323045'
  const others = ['', '2026-01-02 03:04:05Z', ' 2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z\n']
  for (const text of [...plain.split(' '), ...others]) t.equal(utcDateTime(text), null, JSON.stringify(text))
})

// The years 2 to 9998: an offset leads out of none of them into a year that has no four digits.
const instant = fc.date({
  min: new Date('0002-01-01T00:00:00Z'),
  max: new Date('9998-12-31T23:59:59Z'),
  noInvalidDate: true,
})
const offset = fc
  .tuple(fc.constantFrom('+', '-'), fc.nat(23), fc.nat(59))
  .map(([sign, hours, minutes]) => `${sign}${two(hours)}:${two(minutes)}`)
const fraction = fc.stringMatching(/^(\.\d{1,9})?$/)

t.test('conversion to UTC keeps the instant, and each digit of the fraction', async () => {
  fc.assert(
    fc.property(instant, offset, fraction, (date, zone, digits) => {
      const local = date.toISOString().slice(0, 19)
      const utc = utcDateTime(`${local}${digits}${zone}`) ?? ''
      const milliseconds = Date.parse(`${local}${zone}`)
      return (
        utc === `${new Date(milliseconds).toISOString().slice(0, 19)}${digits}Z` && utcDateTime(utc) === utc
      )
    }),
  )
})

t.test('the time of a Date or of a date-time, in the years 1 to 9999', async (t) => {
  const rows: readonly (readonly [value: unknown, time: string | null])[] = [
    ['2026-11-20T13:00:00.5+01:00', '2026-11-20T12:00:00.500Z'],
    [new Date('2026-11-20T12:00:00Z'), '2026-11-20T12:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    [new Date('0001-01-01T00:00:00Z'), '0001-01-01T00:00:00.000Z'],
    [new Date('9999-12-31T23:59:59.999Z'), '9999-12-31T23:59:59.999Z'],
    [new Date(Date.parse('0001-01-01T00:00:00Z') - 1), null],
    [new Date('+010000-01-01T00:00:00Z'), null],
    [new Date(Number.NaN), null],
    ['2026-02-30T00:00:00Z', null],
    [Date.UTC(2026, 10, 20), null],
    [null, null],
    [['2026-11-20T12:00:00Z'], null],
  ]
  for (const [value, time] of rows)
    t.equal(timeOf(value), time === null ? null : Date.parse(time), String(value))
})

function two(number: number): string {
  return String(number).padStart(2, '0')
}
