import { timeOf } from '../../http/date-time.js'
import {
  type Check,
  type Checks,
  functionOf,
  integer,
  invalid,
  isObject,
  listOf,
  objectOf,
  oneOf,
  text,
} from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'
import { type Schedule, scheduleTimeout } from '../../time/schedule.js'
import { maxRetryAfter } from './notice.js'
import type { RetryAfterFormat } from './retry-after.js'
import { type MaintenanceStore, memoryMaintenanceStore } from './stores/store.js'

/** A planned maintenance. */
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
   * `enforce` answers 503 during maintenance, `report` changes nothing and counts what it would refuse. `off` does nothing,
   * whatever the options of a route, and reads neither file nor store.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Planned maintenances. Those in the past have no effect.
   * @default []
   */
  readonly windows?: readonly MaintenanceWindow[]
  /**
   * Path of a file whose existence means maintenance. It is empty, or JSON: `{ "until": "<RFC 3339>", "reason": "…" }`,
   * or with `retryAfter` in seconds. Any other content means maintenance without an end.
   * @default false: none
   */
  readonly file?: string | false
  /**
   * Where `enable()` and `disable()` write, for several instances to share. It is polled.
   * @default a store in memory, for this instance alone
   */
  readonly store?: MaintenanceStore
  /**
   * Milliseconds between two reads of the file, and of the store. A read without an answer after two seconds counts as
   * failed.
   * @default 1000
   */
  readonly pollInterval?: number
  /**
   * Seconds in `Retry-After` if the end of the maintenance is not known.
   * @default 60
   */
  readonly retryAfter?: number
  /**
   * The form of `Retry-After`. A date is only as exact as the client's clock.
   * @default 'seconds'
   */
  readonly retryAfterFormat?: RetryAfterFormat
  /**
   * Maximum of the seconds that are added to `Retry-After` at random, so that clients do not all come back at once.
   * @default 0
   */
  readonly jitter?: number
  /**
   * Returns the time in milliseconds since the epoch.
   * @default Date.now
   */
  readonly now?: () => number
  /**
   * Calls a function after a number of milliseconds. Returns a function that cancels the call.
   * @default setTimeout, which does not keep the process alive
   */
  readonly schedule?: Schedule
  /**
   * Returns a number from 0 to less than 1, for `jitter`.
   * @default Math.random
   */
  readonly random?: () => number
}

/** Options of a route under `config.maintenance`; `false` exempts it. */
export interface MaintenanceRouteOptions {
  /**
   * See {@link MaintenanceOptions.mode}; `off` is the same as `false`.
   * @default the mode of the plugin
   */
  readonly mode?: Mode
}

/** Options of `enable()`: when the maintenance ends, or the seconds in `Retry-After` if that is not known. */
export type EnableOptions = { readonly reason?: string } & (
  | { readonly until?: Date | string; readonly retryAfter?: never }
  | { readonly until?: never; readonly retryAfter?: number }
)

const time: Check<Date | string> = (label, received) =>
  timeOf(received) === null
    ? invalid(label, 'a Date or an RFC 3339 date-time', received)
    : (received as Date | string)

const seconds = integer(1, maxRetryAfter)

const reason = text()

const windowMembers = objectOf<MaintenanceWindow>({ from: time, until: time, reason })

const window: Check<MaintenanceWindow> = (label, received) => {
  const checked = windowMembers(label, received)
  // Absent members are not checked.
  const [from, until] = [time(`${label}.from`, checked.from), time(`${label}.until`, checked.until)]
  return Number(timeOf(from)) < Number(timeOf(until))
    ? checked
    : invalid(label, 'a window that ends after it begins', received)
}

const store: Check<MaintenanceStore> = (label, received) =>
  isObject(received) && typeof received.get === 'function' && typeof received.set === 'function'
    ? (received as unknown as MaintenanceStore)
    : invalid(label, 'a store with get() and set()', received)

/** Checks of {@link MaintenanceOptions}. */
export const maintenanceChecks: Checks<MaintenanceOptions> = {
  mode: oneOf(...modes),
  windows: listOf(window),
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

/** Returns the defaults of {@link MaintenanceOptions}. */
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

/** Check of {@link EnableOptions}. */
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
