import { inTime } from '../../time/in-time.js'
import { Outage } from '../../time/outage.js'
import type { Schedule } from '../../time/schedule.js'

/** Options of {@link Poller}. */
export interface PollerOptions<Value> {
  read(): Promise<Value>
  /** Called with each value that was read. */
  take(value: Value): void
  /** Called when an outage begins. */
  lost(error: unknown): void
  /** Called when an outage ends. */
  found(): void
  /** Milliseconds from the end of one read to the next one. */
  readonly interval: number
  readonly schedule: Schedule
}

/** Milliseconds after which a read counts as failed. */
export const readTimeout = 2000

/** Reads something repeatedly, one read at a time. */
export class Poller<Value> {
  readonly #options: PollerOptions<Value>
  readonly #outage = new Outage()
  #cancelTimer: () => void = () => {}
  #stopped = false

  constructor(options: PollerOptions<Value>) {
    this.#options = options
  }

  /** Reads once, and then at every interval. Resolves after the first read, and never rejects. */
  async start(): Promise<void> {
    await this.#poll()
    if (this.#stopped) return
    this.#cancelTimer = this.#options.schedule(() => void this.start(), this.#options.interval)
  }

  /** Stops. The value of a read in progress is not taken. */
  stop(): void {
    this.#stopped = true
    this.#cancelTimer()
  }

  async #poll(): Promise<void> {
    const { read, take, lost, found, schedule } = this.#options
    try {
      const value = await inTime(read(), readTimeout, 'an answer', (run, milliseconds) => {
        this.#cancelTimer = schedule(run, milliseconds)
        return this.#cancelTimer
      })
      if (this.#stopped) return
      if (this.#outage.ends()) found()
      take(value)
    } catch (error) {
      if (!this.#stopped && this.#outage.begins()) lost(error)
    }
  }
}
