/** RFC 9110 §5.6.7: HTTP dates, read in three formats and written in one. */
import fc from 'fast-check'
import t from 'tap'
import { formatHttpDate, parseHttpDate } from '../../src/http/dates.js'

const anyUnit = fc.nat(0xffff).map((unit) => String.fromCharCode(unit))
const now = Date.parse('2026-11-20T12:00:00Z')
const example = Date.parse('1994-11-06T08:49:37Z')

t.test('RFC 9110 §5.6.7: all three formats are read, and mean the same', async (t) => {
  for (const text of [
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
    'Sun Nov 06 08:49:37 1994',
  ]) {
    t.equal(parseHttpDate(text, now), example, text)
  }
})

t.test('RFC 9110 §5.6.7: dates are written as IMF-fixdate, without fractions of a second', async (t) => {
  t.equal(formatHttpDate(example), 'Sun, 06 Nov 1994 08:49:37 GMT')
  t.equal(formatHttpDate(example + 999), 'Sun, 06 Nov 1994 08:49:37 GMT')
  t.equal(formatHttpDate(example + 1000), 'Sun, 06 Nov 1994 08:49:38 GMT')
  t.equal(formatHttpDate(0), 'Thu, 01 Jan 1970 00:00:00 GMT')
  t.equal(formatHttpDate(-1), 'Wed, 31 Dec 1969 23:59:59 GMT')
  t.equal(
    formatHttpDate(example),
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'what was kept of another second is not taken',
  )
})

t.test('RFC 9110 §5.6.7: a time without four digits of a year has no IMF-fixdate', async (t) => {
  t.equal(formatHttpDate(Date.parse('0001-01-01T00:00:00Z')), 'Mon, 01 Jan 0001 00:00:00 GMT')
  t.equal(formatHttpDate(Date.parse('9999-12-31T23:59:59.999Z')), 'Fri, 31 Dec 9999 23:59:59 GMT')
  const none = [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Date.parse('+010000-01-01T00:00:00Z'),
    Date.parse('0001-01-01T00:00:00Z') - 1,
  ]
  for (const time of none) t.throws(() => formatHttpDate(time), RangeError, String(time))
})

t.test('RFC 9110 §5.6.7: ISO 8601 and other formats of Date.parse are not HTTP-dates', async (t) => {
  for (const text of [
    '1994-11-06T08:49:37Z',
    '1994-11-06T08:49:37.000000Z1994',
    '1994-11-06 08:49:37 UTC+0000',
    '1994-11-06',
    '784111777',
    '0',
    '-1',
    '',
    'now',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37 +0000',
    'Sun, 06 Nov 1994 08:49:37 -0500',
    'Sun, 06 Nov 94 08:49:37 GMT',
    '06 Nov 1994 08:49:37 GMT',
    'Sun, 06-Nov-1994 08:49:37 GMT',
    'Sunday, 06 Nov 1994 08:49:37 GMT',
    'Sun, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT; length=10',
    'Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT',
  ]) {
    t.equal(parseHttpDate(text, now), null, text)
  }
})

t.test(
  'RFC 9110 §5.6.7: an HTTP-date is case-sensitive and has no other whitespace than its format',
  async (t) => {
    for (const text of [
      'sun, 06 Nov 1994 08:49:37 GMT',
      'Sun, 06 nov 1994 08:49:37 GMT',
      'Sun, 06 NOV 1994 08:49:37 GMT',
      'Sun, 06 Nov 1994 08:49:37 gmt',
      'sunday, 06-Nov-94 08:49:37 GMT',
      'Sunday, 06-nov-94 08:49:37 GMT',
      'sun Nov  6 08:49:37 1994',
      'Sun,06 Nov 1994 08:49:37 GMT',
      'Sun, 6 Nov 1994 08:49:37 GMT',
      'Sun,  6 Nov 1994 08:49:37 GMT',
      'Sun, 06 Nov 1994  8:49:37 GMT',
      'Sun, 06 Nov 1994 08:49:37  GMT',
      ' Sun, 06 Nov 1994 08:49:37 GMT',
      'Sun, 06 Nov 1994 08:49:37 GMT ',
      'Sun, 06 Nov 1994 08:49:37 GMT\n',
      'Sun,\t06 Nov 1994 08:49:37 GMT',
      'Sun Nov 6 08:49:37 1994',
      'Sun Nov   08:49:37 1994 ',
    ]) {
      t.equal(parseHttpDate(text, now), null, JSON.stringify(text))
    }
  },
)

