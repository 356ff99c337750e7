import { maxHttpTime, minHttpTime } from './http-date.js'

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
