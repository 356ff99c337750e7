import type { Schedule } from '../../time/schedule.js'

/** How much is read ahead at once, and for how long. */
export interface PendingLimits {
  readonly bodies: number
  /** Bytes of all of them. */
  readonly bytes: number
  /** Milliseconds for each. */
  readonly time: number
}

/** A body that is being read. */
export interface PendingBody {
  /** Notes how much of it is kept; expires the oldest bodies where that is too much. */
  hold(bytes: number): void
  /** Ends it: nothing of it is kept any more. */
  end(): void
}

/**
 * The bodies that are being read before their requests are routed. Clients choose how many there are, how large, and how
 * slow. Where there are too many, the oldest one expires rather than the newest: a form of a browser is there at once,
 * while one that stalls gets old.
 */
export class PendingBodies {
  readonly #limits: PendingLimits
  readonly #schedule: Schedule
  readonly #pending = new Map<PendingBody, () => void>()
  #bytes = 0

  constructor(limits: PendingLimits, schedule: Schedule) {
    this.#limits = limits
    this.#schedule = schedule
  }

  /** @param expire is called once, where the body is not to be read any more; it has to end the body */
  add(expire: () => void): PendingBody {
    let kept = 0
    const cancel = this.#schedule(expire, this.#limits.time)
    const body: PendingBody = {
      hold: (bytes) => {
        this.#bytes += bytes - kept
        kept = bytes
        this.#expireOldest()
      },
      end: () => {
        if (!this.#pending.delete(body)) return
        this.#bytes -= kept
        cancel()
      },
    }
    this.#pending.set(body, expire)
    this.#expireOldest()
    return body
  }

  #expireOldest(): void {
    const { bodies, bytes } = this.#limits
    for (const [body, expire] of this.#pending) {
      if (this.#pending.size <= bodies && this.#bytes <= bytes) return
      body.end()
      expire()
    }
  }
}
