import type { Schedule } from '../../time/schedule.js'

/** What a {@link Poller} reads, and whom it tells. */
export interface Polled<Value> {
  read(): Promise<Value>
  /** Takes what was read. */
  take(value: Value): void
  /** Takes why nothing could be read; the first time only, until it works again. */
  lost(error: unknown): void
  /** Is told when it works again. */
  found(): void
  /** Milliseconds from the end of one look to the next one. */
  readonly interval: number
  readonly schedule: Schedule
}

/** Milliseconds after which a look counts as failed. */
export const patience = 2000

/** Looks at something again and again, one look at a time. */
export class Poller<Value> {
  readonly #polled: Polled<Value>
  #cancelNext: () => void = () => {}
  #stopped = false
  #isLost = false

  constructor(polled: Polled<Value>) {
    this.#polled = polled
  }

  /** Looks for the first time, and from then on. Never rejects. */
  async start(): Promise<void> {
    await this.#look()
    if (this.#stopped) return
    this.#cancelNext = this.#polled.schedule(() => void this.start(), this.#polled.interval)
  }

  /** What is still being read is not taken. */
  stop(): void {
    this.#stopped = true
    this.#cancelNext()
  }

  async #look(): Promise<void> {
    const { take, lost, found } = this.#polled
    try {
      const value = await this.#readInTime()
      if (this.#stopped) return
      if (this.#isLost) found()
      this.#isLost = false
      take(value)
    } catch (error) {
      if (this.#stopped) return
      if (!this.#isLost) lost(error)
      this.#isLost = true
    }
  }

  #readInTime(): Promise<Value> {
    return new Promise((resolve, reject) => {
      const cancel = this.#polled.schedule(
        () => reject(new Error(`no answer after ${patience} milliseconds`)),
        patience,
      )
      this.#cancelNext = cancel
      this.#polled.read().then(resolve, reject).finally(cancel)
    })
  }
}
