import { formatHttpDate, parseHttpDate } from '../../http/http-date.js'

/**
 * What is to become of an `Expires` (RFC 9111 §5.3): `ok` to be sent as it is, `clamped` to be sent with
 * one year instead of more; `past`, where the response would be stale at once, and `invalid` not to be sent.
 */
export type ExpiresVerdict =
  | { readonly verdict: 'ok' | 'clamped'; readonly value: string }
  | { readonly verdict: 'past' | 'invalid' }

/** Longest time ahead of an `Expires`, in milliseconds: one year of 365 days. */
export const longestExpiry = 365 * 24 * 60 * 60 * 1000

/**
 * Judges when a response is to expire, to the second, and gives the value to send, in IMF-fixdate.
 *
 * @param time a date, milliseconds since the epoch, or an HTTP-date as the header has it (ISO 8601 is none)
 * @param now milliseconds since the epoch
 */
export function judgeExpires(time: Date | number | string, now: number): ExpiresVerdict {
  const expires = timeOf(time, now)
  if (expires === null || !Number.isFinite(expires)) return { verdict: 'invalid' }
  if (Math.floor(expires / 1000) <= Math.floor(now / 1000)) return { verdict: 'past' }
  const latest = now + longestExpiry
  if (expires <= latest) return { verdict: 'ok', value: formatHttpDate(expires) }
  return { verdict: 'clamped', value: formatHttpDate(latest) }
}

function timeOf(time: Date | number | string, now: number): number | null {
  if (typeof time === 'string') return parseHttpDate(time, now)
  return typeof time === 'number' ? time : time.getTime()
}
