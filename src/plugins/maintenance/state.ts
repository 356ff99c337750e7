import type { Schedule } from '../../time/schedule.js'
import { type Claim, currentMaintenance, type MaintenanceSource } from './current-maintenance.js'

export type { MaintenanceSource } from './current-maintenance.js'

/** The maintenance that is on. */
export interface MaintenanceState {
  /** Who says so; of several, the one whose maintenance ends last. */
  readonly source: MaintenanceSource
  /** When it ends, as RFC 3339 date-time in UTC; `null` where nobody said. */
  readonly until: string | null
  /** Seconds in `Retry-After`, where somebody said them; counts without `until`. */
  readonly retryAfter: number | null
  readonly reason: string | null
}

/** What {@link Maintenance} needs to know. */
export interface MaintenanceSurroundings {
  readonly windows: readonly Claim[]
  readonly now: () => number
  readonly schedule: Schedule
  /** Is told of each change once. */
  readonly onChange: (state: MaintenanceState | null) => void
}

/** Whether there is maintenance, of all that is said about it. */
export class Maintenance {
  /** Is it on, as far as is known? All that a request asks while it is off. */
  active = false
  readonly #surroundings: MaintenanceSurroundings
  readonly #notices = new Map<MaintenanceSource, Claim>()
  #claim: Claim | null = null
  #nextChange = Number.POSITIVE_INFINITY
  #told = 'null'
  #cancelWake: () => void = () => {}
  #stopped = false

  constructor(surroundings: MaintenanceSurroundings) {
    this.#surroundings = surroundings
  }

  /** Takes what a source says now; `null` for no maintenance. */
  say(source: MaintenanceSource, claim: Claim | null): void {
    if (claim === null) this.#notices.delete(source)
    else this.#notices.set(source, claim)
    this.refresh()
  }

  /** What holds at that moment; ends what has come to its end. */
  claimAt(now: number): Claim | null {
    if (now >= this.#nextChange) this.refresh()
    return this.#claim
  }

  /** Settles what holds now, and wakes when that changes by itself. */
  refresh(): void {
    const { windows, now, onChange } = this.#surroundings
    const moment = now()
    const { claim, nextChange } = currentMaintenance([...this.#notices.values(), ...windows], moment)
    this.#claim = claim
    this.#nextChange = nextChange
    this.active = claim !== null
    this.#wakeIn(nextChange - moment)
    const state = stateOf(claim)
    const telling = JSON.stringify(state)
    if (telling === this.#told) return
    this.#told = telling
    onChange(state)
  }

  /** The state for the app to read. */
  state(): MaintenanceState | null {
    this.refresh()
    return stateOf(this.#claim)
  }

  /** Wakes no more. */
  stop(): void {
    this.#stopped = true
    this.#cancelWake()
  }

  #wakeIn(milliseconds: number): void {
    this.#cancelWake()
    if (this.#stopped || milliseconds === Number.POSITIVE_INFINITY) return
    // A clock may be set, and a timer has no more than 25 days: look again before.
    const delay = Math.min(Math.max(1, milliseconds), longestSleep)
    this.#cancelWake = this.#surroundings.schedule(() => this.refresh(), delay)
  }
}

const longestSleep = 60_000

function stateOf(claim: Claim | null): MaintenanceState | null {
  if (claim === null) return null
  const { source, until, retryAfter, reason } = claim
  const end = until === Number.POSITIVE_INFINITY ? null : new Date(until).toISOString()
  return Object.freeze({ source, until: end, retryAfter, reason })
}