t.test('RFC 9110 §5.6.7 (RFC 5322 §3.3): the day of the month and the time have to exist', async (t) => {
  const rows: readonly (readonly [text: string, time: string | null])[] = [
    ['Thu, 29 Feb 2024 00:00:00 GMT', '2024-02-29T00:00:00Z'],
    ['Tue, 29 Feb 2000 00:00:00 GMT', '2000-02-29T00:00:00Z'],
    ['Thu, 29 Feb 1900 00:00:00 GMT', null],
    ['Sat, 29 Feb 2025 00:00:00 GMT', null],
    ['Sat, 30 Feb 2024 00:00:00 GMT', null],
    ['Fri, 31 Apr 2026 00:00:00 GMT', null],
    ['Sun, 31 Nov 2026 00:00:00 GMT', null],
    ['Thu, 31 Dec 2026 00:00:00 GMT', '2026-12-31T00:00:00Z'],
    ['Thu, 00 Jan 2026 00:00:00 GMT', null],
    ['Thu, 32 Jan 2026 00:00:00 GMT', null],
    ['Thu, 01 Jan 2026 23:59:59 GMT', '2026-01-01T23:59:59Z'],
    ['Thu, 01 Jan 2026 24:00:00 GMT', null],
    ['Thu, 01 Jan 2026 23:60:00 GMT', null],
    ['Thu, 01 Jan 2026 23:59:61 GMT', null],
    ['Thu, 01 Jan 2026 99:99:99 GMT', null],
    ['Sat, 30-Feb-24 00:00:00 GMT', null],
    ['Saturday, 30-Feb-24 00:00:00 GMT', null],
    ['Thu Jan  0 00:00:00 2026', null],
    ['Thu Jan 32 00:00:00 2026', null],
    ['Mon, 01 Jan 0001 00:00:00 GMT', '0001-01-01T00:00:00Z'],
    ['Fri, 01 Jan 0099 00:00:00 GMT', '0099-01-01T00:00:00Z'],
    ['Fri, 31 Dec 9999 23:59:59 GMT', '9999-12-31T23:59:59Z'],
  ]
  for (const [text, time] of rows) {
    t.equal(parseHttpDate(text, now), time === null ? null : Date.parse(time), text)
  }
})

