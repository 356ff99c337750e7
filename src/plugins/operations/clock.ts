import type { OperationStore } from './stores/store.js'

/** The clock of a store, as a process reads it: the steady time of the process plus the difference to the store. */
export class StoreClock {
  readonly #time: (() => Promise<number>) | null
  readonly #local: () => number
  #difference = 0

  /** @param now replaces both clocks; for tests */
  constructor(store: Pick<OperationStore, 'time'>, now: (() => number) | null) {
    this.#time = now === null && store.time !== undefined ? () => store.time?.() as Promise<number> : null
    this.#local = now ?? (this.#time === null ? Date.now : steadyTime)
  }

  readonly now = (): number => Math.floor(this.#local() + this.#difference)

  /** Reads the clock of the store. What the way to the store takes is the uncertainty of the result. */
  async sync(): Promise<void> {
    if (this.#time === null) return
    const before = this.#local()
    const time = await this.#time()
    const uncertainty = (this.#local() - before) / 2
    const difference = time - before - uncertainty
    if (Math.abs(difference - this.#difference) > uncertainty) this.#difference = difference
  }
}

const steadyTime = () => performance.timeOrigin + performance.now()
