interface Entry<Value> {
  readonly key: string
  value: Value
  older: Entry<Value> | null
  newer: Entry<Value> | null
}

/**
 * A map of at most `most` entries: a new entry removes the least recently used one. Each call takes constant time. A `Map`
 * alone, with each used entry removed and added again, would have to pass the gaps of its removed entries.
 */
export class RecentMap<Value> {
  readonly #entries = new Map<string, Entry<Value>>()
  readonly #most: number
  #newest: Entry<Value> | null = null
  #oldest: Entry<Value> | null = null

  constructor(most: number) {
    this.#most = most
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (entry !== this.#newest) {
      this.#unlink(entry)
      this.#append(entry)
    }
    return entry.value
  }

  set(key: string, value: Value): void {
    const known = this.#entries.get(key)
    if (known !== undefined) {
      known.value = value
      return
    }
    const oldest = this.#oldest
    if (oldest !== null && this.#entries.size >= this.#most) {
      this.#unlink(oldest)
      this.#entries.delete(oldest.key)
    }
    const entry: Entry<Value> = { key, value, older: null, newer: null }
    this.#append(entry)
    this.#entries.set(key, entry)
  }

  #append(entry: Entry<Value>): void {
    entry.older = this.#newest
    entry.newer = null
    if (this.#newest === null) this.#oldest = entry
    else this.#newest.newer = entry
    this.#newest = entry
  }

  #unlink({ older, newer }: Entry<Value>): void {
    if (older === null) this.#oldest = newer
    else older.newer = newer
    if (newer === null) this.#newest = older
    else newer.older = older
  }
}