t.test(
  'RFC 9110 §5.6.7: a leap second is read as the second before it, and only at the end of a day',
  async (t) => {
    const last = Date.parse('2016-12-31T23:59:59Z')
    t.equal(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', now), last)
    t.equal(parseHttpDate('Saturday, 31-Dec-16 23:59:60 GMT', now), last)
    t.equal(parseHttpDate('Sat Dec 31 23:59:60 2016', now), last)
    t.equal(parseHttpDate('Sat, 31 Dec 2016 12:00:60 GMT', now), null)
    t.equal(parseHttpDate('Sat, 31 Dec 2016 23:00:60 GMT', now), null)
    t.equal(parseHttpDate('Sat, 31 Dec 2016 00:59:60 GMT', now), null)
  },
)

t.test(
  'RFC 9110 §5.6.7: the name of the day has to be valid; it is not compared with the date',
  async (t) => {
    t.equal(parseHttpDate('Mon, 06 Nov 1994 08:49:37 GMT', now), example)
    t.equal(parseHttpDate('Wednesday, 06-Nov-94 08:49:37 GMT', now), example)
    t.equal(parseHttpDate('Sat Nov  6 08:49:37 1994', now), example)
    t.equal(parseHttpDate('Xyz, 06 Nov 1994 08:49:37 GMT', now), null)
    t.equal(parseHttpDate('Someday, 06-Nov-94 08:49:37 GMT', now), null)
  },
)

t.test('RFC 9110 §5.6.7: a year of two digits is never more than 50 years ahead', async (t) => {
  const rows: readonly (readonly [today: string, text: string, time: string | null])[] = [
    ['2026-11-20T12:00:00Z', 'Thursday, 01-Jan-26 00:00:00 GMT', '2026-01-01T00:00:00Z'],
    ['2026-11-20T12:00:00Z', 'Friday, 20-Nov-76 12:00:00 GMT', '2076-11-20T12:00:00Z'],
    ['2026-11-20T12:00:00Z', 'Saturday, 20-Nov-76 12:00:01 GMT', '1976-11-20T12:00:01Z'],
    ['2026-11-20T12:00:00Z', 'Saturday, 01-Jan-77 00:00:00 GMT', '1977-01-01T00:00:00Z'],
    ['2026-11-20T12:00:00Z', 'Friday, 31-Dec-99 00:00:00 GMT', '1999-12-31T00:00:00Z'],
    ['2026-11-20T12:00:00Z', 'Tuesday, 29-Feb-00 00:00:00 GMT', '2000-02-29T00:00:00Z'],
    ['2099-06-01T00:00:00Z', 'Thursday, 01-Jan-05 00:00:00 GMT', '2105-01-01T00:00:00Z'],
    ['2055-01-01T00:00:00Z', 'Tuesday, 29-Feb-00 00:00:00 GMT', '2000-02-29T00:00:00Z'],
    ['1994-11-06T00:00:00Z', 'Sunday, 06-Nov-44 00:00:00 GMT', '2044-11-06T00:00:00Z'],
    ['1994-11-06T00:00:00Z', 'Monday, 07-Nov-44 00:00:00 GMT', '1944-11-07T00:00:00Z'],
    ['2026-11-20T12:00:00Z', 'Monday, 29-Feb-23 00:00:00 GMT', null],
  ]
  for (const [today, text, time] of rows) {
    t.equal(
      parseHttpDate(text, Date.parse(today)),
      time === null ? null : Date.parse(time),
      `${text}, read in ${today}`,
    )
  }
  t.equal(
    parseHttpDate('Sunday, 06-Nov-94 08:49:37 GMT'),
    example,
    'by default it is the current time that counts',
  )
})

t.test('RFC 9110 §5.6.7: a formatted date can be parsed, in all three formats', async () => {
  const anyTime = fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }).map((second) => second * 1000)
  fc.assert(
    fc.property(anyTime, (time) => {
      const imf = formatHttpDate(time)
      return parseHttpDate(imf, now) === time && parseHttpDate(asctime(imf), now) === time
    }),
  )
  const half = 49 * 365.25 * 24 * 60 * 60
  const nearTime = fc
    .integer({ min: -half, max: half })
    .map((second) => (Math.floor(now / 1000) + second) * 1000)
  fc.assert(fc.property(nearTime, (time) => parseHttpDate(rfc850(formatHttpDate(time)), now) === time))
})

t.test('RFC 9110 §5.6.7: any text is a time in whole seconds, or null', async () => {
  const letters = fc.string({ unit: fc.constantFrom(...'SunFriday,:06- NovGMT1994'), maxLength: 40 })
  const spoiled = fc
    .tuple(fc.nat(28), fc.string({ unit: anyUnit, minLength: 1, maxLength: 1 }))
    .map(([at, letter]) => {
      const text = 'Sun, 06 Nov 1994 08:49:37 GMT'
      return text.slice(0, at) + letter + text.slice(at + 1)
    })
  fc.assert(
    fc.property(fc.oneof(fc.string(), letters, spoiled), (text) => {
      const time = parseHttpDate(text, now)
      return time === null || (Number.isInteger(time) && time % 1000 === 0)
    }),
    { numRuns: 1000 },
  )
})

function asctime(imf: string): string {
  const [day = '', date = '', month = '', year = '', time = ''] = imf.replace(',', '').split(' ')
  return `${day} ${month} ${date.replace(/^0/, ' ')} ${time} ${year}`
}

function rfc850(imf: string): string {
  const [day = '', date = '', month = '', year = '', time = ''] = imf.replace(',', '').split(' ')
  const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
  return `${days.find((name) => name.startsWith(day))}, ${date}-${month}-${year.slice(2)} ${time} GMT`
}
