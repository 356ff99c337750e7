import type { FastifyBaseLogger } from 'fastify'
import type { Trouble } from '../../operations/operation-runner.js'

/** Tells the log when something begins to fail and when it is over, and nothing of the times in between. */
export class TroubleLog implements Trouble {
  readonly #log: FastifyBaseLogger
  readonly #part: string
  #isFailing = false

  /** @param part of the machinery, for the log */
  constructor(log: FastifyBaseLogger, part: string) {
    this.#log = log
    this.#part = part
  }

  failed(what: string, err: unknown): void {
    if (!this.#isFailing) this.#log.error({ err, part: this.#part }, `operations: ${what}`)
    this.#isFailing = true
  }

  recovered(): void {
    if (this.#isFailing) this.#log.info({ part: this.#part }, 'operations: it works again')
    this.#isFailing = false
  }
}
