import { type Checks, oneOf } from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'

/** Options of {@link integerTwins}. */
export interface IntegerTwinsOptions {
  /**
   * `enforce` writes twins and reads exact integers. `report` changes nothing and counts the answers that would get one
   * (`integerTwins.twin`) and those that have lost digits already (`integerTwins.lost-digits`). `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
}

/** What a route sets under `config.integerTwins`; `false` leaves its integers alone. */
export type IntegerTwinsRouteOptions = IntegerTwinsOptions

/** Checks of the options. */
export const integerTwinsChecks: Checks<IntegerTwinsOptions> = { mode: oneOf(...modes) }

/** Defaults of the options. */
export const integerTwinsDefaults: Required<IntegerTwinsOptions> = { mode: 'enforce' }
