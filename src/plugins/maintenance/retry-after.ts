import { formatHttpDate, maxHttpTime } from '../../http/http-date.js'

/** How `Retry-After` is written: RFC 9110 §10.2.3 takes both. */
export type RetryAfterFormat = 'seconds' | 'http-date'

/** What a `Retry-After` is made of. */
export interface RetryAfterParts {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** When the client may come back, in milliseconds since the epoch; `null` where that is not known. */
  readonly until: number | null
  /** Seconds to wait where `until` is not known. */
  readonly otherwise: number
  /** Whole seconds that are added. */
  readonly jitter: number
  readonly format: RetryAfterFormat
}

/**
 * The value of `Retry-After` (RFC 9110 §10.2.3): the seconds that are left, rounded up and never less than one, or the
 * date, to the next whole second and always ahead. A client that keeps to it never comes back before `until`.
 */
export function retryAfterField({ now, until, otherwise, jitter, format }: RetryAfterParts): string {
  if (format === 'seconds') {
    const left = until === null ? otherwise : Math.ceil((until - now) / 1000)
    return String(Math.max(1, left) + jitter)
  }
  const end = Math.max(until ?? now + otherwise * 1000, now + 1000)
  const second = Math.ceil(end / 1000) + jitter
  return formatHttpDate(Math.min(second * 1000, maxHttpTime))
}
