import { formatHttpDate, maxHttpTime } from '../../http/http-date.js'
import { ProblemError } from '../../problem/problem-error.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { ResolvedMaintenance, RetryAfterFormat } from './options.js'
import type { Maintenance } from './state.js'

/** Returns the 503 of a request; `null` if there is no maintenance. */
export function currentProblem(
  maintenance: Maintenance,
  { now, retryAfter, retryAfterFormat, jitter }: ResolvedMaintenance,
): ProblemError | null {
  const moment = now()
  const claim = maintenance.claimAt(moment)
  if (claim === null) return null
  const until = claim.until === Number.POSITIVE_INFINITY ? null : claim.until
  const field = retryAfterField({
    now: moment,
    until,
    fallback: claim.retryAfter ?? retryAfter,
    jitter: Math.floor(Math.random() * (jitter + 1)),
    format: retryAfterFormat,
  })
  const end = until === null ? '; try again later' : ` until ${new Date(until).toISOString()}`
  return new ProblemError('maintenance', {
    detail: claim.reason ?? `The service is in maintenance${end}`,
    headers: { 'retry-after': field, 'cache-control': 'no-store' },
  })
}

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

/** Rounds up, so that a client that follows it never comes back before `until`. */
export function retryAfterField({ now, until, fallback, jitter, format }: RetryAfterParts): string {
  if (format === 'seconds') {
    const left = until === null ? fallback : Math.ceil((until - now) / 1000)
    return String(Math.max(1, left) + jitter)
  }
  const end = Math.max(until ?? now + fallback * 1000, now + 1000)
  const second = Math.ceil(end / 1000) + jitter
  return formatHttpDate(Math.min(second * 1000, maxHttpTime))
}

export const duringMaintenance: RouteDescription = {
  problems: problemsOf({ maintenance: 'The service is in maintenance' }),
  headersOf: {
    503: { 'Retry-After': { type: 'string', description: 'Seconds, or the time, after which to try again' } },
  },
}
