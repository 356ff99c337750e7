import type { OperationRecord } from '../record.js'

/**
 * Records by their id, and in the order in which they are due: by `dueAt`, then by id. Reading one takes the same time
 * however many there are; each change, and each record that is due, takes time logarithmic in their number.
 */
export class DueRecords {
  // In the order of insertion.
  readonly #entries = new Map<string, Entry>()
  // A binary heap: no entry is due before its parent, whose index is half of its own.
  readonly #heap: Entry[] = []

  #bytes = 0

  /** Bytes of the texts in all records, see {@link bytesOf}. */
  get bytes(): number {
    return this.#bytes
  }

  get size(): number {
    return this.#entries.size
  }

  get(id: string): OperationRecord | undefined {
    return this.#entries.get(id)?.record
  }

  /** Stores a record, and replaces one with the same id. */
  put(record: OperationRecord): void {
    const entry = this.#entries.get(record.id)
    this.#bytes += bytesOf(record) - (entry === undefined ? 0 : bytesOf(entry.record))
    if (entry === undefined) {
      const added = { record, place: 0 }
      this.#entries.set(record.id, added)
      this.#queue(added)
    } else {
      entry.record = record
      this.#settle(entry)
    }
  }

  /** Removes a record; returns `false` if there is none. */
  delete(id: string): boolean {
    const entry = this.#entries.get(id)
    if (entry === undefined) return false
    this.#entries.delete(id)
    this.#bytes -= bytesOf(entry.record)
    this.#unqueue(entry)
    return true
  }

  /** Removes the record whose id was inserted first. */
  deleteOldest(): void {
    for (const id of this.#entries.keys()) {
      this.delete(id)
      return
    }
  }

  /** Returns at most `limit` records with a `dueAt` up to `time`, the lowest `dueAt` first. */
  due(time: number, limit: number): readonly OperationRecord[] {
    const found: Entry[] = []
    while (found.length < limit) {
      const [next] = this.#heap
      if (next === undefined || next.record.dueAt > time) break
      this.#unqueue(next)
      found.push(next)
    }
    for (const entry of found) this.#queue(entry)
    return found.map(({ record }) => record)
  }

  #queue(entry: Entry): void {
    this.#set(entry, this.#heap.length)
    this.#settle(entry)
  }

  #unqueue(entry: Entry): void {
    const last = this.#heap.pop()
    if (last === undefined || last === entry) return
    this.#set(last, entry.place)
    this.#settle(last)
  }

  #settle(entry: Entry): void {
    for (let { place } = entry; place > 0; place = entry.place) {
      const parent = this.#heap[(place - 1) >> 1]
      if (parent === undefined || !isBefore(entry, parent)) break
      this.#swap(entry, parent)
    }
    for (let child = this.#firstChild(entry); child !== undefined; child = this.#firstChild(entry)) {
      if (!isBefore(child, entry)) break
      this.#swap(child, entry)
    }
  }

  #firstChild({ place }: Entry): Entry | undefined {
    const [one, other] = [this.#heap[2 * place + 1], this.#heap[2 * place + 2]]
    return one !== undefined && other !== undefined && isBefore(other, one) ? other : one
  }

  #swap(one: Entry, other: Entry): void {
    const { place } = one
    this.#set(one, other.place)
    this.#set(other, place)
  }

  #set(entry: Entry, place: number): void {
    entry.place = place
    this.#heap[place] = entry
  }
}

/** Returns the bytes of an operation's input and result. */
export function bytesOf({ input, result }: Pick<OperationRecord, 'input' | 'result'>): number {
  return 2 * ((input?.length ?? 0) + (result?.length ?? 0))
}

interface Entry {
  record: OperationRecord
  place: number
}

function isBefore({ record: one }: Entry, { record: other }: Entry): boolean {
  return one.dueAt === other.dueAt ? one.id < other.id : one.dueAt < other.dueAt
}
