const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const month = `(${monthNames.join('|')})`
const dayName = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const timeOfDay = '(\\d{2}):(\\d{2}):(\\d{2})'

const imfFixdate = new RegExp(`^${dayName}, (\\d{2}) ${month} (\\d{4}) ${timeOfDay} GMT$`)
const rfc850Date = new RegExp(
  `^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\\d{2})-${month}-(\\d{2}) ${timeOfDay} GMT$`,
)
const asctimeDate = new RegExp(`^${dayName} ${month} ([ \\d]\\d) ${timeOfDay} (\\d{4})$`)

/** Time of the first and of the last second that HTTP dates and RFC 3339 can express, in milliseconds since the epoch. */
const minHttpTime = Date.parse('0001-01-01T00:00:00Z')
export const maxHttpTime = Date.parse('9999-12-31T23:59:59Z')

let lastSecond = 0
let lastText = 'Thu, 01 Jan 1970 00:00:00 GMT'

/** Reads the three formats of RFC 9110 §5.6.7 and no other that `Date.parse` accepts. A second 60 is read as 59. */
export function parseHttpDate(text: string, now?: number): number | null {
  switch (text.length) {
    case 29:
      return imfFixdateTime(text)
    case 24:
      return asctimeTime(text)
    case 30:
    case 31:
    case 32:
    case 33:
      return rfc850Time(text, now ?? Date.now())
    default:
      return null
  }
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

function imfFixdateTime(text: string): number | null {
  const match = imfFixdate.exec(text)
  if (match === null) return null
  const [, day, name = '', year, hour, minute, second] = match
  return timeAt(Number(year), name, Number(day), Number(hour), Number(minute), Number(second))
}

function asctimeTime(text: string): number | null {
  const match = asctimeDate.exec(text)
  if (match === null) return null
  const [, name = '', day, hour, minute, second, year] = match
  return timeAt(Number(year), name, Number(day), Number(hour), Number(minute), Number(second))
}

function rfc850Time(text: string, now: number): number | null {
  const match = rfc850Date.exec(text)
  if (match === null) return null
  const [, day, name = '', digits, hour, minute, second] = match
  const inYear = (year: number): number | null =>
    timeAt(year, name, Number(day), Number(hour), Number(minute), Number(second))
  const bound = new Date(now)
  bound.setUTCFullYear(bound.getUTCFullYear() + 50)
  const lastYear = bound.getUTCFullYear()
  const year = lastYear - ((((lastYear - Number(digits)) % 100) + 100) % 100)
  const time = inYear(year)
  // One of the two centuries may not have the 29th of February.
  return time === null || time > bound.getTime() ? inYear(year - 100) : time
}

function timeAt(
  year: number,
  name: string,
  day: number,
  hour: number,
  minute: number,
  second: number,
): number | null {
  const leap = second === 60 && minute === 59 && hour === 23
  if (hour > 23 || minute > 59 || (second > 59 && !leap)) return null
  const date = new Date(0)
  // Date.UTC reads the years 0 to 99 as 1900 to 1999.
  date.setUTCFullYear(year, monthNames.indexOf(name), day)
  if (date.getUTCDate() !== day) return null
  return date.setUTCHours(hour, minute, leap ? 59 : second)
}

const dateTime =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Returns an RFC 3339 date-time in UTC, with all digits of its fraction; `null` for any other text, as leap seconds. */
export function utcDateTime(text: string): string | null {
  const match = dateTime.exec(text)
  if (match === null) return null
  const [
    ,
    year = '',
    month = '',
    day = '',
    hours = '',
    minutes = '',
    seconds = '',
    fraction = '',
    offset = '',
  ] = match
  const whole = `${year}-${month}-${day}T${hours}:${minutes}:${seconds}`
  const local = new Date(`${whole}Z`)
  // `Date` accepts the hour 24 and 30 February, as times of another day.
  if (Number.isNaN(local.getTime()) || local.toISOString().slice(0, 19) !== whole) return null
  const utc = new Date(`${whole}${offset.toUpperCase()}`)
  const year4 = utc.getUTCFullYear()
  // The offset may lead to a year that does not have four digits.
  return year4 < 1 || year4 > 9999 ? null : `${utc.toISOString().slice(0, 19)}${fraction}Z`
}

/** Returns the time of a `Date` or of an RFC 3339 date-time, in milliseconds; `null` for anything else. */
export function timeOf(value: unknown): number | null {
  const time =
    value instanceof Date
      ? value.getTime()
      : typeof value === 'string'
        ? Date.parse(utcDateTime(value) ?? '')
        : Number.NaN
  return time >= minHttpTime && time < maxHttpTime + 1000 ? time : null
}
