import { inTime } from '../../time/in-time.js'
import { Outage } from '../../time/outage.js'
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
  readonly #outage = new Outage()

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
      if (this.#outage.ends()) found()
      take(value)
    } catch (error) {
      if (this.#stopped) return
      if (this.#outage.begins()) lost(error)
    }
  }

  #readInTime(): Promise<Value> {
    return inTime(this.#polled.read(), patience, 'an answer', (run, milliseconds) => {
      this.#cancelNext = this.#polled.schedule(run, milliseconds)
      return this.#cancelNext
    })
  }
}
