/** HTTP dates, read in three formats and written in one (RFC 9110 §5.6.7); date-times (RFC 3339 §5.6, §5.7). */
import fc from 'fast-check'
import t from 'tap'
import { formatHttpDate, parseHttpDate, timeOf, utcDateTime } from '../../src/http/dates.js'
import { forAll } from '../support/property.js'

const now = Date.parse('2026-11-20T12:00:00Z')
const example = Date.parse('1994-11-06T08:49:37Z')
const imf = 'Sun, 06 Nov 1994 08:49:37 GMT'
const timeIn = (text: string | null) => (text === null ? null : Date.parse(text))

t.test('RFC 9110 §5.6.7: all three formats are read, whatever the name of the day', async (t) => {
  const asctime = ['Sun Nov  6 08:49:37 1994', 'Sun Nov 06 08:49:37 1994', 'Sat Nov  6 08:49:37 1994']
  for (const text of [imf, 'Sunday, 06-Nov-94 08:49:37 GMT', ...asctime])
    t.equal(parseHttpDate(text, now), example, text)
})

t.test('RFC 9110 §5.6.7: dates are written as IMF-fixdate, without fractions of a second', async (t) => {
  // The first one again at the end: what was kept of another second is not taken.
  for (const [time, text] of [
    [example, imf],
    [example + 999, imf],
    [example + 1000, 'Sun, 06 Nov 1994 08:49:38 GMT'],
    [0, 'Thu, 01 Jan 1970 00:00:00 GMT'],
    [-1, 'Wed, 31 Dec 1969 23:59:59 GMT'],
    [example, imf],
  ] as const)
    t.equal(formatHttpDate(time), text)
})

t.test('RFC 9110 §5.6.7: a time without four digits of a year has no IMF-fixdate', async (t) => {
  t.equal(formatHttpDate(Date.parse('0001-01-01T00:00:00Z')), 'Mon, 01 Jan 0001 00:00:00 GMT')
  t.equal(formatHttpDate(Date.parse('9999-12-31T23:59:59.999Z')), 'Fri, 31 Dec 9999 23:59:59 GMT')
  const beyond = [Date.parse('+010000-01-01T00:00:00Z'), Date.parse('0001-01-01T00:00:00Z') - 1]
  for (const time of [Number.NaN, Number.POSITIVE_INFINITY, ...beyond])
    t.throws(() => formatHttpDate(time), RangeError, String(time))
})

t.test('RFC 9110 §5.6.7: other formats, another case and other whitespace are not HTTP-dates', async (t) => {
  const others = ['1994-11-06T08:49:37Z', '1994-11-06', '784111777', '0', '-1', '', 'now']
  const almost = ['Sun, 06 Nov 1994 08:49:37', 'Sun, 06 Nov 94 08:49:37 GMT', 'Sun, 06-Nov-94 08:49:37 GMT']
  almost.push('sunday, 06-Nov-94 08:49:37 GMT', 'Sun, 6 Nov 1994 08:49:37 GMT', 'Sun Nov 6 08:49:37 1994')
  almost.push('Xyz, 06 Nov 1994 08:49:37 GMT', 'Someday, 06-Nov-94 08:49:37 GMT')
  const spelt = ['Sun>sun', 'Nov>nov', 'Nov>NOV', 'GMT>gmt', ', >,', ', >,\t', ' GMT>  GMT'].map((change) => {
    const [from = '', to = ''] = change.split('>')
    return imf.replace(from, to)
  })
  const around = [` ${imf}`, `${imf} `, `${imf}\n`, `${imf}; length=10`, `${imf}, ${imf}`]
  for (const text of [...others, ...almost, ...spelt, ...around])
    t.equal(parseHttpDate(text, now), null, JSON.stringify(text))
})

