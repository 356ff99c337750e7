import { Outage } from '../../time/outage.js'
import type { Log } from './options.js'

/** Logs the begin and the end of a fault, not each failure: at most one fault in a minute. */
export class FaultLog {
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
    if (this.#outage.ends()) this.#log.info({ part: this.#part }, 'operations: the fault is over')
  }
}
