/**
 * A member of a ring, which keeps its members in order. A `Map` would do, but for its iterators: a new one passes all that was
 * removed at the front, and one that is kept holds all earlier tables of its map in memory.
 */
export class Link {
  before: Link = this
  after: Link = this

  /** Moves to the end of a ring: before its `start`. */
  moveTo(start: Link): void {
    this.remove()
    this.before = start.before
    this.after = start
    start.before.after = this
    start.before = this
  }

  remove(): void {
    this.before.after = this.after
    this.after.before = this.before
    this.before = this
    this.after = this
  }
}

class Entry<Key, Value> extends Link {
  readonly key: Key
  value: Value

  constructor(key: Key, value: Value) {
    super()
    this.key = key
    this.value = value
  }
}

/** A map of at most `most` entries: a new entry removes the one that was set first. */
export class BoundedCache<Key, Value> {
  readonly #entries = new Map<Key, Entry<Key, Value>>()
  readonly #most: number
  /** The start of the ring of entries: the oldest one comes after it. */
  readonly #start = new Link()

  constructor(most: number) {
    this.#most = most
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value
  }

  /** Sets a value. It is the newest one then, also if its key is known. */
  set(key: Key, value: Value): void {
    if (this.#most < 1) return
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      if (this.#entries.size >= this.#most) {
        const oldest = this.#start.after as Entry<Key, Value>
        oldest.remove()
        this.#entries.delete(oldest.key)
      }
      entry = new Entry(key, value)
      this.#entries.set(key, entry)
    }
    entry.value = value
    entry.moveTo(this.#start)
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
