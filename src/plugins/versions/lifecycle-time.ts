import { timeOf } from '../../http/date-time.js'

/**
 * Returns the time of a `Date`, an RFC 3339 date-time or a date, in milliseconds since the epoch; `null` for anything
 * else, such as 30 February. A date is its first moment in UTC.
 */
export function lifecycleTime(given: unknown): number | null {
  return timeOf(typeof given === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(given) ? `${given}T00:00:00Z` : given)
}
