import type { MaintenanceSignal } from '../../convention/contexts.js'
import { formatHttpDate, maxHttpTime, timeOf } from '../../http/dates.js'
import { ProblemError } from '../../problem/problem-error.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { MaintenanceNotice } from './notice.js'
import type { ResolvedMaintenance, RetryAfterFormat } from './options.js'

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

/** A state, and when it begins and ends, in milliseconds since the epoch. */
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

export class Maintenance implements MaintenanceSignal {
  /** Whether there may be maintenance. While it is `false`, requests need no other check. */
  mayBeActive = false
  readonly #options: Pick<ResolvedMaintenance, 'now' | 'schedule'>
  readonly #log: (state: MaintenanceState | null) => void
  readonly #windows: readonly Claim[]
  readonly #claims = new Map<MaintenanceSource, Claim>()
  readonly #listeners = new Set<(isActive: boolean) => void>()
  #state: MaintenanceState | null = null
  #nextChange = Number.NEGATIVE_INFINITY
  #cancelTimer = (): void => {}
  #isStopped = false

  /** @param log called once for each change of the state */
  constructor(
    options: Pick<ResolvedMaintenance, 'windows' | 'now' | 'schedule'>,
    log: (state: MaintenanceState | null) => void,
  ) {
    this.#options = options
    this.#log = log
    this.#windows = options.windows.map(({ from, until, reason }) => {
      const notice = { until: new Date(Number(timeOf(until))).toISOString(), ...(reason && { reason }) }
      return claimOf('window', Number(timeOf(from)), notice)
    })
  }

  /** Sets what a source announces from now on; `null` for no maintenance. */
  setNotice(source: MaintenanceSource, notice: MaintenanceNotice | null): void {
    if (notice === null) this.#claims.delete(source)
    else this.#claims.set(source, claimOf(source, Number.NEGATIVE_INFINITY, notice))
    this.refresh()
  }

  state(): MaintenanceState | null {
    // A timer may be late.
    if (this.#options.now() >= this.#nextChange) this.refresh()
    return this.#state
  }

  isActive(): boolean {
    return this.state() !== null
  }

  onChange(listener: (isActive: boolean) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  refresh(): void {
    const now = this.#options.now()
    const claims = [...this.#claims.values(), ...this.#windows]
    const ahead = claims.flatMap(({ from, end }) => [from, end]).filter((time) => time > now)
    this.#nextChange = Math.min(Number.POSITIVE_INFINITY, ...ahead)
    this.#setTimer(this.#nextChange - now)
    const [last] = claims
      .filter(({ from, end }) => from <= now && now < end)
      .sort((one, other) => (one.end === other.end ? 0 : other.end - one.end))
    const before = this.#state
    this.#state = last?.state ?? null
    this.mayBeActive = this.#state !== null
    if (JSON.stringify(before) === JSON.stringify(this.#state)) return
    this.#log(this.#state)
    if (this.mayBeActive !== (before !== null)) for (const call of this.#listeners) call(this.mayBeActive)
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
  }

  #setTimer(milliseconds: number): void {
    this.#cancelTimer()
    if (this.#isStopped || milliseconds === Number.POSITIVE_INFINITY) return
    // The system clock may be set, and setTimeout takes at most 25 days.
    const delay = Math.min(Math.max(1, milliseconds), maxDelay)
    this.#cancelTimer = this.#options.schedule(() => this.refresh(), delay)
  }
}

const maxDelay = 60_000

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
