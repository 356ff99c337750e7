import { utcDateTime } from '../../http/date-time.js'

/** A point in time as RFC 3339 writes it; a leap second (§5.7) and any number of digits in its fraction count. */
export function isDateTime(text: string): boolean {
  const plain = text.replace(/:60(?=[.Zz+-])/, ':59').replace(/(\.\d{9})\d+/, '$1')
  return utcDateTime(plain) !== null
}

/** A day as RFC 3339 writes it: `full-date`. */
export function isDay(text: string): boolean {
  return text.length === 10 && utcDateTime(`${text}T12:00:00Z`) !== null
}

/** A time of day, with or without seconds and offset, or an ISO 8601 duration such as `PT90M`. */
export function isClockOrDuration(text: string): boolean {
  return (
    /^([01]\d|2[0-3]):[0-5]\d(:[0-6]\d(\.\d+)?)?([Zz]|[+-]\d{2}:\d{2})?$/.test(text) || duration.test(text)
  )
}

const duration = /^P(?!$)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)$/

/** Has a date-time an offset other than that of UTC? */
export function hasLocalOffset(dateTime: string): boolean {
  return !/(?:[Zz]|[+-]00:00)$/.test(dateTime)
}
