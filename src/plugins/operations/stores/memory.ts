import { integer, type OptionsOf, option, resolveOptions } from '../../../options.js'
import { isFinal, type OperationRecord } from '../record.js'
import { type OperationStore, OperationStoreFullError } from './store.js'

const declared = {
  /**
   * Maximum number of operations; each takes less than 1.5 kB besides its input or result. If the store is full, the
   * operations that ended first are deleted early; if all are in progress, no other can start.
   * @default 100_000
   */
  maxOperations: option(integer(1, 10_000_000), 100_000),
}

/** Options of {@link memoryOperationStore}. */
export interface MemoryOperationStoreOptions extends OptionsOf<typeof declared> {}

/** Of all inputs and results, two for each character. */
const maxBytes = 67_108_864

/**
 * An {@link OperationStore} in the memory of the process, which a restart loses: not for several instances. Inputs and results
 * have 64 MiB: then the operations that ended first are deleted early; if those in progress take all, no other can start.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function memoryOperationStore(options?: MemoryOperationStoreOptions): OperationStore {
  const { maxOperations } = resolveOptions('memoryOperationStore', options, declared)
  // In the order of their start, and in the order of their end.
  const inProgress = new Map<string, Entry>()
  const final = new Map<string, Entry>()
  // Of each owner, the oldest first.
  const lists = new Map<string, Entry[]>()
  // The ids of operations in progress, by their `onePer`.
  const only = new Map<string, string>()
  // Of operations in progress, and of final ones.
  let [inputBytes, resultBytes] = [0, 0]

  const entryOf = (id: string) => inProgress.get(id) ?? final.get(id)

  function count(entry: Entry, sign: 1 | -1): void {
    const bytes = sign * bytesOf(entry)
    if (isFinal(entry.record)) resultBytes += bytes
    else inputBytes += bytes
  }

  function letOthersStart({ id, onePer }: OperationRecord): void {
    if (onePer !== null && only.get(onePer) === id) only.delete(onePer)
  }

  function remove(entry: Entry): void {
    const { id, owner } = entry.record
    count(entry, -1)
    letOthersStart(entry.record)
    inProgress.delete(id)
    final.delete(id)
    if (owner === null) return
    const list = lists.get(owner) ?? []
    list.splice(placeIn(list, entry.record), 1)
    if (list.length === 0) lists.delete(owner)
  }

  function makeRoom(most: number): void {
    for (const entry of final.values()) {
      if (inProgress.size + final.size <= most && inputBytes + resultBytes <= maxBytes) break
      remove(entry)
    }
  }

  return {
    isShared: false,
    check: async () => {},
    async create(record, input) {
      const { id, onePer, owner } = record
      if (entryOf(id) !== undefined || (onePer !== null && only.has(onePer))) return false
      if (inProgress.size >= maxOperations) {
        throw new OperationStoreFullError(
          `${maxOperations} operations are in progress; there is no room for more`,
        )
      }
      const entry = { record, input, dueAt: record.dueAt }
      if (inputBytes + bytesOf(entry) > maxBytes) {
        throw new OperationStoreFullError(`operations in progress take ${inputBytes} bytes of ${maxBytes}`)
      }
      makeRoom(maxOperations - 1)
      inProgress.set(id, entry)
      if (onePer !== null) only.set(onePer, id)
      count(entry, 1)
      if (owner !== null) {
        const list = lists.get(owner) ?? []
        list.splice(placeIn(list, record), 0, entry)
        lists.set(owner, list)
      }
      makeRoom(maxOperations)
      return true
    },
    get: async (id) => entryOf(id)?.record ?? null,
    input: async (id) => inProgress.get(id)?.input ?? null,
    async replace({ id, version, dueAt }, next) {
      const entry = entryOf(id)
      if (entry?.record.version !== version) return false
      count(entry, -1)
      entry.record = next
      if (next.dueAt !== dueAt) entry.dueAt = next.dueAt
      if (isFinal(next)) {
        entry.input = null
        letOthersStart(next)
        inProgress.delete(id)
        final.set(id, entry)
      }
      count(entry, 1)
      makeRoom(maxOperations)
      return true
    },
    async remove({ id, version }) {
      const entry = entryOf(id)
      if (entry?.record.version !== version) return false
      remove(entry)
      return true
    },
    async takeDue(time, until, limit) {
      const due = [...inProgress.values()].filter(({ dueAt }) => dueAt <= time)
      const taken = due.sort(byDueAt).slice(0, limit)
      for (const entry of taken) entry.dueAt = until
      return taken.map(({ record }) => record)
    },
    async expire(time, limit) {
      let expired = 0
      for (const entry of final.values()) {
        if (expired === limit) break
        if (entry.record.dueAt > time) continue
        remove(entry)
        expired += 1
      }
      return expired
    },
    async list(owner, { before, limit }) {
      const list = lists.get(owner) ?? []
      const end = before === undefined ? list.length : placeIn(list, before)
      const page = list.slice(Math.max(end - limit, 0), end).reverse()
      return page.map(({ record }) => record)
    },
  }
}

interface Entry {
  record: OperationRecord
  input: string | null
  /** Time of the next check. */
  dueAt: number
}

function bytesOf({ input, record }: Entry): number {
  return 2 * ((input?.length ?? 0) + (record.result?.length ?? 0))
}

function byDueAt(one: Entry, other: Entry): number {
  return one.dueAt - other.dueAt || (one.record.id < other.record.id ? -1 : 1)
}

/** Returns the number of places in a list that come before another one. */
function placeIn(
  list: readonly Entry[],
  { createdAt, id }: Pick<OperationRecord, 'createdAt' | 'id'>,
): number {
  let [from, to] = [0, list.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    const { record } = list[middle] as Entry
    const isBefore = record.createdAt < createdAt || (record.createdAt === createdAt && record.id < id)
    if (isBefore) from = middle + 1
    else to = middle
  }
  return from
}
