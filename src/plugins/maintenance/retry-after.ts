import { formatHttpDate, maxHttpTime } from '../../http/http-date.js'

/** The form of `Retry-After` (RFC 9110 §10.2.3). */
export type RetryAfterFormat = 'seconds' | 'http-date'

/** The parts of a `Retry-After`. */
export interface RetryAfterParts {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** When the client may come back, in milliseconds since the epoch; `null` if that is not known. */
  readonly until: number | null
  /** Seconds to wait if `until` is not known. */
  readonly fallback: number
  /** Whole seconds to add. */
  readonly jitter: number
  readonly format: RetryAfterFormat
}

/**
 * Returns the value of `Retry-After` (RFC 9110 §10.2.3): the remaining seconds, rounded up and at least one, or the date,
 * rounded up to a second and at least one second ahead. A client that follows it never comes back before `until`.
 */
export function retryAfterField({ now, until, fallback, jitter, format }: RetryAfterParts): string {
  if (format === 'seconds') {
    const left = until === null ? fallback : Math.ceil((until - now) / 1000)
    return String(Math.max(1, left) + jitter)
  }
  const end = Math.max(until ?? now + fallback * 1000, now + 1000)
  const second = Math.ceil(end / 1000) + jitter
  return formatHttpDate(Math.min(second * 1000, maxHttpTime))
}
