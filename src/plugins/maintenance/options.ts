import { timeOf } from '../../http/dates.js'
import {
  type Check,
  integer,
  invalid,
  listOf,
  type OptionsOf,
  objectOf,
  objectWith,
  oneOf,
  option,
  optional,
  orFalse,
  type ResolvedOptions,
  text,
} from '../../options.js'
import { modeOption, routeModeOption } from '../../report/modes.js'
import { clockOption, timerOption } from '../../time/clock.js'
import { type MaintenanceStore, maxRetryAfter } from './notice.js'

/** Options of `enable()`: when the maintenance ends, or the seconds in `Retry-After` if that is not known. */
export type EnableOptions = { readonly reason?: string } & (
  | { readonly until?: Date | string; readonly retryAfter?: never }
  | { readonly until?: never; readonly retryAfter?: number }
)

const time: Check<Date | string> = (label, received) =>
  timeOf(received) === null
    ? invalid(label, 'a Date or an RFC 3339 date-time', received)
    : (received as Date | string)

/** The form of `Retry-After` (RFC 9110 §10.2.3). */
export type RetryAfterFormat = 'seconds' | 'http-date'

const seconds = integer(1, maxRetryAfter)

/** A planned maintenance. */
export interface MaintenanceWindow {
  /** When it begins: a `Date`, or RFC 3339 text. */
  readonly from: Date | string
  /** When it ends; after `from`. */
  readonly until: Date | string
  /** Why; it is the `detail` of the problem. */
  readonly reason?: string
}

const windowMembers = objectOf<MaintenanceWindow, 'from' | 'until'>(
  { from: time, until: time, reason: text() },
  ['from', 'until'],
)

const window: Check<MaintenanceWindow> = (label, received) => {
  const checked = windowMembers(label, received)
  return Number(timeOf(checked.from)) < Number(timeOf(checked.until))
    ? checked
    : invalid(label, 'a window that ends after it begins', received)
}

const store = objectWith<MaintenanceStore>('a store with get() and set()', ['get', 'set'])

export const maintenanceOptions = {
  /**
   * `enforce` answers 503 during maintenance, `report` changes nothing and counts what it would refuse. `off` does nothing,
   * whatever the options of a route, and reads neither file nor store.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Planned maintenances. Those in the past have no effect.
   * @default []
   */
  windows: option(listOf(window), []),
  /**
   * Path of a file whose existence means maintenance. It is empty, or JSON: `{ "until": "<RFC 3339>", "reason": "…" }`,
   * or with `retryAfter` in seconds. Any other content means maintenance without an end.
   * @default false: none
   */
  file: option<string | false>(orFalse(text('a path, or false')), false),
  /**
   * Where `enable()` and `disable()` write, for several instances to share. It is polled.
   * @default none: they are for this instance alone
   */
  store: optional(store),
  /**
   * Milliseconds between two reads of the file, and of the store. A read without an answer after two seconds counts as
   * failed.
   * @default 1000
   */
  pollInterval: option(integer(10, 3_600_000), 1000),
  /**
   * Seconds in `Retry-After` if the end of the maintenance is not known.
   * @default 60
   */
  retryAfter: option(seconds, 60),
  /**
   * The form of `Retry-After`. A date is only as exact as the client's clock.
   * @default 'seconds'
   */
  retryAfterFormat: option<RetryAfterFormat>(oneOf('seconds', 'http-date'), 'seconds'),
  /**
   * Maximum of the seconds that are added to `Retry-After` at random, so that clients do not all come back at once.
   * @default 0
   */
  jitter: option(integer(0, 3600), 0),
  ...clockOption,
  ...timerOption,
}

export const maintenanceRouteOptions = {
  /**
   * See {@link MaintenanceOptions}; `off` is the same as `false`.
   * @default the mode of the plugin
   */
  mode: routeModeOption,
}

/** Options of the plugin `maintenance`. */
export type MaintenanceOptions = OptionsOf<typeof maintenanceOptions>

/** Options of a route under `config.maintenance`; `false` exempts it. */
export type MaintenanceRouteOptions = OptionsOf<typeof maintenanceRouteOptions>

export type ResolvedMaintenance = ResolvedOptions<typeof maintenanceOptions>

const enableMembers = objectOf({ until: time, retryAfter: seconds, reason: text() })

export const enableOptions: Check<EnableOptions> = (label, received) => {
  const checked = enableMembers(label, received)
  if (checked.until !== undefined && checked.retryAfter !== undefined)
    invalid(label, 'until or retryAfter, not both', received)
  return checked as EnableOptions
}
