import { formatHttpDate, parseHttpDate } from '../../http/http-date.js'

/**
 * The result of {@link judgeExpires}: `ok` and `clamped` have the value to send, `clamped` one year ahead instead of
 * more. `past` (stale at once) and `invalid` are not sent.
 */
export type ExpiresVerdict =
  | { readonly verdict: 'ok' | 'clamped'; readonly value: string }
  | { readonly verdict: 'past' | 'invalid' }

/** Maximum time ahead of an `Expires`, in milliseconds: 365 days. */
const maxExpiry = 365 * 24 * 60 * 60 * 1000

/** Returns the value of `Expires` (RFC 9111 §5.3) for a time, to the second. */
export function judgeExpires(time: Date | number | string, now: number): ExpiresVerdict {
  const expires = typeof time === 'string' ? parseHttpDate(time, now) : Number(time)
  if (expires === null || !Number.isFinite(expires)) return { verdict: 'invalid' }
  if (Math.floor(expires / 1000) <= Math.floor(now / 1000)) return { verdict: 'past' }
  const latest = now + maxExpiry
  if (expires <= latest) return { verdict: 'ok', value: formatHttpDate(expires) }
  return { verdict: 'clamped', value: formatHttpDate(latest) }
}