t.test('RFC 9110 §5.6.7: day and time have to exist; a leap second is the one before', async (t) => {
  for (const [text, time] of [
    ['Thu, 29 Feb 2024 00:00:00 GMT', '2024-02-29T00:00:00Z'],
    ['Thu, 29 Feb 1900 00:00:00 GMT', null],
    ['Fri, 31 Apr 2026 00:00:00 GMT', null],
    ['Thu, 01 Jan 2026 24:00:00 GMT', null],
    ['Thu, 01 Jan 2026 23:60:00 GMT', null],
    ['Thu, 01 Jan 2026 23:59:61 GMT', null],
    ['Sat, 31 Dec 2016 23:59:60 GMT', '2016-12-31T23:59:59Z'],
    ['Saturday, 31-Dec-16 23:59:60 GMT', '2016-12-31T23:59:59Z'],
    ['Sat, 31 Dec 2016 23:00:60 GMT', null],
  ] as const)
    t.equal(parseHttpDate(text, now), timeIn(time), text)
})

t.test('RFC 9110 §5.6.7: a year of two digits is never more than 50 years ahead', async (t) => {
  for (const [today, text, time] of [
    ['2026-11-20T12:00:00Z', 'Friday, 20-Nov-76 12:00:00 GMT', '2076-11-20T12:00:00Z'],
    ['2026-11-20T12:00:00Z', 'Saturday, 20-Nov-76 12:00:01 GMT', '1976-11-20T12:00:01Z'],
    ['2099-06-01T00:00:00Z', 'Thursday, 01-Jan-05 00:00:00 GMT', '2105-01-01T00:00:00Z'],
    ['2055-01-01T00:00:00Z', 'Tuesday, 29-Feb-00 00:00:00 GMT', '2000-02-29T00:00:00Z'],
    ['2026-11-20T12:00:00Z', 'Monday, 29-Feb-23 00:00:00 GMT', null],
  ] as const)
    t.equal(parseHttpDate(text, Date.parse(today)), timeIn(time), `${text}, read in ${today}`)
  t.equal(parseHttpDate('Sunday, 06-Nov-94 08:49:37 GMT'), example, 'by default the current time counts')
})

t.test('RFC 9110 §5.6.7: a formatted date can be parsed, in all three formats', async () => {
  const anyTime = fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }).map((second) => second * 1000)
  forAll(anyTime, (time) => {
    const text = formatHttpDate(time)
    return parseHttpDate(text, now) === time && parseHttpDate(asctime(text), now) === time
  })
  const half = 49 * 365.25 * 24 * 60 * 60
  const nearTime = fc
    .integer({ min: -half, max: half })
    .map((second) => (Math.floor(now / 1000) + second) * 1000)
  forAll(nearTime, (time) => parseHttpDate(rfc850(formatHttpDate(time)), now) === time)
})

/** The parts of an IMF-fixdate: day, date, month, year, time. */
const partsOf = (imf: string) => imf.replace(',', '').split(' ')

function asctime(imf: string): string {
  const [day, date = '', month, year, time] = partsOf(imf)
  return `${day} ${month} ${date.replace(/^0/, ' ')} ${time} ${year}`
}

function rfc850(imf: string): string {
  const [day = '', date, month, year = '', time] = partsOf(imf)
  const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
  return `${days.find((name) => name.startsWith(day))}, ${date}-${month}-${year.slice(2)} ${time} GMT`
}

t.test('date-times of RFC 3339, as the same instant in UTC', async (t) => {
  for (const [text, utc] of [
    ['1937-01-01T12:00:27.87+00:20', '1937-01-01T11:40:27.87Z'],
    ['2026-01-02t03:04:05z', '2026-01-02T03:04:05Z'],
    ['2026-01-01T00:00:00+23:59', '2025-12-31T00:01:00Z'],
    ['2024-02-29T23:30:00-01:00', '2024-03-01T00:30:00Z'],
    ['0000-12-31T23:00:00-02:00', '0001-01-01T01:00:00Z'],
    ['2026-01-02T03:04:05.100Z', '2026-01-02T03:04:05.100Z'],
    ['2016-12-31T23:59:60.5Z', '2017-01-01T00:00:00.5Z'],
    ['1990-12-31T15:59:60-08:00', '1991-01-01T00:00:00Z'],
  ] as const)
    t.equal(utcDateTime(text), utc, text)
})

