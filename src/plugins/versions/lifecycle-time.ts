import { utcDateTime } from '../../http/date-time.js'

/**
 * The time that a `Date`, an RFC 3339 date-time or a date names, in milliseconds since the epoch; `null` for anything
 * else, a 30th of February included. A date stands for its first moment in UTC.
 */
export function lifecycleTime(given: unknown): number | null {
  if (given instanceof Date) {
    const time = given.getTime()
    return time >= first && time <= last ? time : null
  }
  if (typeof given !== 'string') return null
  const utc = utcDateTime(isDate.test(given) ? `${given}T00:00:00Z` : given)
  return utc === null ? null : Date.parse(utc)
}

const isDate = /^\d{4}-\d{2}-\d{2}$/

// The years that an HTTP-date can tell.
const first = Date.parse('0001-01-01T00:00:00Z')
const last = Date.parse('9999-12-31T23:59:59.999Z')
