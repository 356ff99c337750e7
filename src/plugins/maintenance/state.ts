import type { RequestStep } from '../../convention/steps.js'
import { formatHttpDate, maxHttpTime, timeOf } from '../../http/dates.js'
import { ProblemError } from '../../problem/problem-error.js'
import { problemsOf, type RouteDescription, retryAfterDescribed } from '../../problem/route-description.js'
import type { MaintenanceNotice } from './notice.js'
import type { ResolvedMaintenance } from './options.js'

/** What began a maintenance: `app.maintenance.enable()` here or on another instance, the file, or a planned window. */
export type MaintenanceSource = 'switch' | 'file' | 'window'

/** The maintenance in effect. */
export interface MaintenanceState {
  /** What began it; of several, the one that ends last. */
  readonly source: MaintenanceSource
  /** When it ends, as RFC 3339 date-time in UTC; `null` if that is not known. */
  readonly until: string | null
  /** Seconds in `Retry-After` if they were given; used only without `until`. */
  readonly retryAfter: number | null
  readonly reason: string | null
}

/** What a source announces; the times are in milliseconds since the epoch. */
interface Claim {
  readonly state: MaintenanceState
  readonly from: number
  readonly end: number
}

function claimOf(source: MaintenanceSource, from: number, notice: MaintenanceNotice): Claim {
  const { until = null, retryAfter = null, reason = null } = notice
  const end = until === null ? Number.POSITIVE_INFINITY : Date.parse(until)
  return { state: Object.freeze({ source, until, retryAfter, reason }), from, end }
}

export type Maintenance = ReturnType<typeof maintenanceBy>

export function maintenanceBy(
  { windows, now, schedule }: Pick<ResolvedMaintenance, 'windows' | 'now' | 'schedule'>,
  log: (state: MaintenanceState | null) => void,
) {
  const planned = windows.map(({ from, until, reason }) => {
    const notice = { until: new Date(Number(timeOf(until))).toISOString(), ...(reason && { reason }) }
    return claimOf('window', Number(timeOf(from)), notice)
  })
  const announced = new Map<MaintenanceSource, Claim>()
  const listeners = new Set<(isActive: boolean) => void>()
  let current: MaintenanceState | null = null
  let nextChange = Number.NEGATIVE_INFINITY
  let cancelTimer = (): void => {}
  let isStopped = false

  function state(): MaintenanceState | null {
    // A timer may be late.
    if (nextChange < Number.POSITIVE_INFINITY && now() >= nextChange) refresh()
    return current
  }

  function refresh(): void {
    const time = now()
    const claims = [...announced.values(), ...planned]
    const ahead = claims.flatMap(({ from, end }) => [from, end]).filter((one) => one > time)
    nextChange = Math.min(Number.POSITIVE_INFINITY, ...ahead)
    cancelTimer()
    // The system clock may be set, and setTimeout takes at most 25 days.
    if (!isStopped && ahead.length > 0)
      cancelTimer = schedule(refresh, Math.min(Math.max(1, nextChange - time), maxDelay))
    const [last] = claims
      .filter(({ from, end }) => from <= time && time < end)
      .sort((one, other) => (one.end === other.end ? 0 : other.end - one.end))
    const before = current
    current = last?.state ?? null
    if (JSON.stringify(before) === JSON.stringify(current)) return
    log(current)
    const isActive = current !== null
    if (isActive !== (before !== null)) for (const call of listeners) call(isActive)
  }

  return {
    state,
    refresh,
    isActive: () => state() !== null,
    onChange(listener: (isActive: boolean) => void): () => void {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    setNotice(source: MaintenanceSource, notice: MaintenanceNotice | null): void {
      if (notice === null) announced.delete(source)
      else announced.set(source, claimOf(source, Number.NEGATIVE_INFINITY, notice))
      refresh()
    },
    stop(): void {
      isStopped = true
      cancelTimer()
    },
  }
}

const maxDelay = 60_000

/** Returns the step that refuses all requests during a maintenance. */
export function refusing(
  maintenance: Maintenance,
  { now, retryAfter, retryAfterFormat, jitter }: ResolvedMaintenance,
): RequestStep {
  return function refuseInMaintenance({ method }) {
    const state = maintenance.state()
    if (state === null) return undefined
    const until = state.until === null ? null : Date.parse(state.until)
    const ofState = { retryAfter: state.retryAfter ?? retryAfter, retryAfterFormat }
    const field = retryAfterField(now(), until, Math.floor(Math.random() * (jitter + 1)), ofState)
    const end = state.until === null ? '; try again later' : ` until ${state.until}`
    const refusal = new ProblemError('maintenance', {
      detail: state.reason ?? `The service is in maintenance${end}`,
      headers: { 'retry-after': field, 'cache-control': 'no-store' },
    })
    return { rule: 'refusal', given: `${method} while in maintenance`, refusal }
  }
}

/** Rounds up, so that a client that follows it never comes back before `until`. */
export function retryAfterField(
  now: number,
  until: number | null,
  extra: number,
  { retryAfter, retryAfterFormat }: Pick<ResolvedMaintenance, 'retryAfter' | 'retryAfterFormat'>,
): string {
  const left = until === null ? retryAfter : Math.ceil((until - now) / 1000)
  const wait = Math.max(1, left) + extra
  if (retryAfterFormat === 'seconds') return String(wait)
  return formatHttpDate(Math.min((Math.ceil(now / 1000) + wait) * 1000, maxHttpTime))
}

export const duringMaintenance: RouteDescription = {
  problems: problemsOf({ maintenance: 'The service is in maintenance' }),
  headersOf: { 503: retryAfterDescribed },
}
