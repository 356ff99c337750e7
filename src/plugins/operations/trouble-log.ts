import type { FastifyBaseLogger } from 'fastify'
import { Outage } from '../../time/outage.js'
import type { Trouble } from './trouble.js'

/** Logs the begin and the end of an outage, at most one in a minute. */
export class TroubleLog implements Trouble {
  readonly #log: FastifyBaseLogger
  readonly #part: string
  readonly #outage: Outage

  /** @param part the part of the machinery, for the log */
  constructor(log: FastifyBaseLogger, part: string, now: () => number) {
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
