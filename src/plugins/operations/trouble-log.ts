import type { FastifyBaseLogger } from 'fastify'
import type { Trouble } from './trouble.js'

/**
 * Tells the log when something begins to fail and when it is over, and nothing of the times in between; and no more than
 * once in a minute, where one part fails while another works.
 */
export class TroubleLog implements Trouble {
  readonly #log: FastifyBaseLogger
  readonly #part: string
  readonly #now: () => number
  #isTold = false
  #quietUntil = Number.NEGATIVE_INFINITY

  /** @param part of the machinery, for the log */
  constructor(log: FastifyBaseLogger, part: string, now: () => number) {
    this.#log = log
    this.#part = part
    this.#now = now
  }

  failed(what: string, err: unknown): void {
    const now = this.#now()
    if (this.#isTold || now < this.#quietUntil) return
    this.#isTold = true
    this.#quietUntil = now + 60_000
    this.#log.error({ err, part: this.#part }, `operations: ${what}`)
  }

  recovered(): void {
    if (!this.#isTold) return
    this.#isTold = false
    this.#log.info({ part: this.#part }, 'operations: it works again')
  }
}
