import { timeOf } from '../../http/date-time.js'
import { clip } from '../../text.js'

/** What is said of a maintenance, as JSON: in a store, or in a file. A notice without a word is one too. */
export interface MaintenanceNotice {
  /** When it ends, as RFC 3339 date-time. */
  readonly until?: string
  /** Seconds in `Retry-After`, where nobody knows when it ends. */
  readonly retryAfter?: number
  /** Why, for the client's developer; it is the `detail` of the problem. */
  readonly reason?: string
}

/** A notice as it was read, and what is wrong with it; the rest of it counts. */
export interface ReadNotice {
  readonly notice: MaintenanceNotice
  /** `null` where nothing is wrong. */
  readonly fault: string | null
}

/** Most seconds in a `Retry-After` that somebody sets: a week. */
export const longestRetryAfter = 604_800

/** Characters of a reason that are sent. */
export const longestReason = 500

/**
 * Reads a notice that came from outside. Members that are not known are not looked at; one that cannot be used is left
 * out: that somebody announced a maintenance is certain all the same.
 */
export function readNotice(value: unknown): ReadNotice {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { notice: {}, fault: 'it is no object' }
  }
  const { until, retryAfter, reason } = value as Readonly<Record<string, unknown>>
  const faults: string[] = []
  const notice: { until?: string; retryAfter?: number; reason?: string } = {}
  if (isGiven(until)) {
    const time = timeOf(until)
    if (time === null) faults.push('until is no RFC 3339 date-time')
    else notice.until = new Date(time).toISOString()
  }
  if (isGiven(retryAfter)) {
    if (isRetryAfter(retryAfter)) notice.retryAfter = retryAfter
    else faults.push(`retryAfter is no integer from 1 to ${longestRetryAfter}`)
  }
  if (isGiven(reason)) {
    if (typeof reason === 'string') notice.reason = clip(reason, longestReason)
    else faults.push('reason is no text')
  }
  return { notice, fault: faults.length === 0 ? null : faults.join('; ') }
}

/** Is it a whole number of seconds from one to {@link longestRetryAfter}? */
export function isRetryAfter(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= longestRetryAfter
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
