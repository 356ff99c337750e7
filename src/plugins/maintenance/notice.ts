import { timeOf } from '../../http/dates.js'
import { isObject } from '../../options.js'
import { clip } from '../../text.js'

/**
 * Where instances of a service share whether they are in maintenance: one notice, or none.
 *
 * `get` is polled, never while a request waits. A store that rejects or does not answer in time is unreachable; the last
 * known state stays in effect.
 */
export interface MaintenanceStore {
  /** Returns the current notice; `null` if there is none. */
  get(): Promise<MaintenanceNotice | null>
  /** Replaces the notice; `null` removes it. Resolves when other instances can read it. */
  set(notice: MaintenanceNotice | null): Promise<void>
}

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
  readonly fault: string | null
}

/** Maximum of a configured `Retry-After`, in seconds: a week. */
export const maxRetryAfter = 604_800

const maxReason = 500

export function readNotice(value: unknown): ReadNotice {
  if (!isObject(value)) return { notice: {}, fault: 'it is not an object' }
  const { until = null, retryAfter = null, reason = null } = value
  const end = timeOf(until)
  const isSeconds =
    Number.isInteger(retryAfter) && Number(retryAfter) >= 1 && Number(retryAfter) <= maxRetryAfter
  const faults = [
    until === null || end !== null ? [] : 'until is not an RFC 3339 date-time',
    retryAfter === null || isSeconds ? [] : `retryAfter is not an integer from 1 to ${maxRetryAfter}`,
    reason === null || typeof reason === 'string' ? [] : 'reason is not a string',
  ].flat()
  const notice = {
    ...(end !== null && { until: new Date(end).toISOString() }),
    ...(isSeconds && { retryAfter: Number(retryAfter) }),
    ...(typeof reason === 'string' && { reason: clip(reason, maxReason) }),
  }
  return { notice, fault: faults.join('; ') || null }
}
