/**
 * A map of at most `most` entries: a new entry removes the oldest. For values that are worth keeping although clients
 * choose their keys.
 */
export class BoundedCache<Key, Value> {
  readonly #entries = new Map<Key, Value>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  set(key: Key, value: Value): void {
    if (this.#most < 1) return
    if (this.#entries.size >= this.#most && !this.#entries.has(key)) {
      const [oldest] = this.#entries.keys()
      this.#entries.delete(oldest as Key)
    }
    this.#entries.set(key, value)
  }
}
