/** A map of at most `most` entries: a new entry removes the one that was set first. */
export class BoundedCache<Key, Value> {
  readonly #entries = new Map<Key, Value>()
  readonly #most: number
  /** Iterates from the oldest key on. It is kept, because a new iterator would pass all that was removed before. */
  readonly #oldest = this.#entries.keys()

  constructor(most: number) {
    this.#most = most
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  /** Sets a value. It is the newest one then, also if its key is known. */
  set(key: Key, value: Value): void {
    if (this.#most < 1) return
    if (!this.#entries.delete(key) && this.#entries.size >= this.#most) {
      this.#entries.delete(this.#oldest.next().value as Key)
    }
    this.#entries.set(key, value)
  }
}

interface Kept<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): unknown
}

/** Returns the value of a key. If there is none, it is made and kept. */
export function kept<Key, Value>(values: Kept<Key, Value>, key: Key, make: () => Value): Value {
  const known = values.get(key)
  if (known !== undefined) return known
  const made = make()
  values.set(key, made)
  return made
}
