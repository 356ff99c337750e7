const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const month = `(?<month>${monthNames.join('|')})`
const dayName = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const longDayName = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day'
const time = '(?<hour>\\d{2}):(?<minute>\\d{2}):(?<second>\\d{2})'

/** IMF-fixdate, the date of RFC 850, and that of asctime() (RFC 9110 §5.6.7). */
const formats: readonly RegExp[] = [
  `^${dayName}, (?<day>\\d{2}) ${month} (?<year>\\d{4}) ${time} GMT$`,
  `^${longDayName}, (?<day>\\d{2})-${month}-(?<year>\\d{2}) ${time} GMT$`,
  `^${dayName} ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`,
].map((format) => new RegExp(format))

/** Time of the first and of the last second that HTTP dates and RFC 3339 can express, in milliseconds since the epoch. */
const minHttpTime = Date.parse('0001-01-01T00:00:00Z')
export const maxHttpTime = Date.parse('9999-12-31T23:59:59Z')

let lastSecond = 0
let lastText = 'Thu, 01 Jan 1970 00:00:00 GMT'

/** Reads the three formats of RFC 9110 §5.6.7 and no other that `Date.parse` accepts. A second 60 is read as 59. */
export function parseHttpDate(text: string, now = Date.now()): number | null {
  for (const format of formats) {
    const parts = format.exec(text)?.groups
    if (parts !== undefined) {
      return parts.year?.length === 2 ? nearestTime(parts, now) : timeIn(Number(parts.year), parts)
    }
  }
  return null
}

/** Keeps the last result, because most dates that a server writes are of the current second. @throws RangeError */
export function formatHttpDate(time: number): string {
  const second = Math.floor(time / 1000)
  if (second === lastSecond) return lastText
  if (!(time >= minHttpTime && second * 1000 <= maxHttpTime)) {
    throw new RangeError(`an HTTP date is of the years 1 to 9999, received ${time}`)
  }
  // ECMAScript specifies the format of toUTCString, which is IMF-fixdate.
  lastText = new Date(second * 1000).toUTCString()
  lastSecond = second
  return lastText
}

type Parts = Readonly<Record<string, string>>

/** A year of two digits is at most 50 years ahead. */
function nearestTime(parts: Parts, now: number): number | null {
  const bound = new Date(now)
  bound.setUTCFullYear(bound.getUTCFullYear() + 50)
  const lastYear = bound.getUTCFullYear()
  const year = lastYear - ((((lastYear - Number(parts.year)) % 100) + 100) % 100)
  const found = timeIn(year, parts)
  // One of the two centuries may not have the 29th of February.
  return found === null || found > bound.getTime() ? timeIn(year - 100, parts) : found
}

function timeIn(year: number, parts: Parts): number | null {
  const [day, hour, minute, second] = [parts.day, parts.hour, parts.minute, parts.second].map(Number) as [
    number,
    number,
    number,
    number,
  ]
  const isLeap = second === 60 && minute === 59 && hour === 23
  if (hour > 23 || minute > 59 || (second > 59 && !isLeap)) return null
  const date = new Date(0)
  // Date.UTC reads the years 0 to 99 as 1900 to 1999.
  date.setUTCFullYear(year, monthNames.indexOf(parts.month ?? ''), day)
  if (date.getUTCDate() !== day) return null
  return date.setUTCHours(hour, minute, isLeap ? 59 : second)
}

const dateTime =
  /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(\.\d{1,9})?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/**
 * Returns an RFC 3339 date-time in UTC, with all digits of its fraction; `null` for any other text. A leap second, which ends
 * a day of UTC (§5.7), is read as the next second.
 */
export function utcDateTime(text: string): string | null {
  const match = dateTime.exec(text)
  if (match === null) return null
  const [, day, hours = '', fraction = '', offset = ''] = match
  const isLeap = hours.endsWith('60')
  const whole = `${day}T${hours.replace(/60$/, '59')}`
  const local = new Date(`${whole}Z`)
  // `Date` accepts the hour 24 and 30 February, as times of another day.
  if (Number.isNaN(local.getTime()) || local.toISOString().slice(0, 19) !== whole) return null
  const utc = new Date(`${whole}${offset.toUpperCase()}`)
  if (isLeap && utc.setUTCSeconds(60) % 86_400_000 !== 0) return null
  const year4 = utc.getUTCFullYear()
  // The offset may lead to a year that does not have four digits.
  return year4 < 1 || year4 > 9999 ? null : `${utc.toISOString().slice(0, 19)}${fraction}Z`
}

/** Returns the time of a `Date` or of an RFC 3339 date-time, in milliseconds; `null` for anything else. */
export function timeOf(value: unknown): number | null {
  const text = typeof value === 'string' ? utcDateTime(value) : null
  const time = value instanceof Date ? value.getTime() : Date.parse(text ?? '')
  return time >= minHttpTime && time < maxHttpTime + 1000 ? time : null
}
