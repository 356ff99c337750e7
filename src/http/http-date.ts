const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const month = `(${monthNames.join('|')})`
const dayName = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const timeOfDay = '(\\d{2}):(\\d{2}):(\\d{2})'

const imfFixdate = new RegExp(`^${dayName}, (\\d{2}) ${month} (\\d{4}) ${timeOfDay} GMT$`)
const rfc850Date = new RegExp(
  `^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\\d{2})-${month}-(\\d{2}) ${timeOfDay} GMT$`,
)
const asctimeDate = new RegExp(`^${dayName} ${month} ([ \\d]\\d) ${timeOfDay} (\\d{4})$`)

const firstSecond = Date.parse('0000-01-01T00:00:00Z') / 1000
const finalSecond = Date.parse('9999-12-31T23:59:59Z') / 1000

let lastSecond = 0
let lastText = 'Thu, 01 Jan 1970 00:00:00 GMT'

/**
 * The point in time of an `HTTP-date` (RFC 9110 §5.6.7), in milliseconds since the epoch; `null` for anything else.
 *
 * All three formats are read, and no other: ISO 8601, offsets, other spellings of case and additional whitespace are
 * no HTTP-date, though `Date.parse` takes them. The day has to be one that the month has.
 *
 * - The name of the day has to be one of the grammar's; that it fits the date is not asked. Recipients "are
 *   encouraged to be robust", and the date alone says which day is meant.
 * - `23:59:60` is read as `23:59:59`: the epoch has no leap seconds, and the earlier of its neighbours never makes a
 *   cached response or a client's copy look newer than it is. Any other second 60 is none.
 * - A year of two digits (RFC 850 format) is the latest that lies at most 50 years ahead of `now`.
 *
 * @param now milliseconds since the epoch; the current time by default
 */
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

/**
 * A point in time as IMF-fixdate, the format that senders have to generate (RFC 9110 §5.6.7), a fraction of a second
 * cut off. What was formatted last is kept: most of what a server writes is the current second.
 *
 * @param time milliseconds since the epoch
 * @throws RangeError for what is no time, and outside of the years 0 to 9999, which have no IMF-fixdate
 */
export function formatHttpDate(time: number): string {
  const second = Math.floor(time / 1000)
  if (second === lastSecond) return lastText
  if (!(second >= firstSecond && second <= finalSecond)) {
    throw new RangeError(`${time} is no time that an HTTP date can tell`)
  }
  // ECMAScript specifies this text, and it is IMF-fixdate.
  lastText = new Date(second * 1000).toUTCString()
  lastSecond = second
  return lastText
}

function imfFixdateTime(text: string): number | null {
  const match = imfFixdate.exec(text)
  if (match === null) return null
  const [, day, name = '', year, hour, minute, second] = match
  return timeOf(Number(year), name, Number(day), Number(hour), Number(minute), Number(second))
}

function asctimeTime(text: string): number | null {
  const match = asctimeDate.exec(text)
  if (match === null) return null
  const [, name = '', day, hour, minute, second, year] = match
  return timeOf(Number(year), name, Number(day), Number(hour), Number(minute), Number(second))
}

function rfc850Time(text: string, now: number): number | null {
  const match = rfc850Date.exec(text)
  if (match === null) return null
  const [, day, name = '', digits, hour, minute, second] = match
  const inYear = (year: number): number | null =>
    timeOf(year, name, Number(day), Number(hour), Number(minute), Number(second))
  const bound = new Date(now)
  bound.setUTCFullYear(bound.getUTCFullYear() + 50)
  const lastYear = bound.getUTCFullYear()
  const year = lastYear - ((((lastYear - Number(digits)) % 100) + 100) % 100)
  const time = inYear(year)
  // Of two centuries, one may lack the 29th of February.
  return time === null || time > bound.getTime() ? inYear(year - 100) : time
}

function timeOf(
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
  // Date.UTC would take the years 0 to 99 for those of the 20th century.
  date.setUTCFullYear(year, monthNames.indexOf(name), day)
  if (date.getUTCDate() !== day) return null
  return date.setUTCHours(hour, minute, leap ? 59 : second)
}
