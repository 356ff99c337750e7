import { formatHttpDate, maxHttpTime } from '../../http/dates.js'
import { ProblemError } from '../../problem/problem-error.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { ResolvedMaintenance, RetryAfterFormat } from './options.js'
import type { Maintenance } from './state.js'

/** Returns the 503 of a request; `null` if there is no maintenance. */
export function currentProblem(
  maintenance: Maintenance,
  { now, retryAfter, retryAfterFormat, jitter }: ResolvedMaintenance,
): ProblemError | null {
  const state = maintenance.state()
  if (state === null) return null
  const field = retryAfterField({
    now: now(),
    until: state.until === null ? null : Date.parse(state.until),
    fallback: state.retryAfter ?? retryAfter,
    jitter: Math.floor(Math.random() * (jitter + 1)),
    format: retryAfterFormat,
  })
  const end = state.until === null ? '; try again later' : ` until ${state.until}`
  return new ProblemError('maintenance', {
    detail: state.reason ?? `The service is in maintenance${end}`,
    headers: { 'retry-after': field, 'cache-control': 'no-store' },
  })
}

interface RetryAfterParts {
  readonly now: number
  /** When the client may come back; `null` if that is not known. */
  readonly until: number | null
  /** Seconds to wait if `until` is not known. */
  readonly fallback: number
  readonly jitter: number
  readonly format: RetryAfterFormat
}

/** Rounds up, so that a client that follows it never comes back before `until`. */
export function retryAfterField({ now, until, fallback, jitter, format }: RetryAfterParts): string {
  const left = until === null ? fallback : Math.ceil((until - now) / 1000)
  const wait = Math.max(1, left) + jitter
  if (format === 'seconds') return String(wait)
  return formatHttpDate(Math.min((Math.ceil(now / 1000) + wait) * 1000, maxHttpTime))
}

export const duringMaintenance: RouteDescription = {
  problems: problemsOf({ maintenance: 'The service is in maintenance' }),
  headersOf: {
    503: { 'Retry-After': { type: 'string', description: 'Seconds, or the time, after which to try again' } },
  },
}
