import { Outage } from '../../time/outage.js'
import type { Log } from './options.js'

/** Logs failures, without a line for each of them. */
export interface FailureLog {
  /** Notes a failure. */
  failed(what: string, error: unknown): void
  /** Notes a success. */
  recovered(): void
}

/** Logs the begin and the end of an outage, at most one outage in a minute. */
export class OutageLog implements FailureLog {
  readonly #log: Log
  readonly #part: string
  readonly #outage: Outage

  /** @param part name of the failing part in the log */
  constructor(log: Log, part: string, now: () => number) {
    this.#log = log
    this.#part = part
    this.#outage = new Outage(60_000, now)
  }

  failed(what: string, err: unknown): void {
    if (this.#outage.begins()) this.#log.error({ err, part: this.#part }, `operations: ${what}`)
  }

  recovered(): void {
    if (this.#outage.ends()) this.#log.info({ part: this.#part }, 'operations: it works again')
  }
}
