import { timeOf } from '../../http/date-time.js'
import { clip } from '../../text.js'

/** The announcement of a maintenance, as JSON in a store or in a file. All members are optional. */
export interface MaintenanceNotice {
  /** When it ends, as RFC 3339 date-time. */
  readonly until?: string
  /** Seconds in `Retry-After` if the end is not known. */
  readonly retryAfter?: number
  /** Why; clients get it as the `detail` of the problem. */
  readonly reason?: string
}

/** A notice without its invalid members, and what is wrong with those. */
export interface ReadNotice {
  readonly notice: MaintenanceNotice
  /** `null` if nothing is wrong. */
  readonly fault: string | null
}

/** Maximum of a configured `Retry-After`, in seconds: a week. */
export const maxRetryAfter = 604_800

/** Maximum length of a reason. */
const maxReason = 500

/**
 * Reads a notice from a file or a store. Unknown members are ignored. Invalid ones are left out and reported, since the
 * notice announces a maintenance without them too.
 */
export function readNotice(value: unknown): ReadNotice {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { notice: {}, fault: 'it is not an object' }
  }
  const { until, retryAfter, reason } = value as Readonly<Record<string, unknown>>
  const faults: string[] = []
  const notice: { until?: string; retryAfter?: number; reason?: string } = {}
  if (isGiven(until)) {
    const time = timeOf(until)
    if (time === null) faults.push('until is not an RFC 3339 date-time')
    else notice.until = new Date(time).toISOString()
  }
  if (isGiven(retryAfter)) {
    if (isRetryAfter(retryAfter)) notice.retryAfter = retryAfter
    else faults.push(`retryAfter is not an integer from 1 to ${maxRetryAfter}`)
  }
  if (isGiven(reason)) {
    if (typeof reason === 'string') notice.reason = clip(reason, maxReason)
    else faults.push('reason is not a string')
  }
  return { notice, fault: faults.length === 0 ? null : faults.join('; ') }
}

/** Whether a value is an integer from 1 to {@link maxRetryAfter}. */
export function isRetryAfter(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= maxRetryAfter
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