t.test('invalid date-times, and dates that do not exist, are not RFC 3339', async (t) => {
  const plain =
    '2026-01-02 2026-01-02T03:04Z 2026-01-02T03:04:05 2026-01-02T03:04:05+0100 2026-01-02T03:04:05+01 ' +
    '2026-01-02T03:04:05+24:00 2026-01-02T03:04:05+01:60 2026-01-02T03:04:05.Z 2026-01-02T03:04:05,5Z ' +
    '2026-01-02T03:04:05.1234567890Z 2026-1-2T03:04:05Z +002026-01-02T03:04:05Z 2026-00-02T03:04:05Z ' +
    '2026-13-02T03:04:05Z 2026-01-00T03:04:05Z 2026-01-32T03:04:05Z 2026-02-29T03:04:05Z ' +
    '1900-02-29T03:04:05Z 2026-04-31T03:04:05Z 2026-01-02T24:00:00Z 2026-01-02T03:60:05Z ' +
    '2026-01-02T03:04:60Z 2016-12-31T23:59:60+01:00 2016-12-31T23:59:61Z 9999-12-31T23:59:60Z 0000-01-01T00:00:00Z 0001-01-01T00:00:00+00:01 9999-12-31T23:59:59-00:01 ' +
    '٢٠٢٦-01-02T03:04:05Z 1767323045'
  const others = ['', '2026-01-02 03:04:05Z', ' 2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z\n']
  for (const text of [...plain.split(' '), ...others]) t.equal(utcDateTime(text), null, JSON.stringify(text))
})

// The years 2 to 9998: an offset leads out of none of them into a year that has no four digits.
const [min, max] = [new Date('0002-01-01T00:00:00Z'), new Date('9998-12-31T23:59:59Z')]
const instant = fc.date({ min, max, noInvalidDate: true })
const two = (number: number) => String(number).padStart(2, '0')
const offset = fc
  .tuple(fc.constantFrom('+', '-'), fc.nat(23), fc.nat(59))
  .map(([sign, hours, minutes]) => `${sign}${two(hours)}:${two(minutes)}`)
const fraction = fc.stringMatching(/^(\.\d{1,9})?$/)

t.test('conversion to UTC keeps the instant, and each digit of the fraction', async () => {
  forAll(instant, offset, fraction, (date, zone, digits) => {
    const local = date.toISOString().slice(0, 19)
    const utc = utcDateTime(`${local}${digits}${zone}`) ?? ''
    const milliseconds = Date.parse(`${local}${zone}`)
    return (
      utc === `${new Date(milliseconds).toISOString().slice(0, 19)}${digits}Z` && utcDateTime(utc) === utc
    )
  })
})

t.test('the time of a Date or of a date-time, in the years 1 to 9999', async (t) => {
  for (const [value, time] of [
    ['2026-11-20T13:00:00.5+01:00', '2026-11-20T12:00:00.500Z'],
    [new Date('2026-11-20T12:00:00Z'), '2026-11-20T12:00:00.000Z'],
    [new Date('0001-01-01T00:00:00Z'), '0001-01-01T00:00:00.000Z'],
    [new Date('9999-12-31T23:59:59.999Z'), '9999-12-31T23:59:59.999Z'],
    [new Date(Date.parse('0001-01-01T00:00:00Z') - 1), null],
    [new Date('+010000-01-01T00:00:00Z'), null],
    [new Date(Number.NaN), null],
    ['2026-02-30T00:00:00Z', null],
    [Date.UTC(2026, 10, 20), null],
    [null, null],
    [['2026-11-20T12:00:00Z'], null],
  ] as const)
    t.equal(timeOf(value), timeIn(time), String(value))
})
