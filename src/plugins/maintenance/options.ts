import { timeOf } from '../../http/date-time.js'
import {
  type Check,
  type Checks,
  functionOf,
  integer,
  invalid,
  listOf,
  objectOf,
  oneOf,
  text,
} from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'
import { type Schedule, scheduleTimeout } from '../../time/schedule.js'
import { isRetryAfter, longestRetryAfter } from './notice.js'
import type { RetryAfterFormat } from './retry-after.js'
import { memoryMaintenanceStore } from './stores/memory.js'
import type { MaintenanceStore } from './stores/store.js'

/** A maintenance that is planned. */
export interface MaintenanceWindow {
  /** When it begins: a `Date`, or RFC 3339 text. */
  readonly from: Date | string
  /** When it ends; after `from`. */
  readonly until: Date | string
  /** Why; it is the `detail` of the problem. */
  readonly reason?: string
}

/** Options of the plugin `maintenance`. */
export interface MaintenanceOptions {
  /**
   * `enforce` answers 503 while there is maintenance, `report` changes nothing and counts what it would refuse. `off` does
   * nothing, whatever a route says, and reads neither file nor store.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Planned maintenances. What is over is not looked at.
   * @default []
   */
  readonly windows?: readonly MaintenanceWindow[]
  /**
   * Path of a file whose existence means maintenance. It is empty, or JSON: `{ "until": "<RFC 3339>", "reason": "…" }`,
   * also with `retryAfter` in seconds. What cannot be read as that is a maintenance without an end.
   * @default false: none
   */
  readonly file?: string | false
  /**
   * Where `enable()` and `disable()` write, for several instances to share. It is read again and again.
   * @default one in memory, of this app alone
   */
  readonly store?: MaintenanceStore
  /**
   * Milliseconds between two looks at the file, and at the store. A look that has no answer after two seconds counts as
   * failed.
   * @default 1000
   */
  readonly pollInterval?: number
  /**
   * Seconds in `Retry-After` while nobody said when the maintenance ends.
   * @default 60
   */
  readonly retryAfter?: number
  /**
   * How `Retry-After` is written. A date is right only as far as the client's clock is.
   * @default 'seconds'
   */
  readonly retryAfterFormat?: RetryAfterFormat
  /**
   * Up to so many seconds are added to `Retry-After`, so that not all clients come back in the same second.
   * @default 0
   */
  readonly jitter?: number
  /**
   * The time, in milliseconds since the epoch.
   * @default Date.now
   */
  readonly now?: () => number
  /**
   * Calls a function after so many milliseconds, unless the function that it returns is called first.
   * @default setTimeout, without keeping the process alive
   */
  readonly schedule?: Schedule
  /**
   * A number from 0 to less than 1, for `jitter`.
   * @default Math.random
   */
  readonly random?: () => number
}

/** What a route says under `config.maintenance`; `false` lets it through. */
export interface MaintenanceRouteOptions {
  /** See {@link MaintenanceOptions.mode}; `off` is the same as `false`. */
  readonly mode?: Mode
}

/** What `enable()` is told: when it ends, or how long clients are to wait while nobody knows. */
export type EnableOptions = { readonly reason?: string } & (
  | { readonly until?: Date | string; readonly retryAfter?: never }
  | { readonly until?: never; readonly retryAfter?: number }
)

const time: Check<Date | string> = (label, received) =>
  timeOf(received) === null
    ? invalid(label, 'a Date or an RFC 3339 date-time', received)
    : (received as Date | string)

const seconds: Check<number> = (label, received) =>
  isRetryAfter(received) ? received : invalid(label, `an integer from 1 to ${longestRetryAfter}`, received)

const reason = text()

const windowOf = objectOf<MaintenanceWindow>({ from: time, until: time, reason })

const soundWindow: Check<MaintenanceWindow> = (label, received) => {
  const window = windowOf(label, received)
  const [from, until] = [time(`${label}.from`, window.from), time(`${label}.until`, window.until)]
  if ((timeOf(from) ?? 0) >= (timeOf(until) ?? 0))
    invalid(label, 'a window that ends after it begins', received)
  return window
}

const store: Check<MaintenanceStore> = (label, received) => {
  const { get, set } = (received ?? {}) as Partial<MaintenanceStore>
  return typeof get === 'function' && typeof set === 'function'
    ? (received as MaintenanceStore)
    : invalid(label, 'a store with get() and set()', received)
}

/** Checks of {@link MaintenanceOptions}. */
export const maintenanceChecks: Checks<MaintenanceOptions> = {
  mode: oneOf(...modes),
  windows: listOf(soundWindow),
  file: (label, received) => (received === false ? false : text('a path, or false')(label, received)),
  store,
  pollInterval: integer(10, 3_600_000),
  retryAfter: seconds,
  retryAfterFormat: oneOf('seconds', 'http-date'),
  jitter: integer(0, 3600),
  now: functionOf('a function that returns milliseconds'),
  schedule: functionOf('a function that calls another one later'),
  random: functionOf('a function that returns a number'),
}

/** Checks of {@link MaintenanceRouteOptions}. */
export const maintenanceRouteChecks: Checks<MaintenanceRouteOptions> = { mode: oneOf(...modes) }

/** Where nobody said otherwise. */
export function maintenanceDefaults(): Required<MaintenanceOptions> {
  return {
    mode: 'enforce',
    windows: [],
    file: false,
    store: memoryMaintenanceStore(),
    pollInterval: 1000,
    retryAfter: 60,
    retryAfterFormat: 'seconds',
    jitter: 0,
    now: Date.now,
    schedule: scheduleTimeout,
    random: Math.random,
  }
}

/** What `enable()` is told, checked. */
export const enableOptions: Check<EnableOptions> = (label, received) => {
  const checked = objectOf<{ until?: Date | string; retryAfter?: number; reason?: string }>({
    until: time,
    retryAfter: seconds,
    reason,
  })(label, received)
  if (checked.until !== undefined && checked.retryAfter !== undefined) {
    invalid(label, 'until or retryAfter, not both', received)
  }
  return checked as EnableOptions
}
