export class Outage {
  readonly #now: () => number
  readonly #interval: number
  #isOn = false
  #quietUntil = Number.NEGATIVE_INFINITY

  constructor(interval = 0, now: () => number = () => 0) {
    this.#interval = interval
    this.#now = now
  }

  /** Notes a failure. Returns whether an outage that is to be logged begins with it. */
  begins(): boolean {
    if (this.#isOn) return false
    const now = this.#now()
    if (now < this.#quietUntil) return false
    this.#isOn = true
    this.#quietUntil = now + this.#interval
    return true
  }

  /** Notes a success. Returns whether an outage that was logged ends with it. */
  ends(): boolean {
    const wasOn = this.#isOn
    this.#isOn = false
    return wasOn
  }
}
