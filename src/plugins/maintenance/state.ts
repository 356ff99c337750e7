import type { MaintenanceSignal } from '../../fastify/context.js'
import { timeOf } from '../../http/date-time.js'
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

export interface Claim {
  readonly source: MaintenanceSource
  /** When it begins, in milliseconds since the epoch; `-Infinity` if it has begun. */
  readonly from: number
  /** When it ends, in milliseconds since the epoch; `Infinity` if that is not known. */
  readonly until: number
  readonly retryAfter: number | null
  readonly reason: string | null
}

/** Returns the claim that ends last, of equals the first, with the end of those that follow without a gap. */
export function currentClaim(
  claims: readonly Claim[],
  now: number,
): { claim: Claim | null; nextChange: number } {
  const ahead = claims.flatMap(({ from, until }) => [from, until]).filter((time) => time > now)
  const nextChange = Math.min(Number.POSITIVE_INFINITY, ...ahead)
  const [first, ...others] = claims.filter(({ from, until }) => from <= now && now < until)
  if (first === undefined) return { claim: null, nextChange }
  const last = others.reduce((one, other) => (other.until > one.until ? other : one), first)
  let { until } = last
  for (const claim of claims.toSorted((one, other) => one.from - other.from)) {
    if (claim.from <= until && claim.until > until) until = claim.until
  }
  return { claim: until === last.until ? last : { ...last, until }, nextChange }
}

export class Maintenance implements MaintenanceSignal {
  /** Whether there may be maintenance. While it is `false`, requests need no other check. */
  mayBeActive = false
  readonly #options: Pick<ResolvedMaintenance, 'now' | 'schedule'>
  readonly #log: (state: MaintenanceState | null) => void
  readonly #windows: readonly Claim[]
  readonly #claims = new Map<MaintenanceSource, Claim>()
  readonly #listeners = new Set<(isActive: boolean) => void>()
  #claim: Claim | null = null
  #nextChange = Number.NEGATIVE_INFINITY
  #lastState = 'null'
  #cancelTimer = (): void => {}
  #isStopped = false

  /** @param log called once for each change of the state */
  constructor(
    options: Pick<ResolvedMaintenance, 'windows' | 'now' | 'schedule'>,
    log: (state: MaintenanceState | null) => void,
  ) {
    this.#options = options
    this.#log = log
    this.#windows = options.windows.map((window) =>
      claimOf('window', Number(timeOf(window.from)), Number(timeOf(window.until)), window),
    )
  }

  /** Sets what a source announces from now on; `null` for no maintenance. */
  setNotice(source: MaintenanceSource, notice: MaintenanceNotice | null): void {
    if (notice === null) this.#claims.delete(source)
    else {
      const until = notice.until === undefined ? Number.POSITIVE_INFINITY : Date.parse(notice.until)
      this.#claims.set(source, claimOf(source, Number.NEGATIVE_INFINITY, until, notice))
    }
    this.refresh()
  }

  claimAt(now: number): Claim | null {
    // A timer may be late.
    if (now >= this.#nextChange) this.refresh()
    return this.#claim
  }

  isActive(): boolean {
    return this.claimAt(this.#options.now()) !== null
  }

  onChange(listener: (isActive: boolean) => void): () => void {
    // A function of its own: the same listener may be passed twice.
    const call = (isActive: boolean): void => listener(isActive)
    this.#listeners.add(call)
    return () => void this.#listeners.delete(call)
  }

  state(): MaintenanceState | null {
    this.refresh()
    return stateOf(this.#claim)
  }

  refresh(): void {
    const now = this.#options.now()
    const { claim, nextChange } = currentClaim([...this.#claims.values(), ...this.#windows], now)
    const wasActive = this.mayBeActive
    this.#claim = claim
    this.#nextChange = nextChange
    this.mayBeActive = claim !== null
    this.#setTimer(nextChange - now)
    const state = stateOf(claim)
    const text = JSON.stringify(state)
    if (text === this.#lastState) return
    this.#lastState = text
    this.#log(state)
    if (this.mayBeActive !== wasActive) for (const call of [...this.#listeners]) call(this.mayBeActive)
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

function claimOf(
  source: MaintenanceSource,
  from: number,
  until: number,
  { retryAfter, reason }: Omit<MaintenanceNotice, 'until'>,
): Claim {
  return { source, from, until, retryAfter: retryAfter ?? null, reason: reason ?? null }
}

function stateOf(claim: Claim | null): MaintenanceState | null {
  if (claim === null) return null
  const { source, until, retryAfter, reason } = claim
  const end = until === Number.POSITIVE_INFINITY ? null : new Date(until).toISOString()
  return Object.freeze({ source, until: end, retryAfter, reason })
}
