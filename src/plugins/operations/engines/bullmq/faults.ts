import type { OperationWorker } from '../engine.js'

/** Reports faults to an {@link OperationWorker}: each fault once until it is over, however many parts meet it. */
export class Faults {
  readonly #worker: Pick<OperationWorker, 'failed' | 'recovered'>
  readonly #whatOf = new Map<string, string>()

  constructor(worker: Pick<OperationWorker, 'failed' | 'recovered'>) {
    this.#worker = worker
  }

  /** A part met a fault. */
  met(part: string, what: string, error: unknown): void {
    const isTold = [...this.#whatOf.values()].includes(what)
    this.#whatOf.set(part, what)
    if (!isTold) this.#worker.failed(what, error)
  }

  /** A part works. */
  over(part: string): void {
    if (this.#whatOf.delete(part) && this.#whatOf.size === 0) this.#worker.recovered()
  }
}
