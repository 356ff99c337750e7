import { type Checks, integer, resolveOptions } from '../../../options.js'
import { isFinal } from '../record.js'
import { bytesOf, DueRecords } from './due-records.js'
import { type OperationStore, OperationStoreFullError } from './store.js'

/** Options of {@link memoryOperationStore}. */
export interface MemoryOperationStoreOptions {
  /**
   * Maximum number of operations; each takes less than 1 kB besides its input or result. If the store is full, the
   * operations that ended first are deleted early; if all are in progress, no other can start.
   * @default 100_000
   */
  readonly maxOperations?: number
  /**
   * Maximum of bytes of all inputs and results, two for each character. If the store is full, the operations that ended first
   * are deleted early; if those in progress take all bytes, no other can start.
   * @default 67_108_864 (64 MiB)
   */
  readonly maxBytes?: number
}

const checks: Checks<MemoryOperationStoreOptions> = {
  maxOperations: integer(1, 10_000_000),
  maxBytes: integer(1, Number.MAX_SAFE_INTEGER),
}

/**
 * An {@link OperationStore} in the memory of the process. A restart loses its content, and other processes cannot use it.
 *
 * Not for several instances.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function memoryOperationStore(options?: MemoryOperationStoreOptions): OperationStore {
  const { maxOperations, maxBytes } = resolveOptions('memoryOperationStore', options, checks, {
    maxOperations: 100_000,
    maxBytes: 67_108_864,
  })
  const inProgress = new DueRecords()
  const final = new DueRecords()
  const listeners = new Set<(id: string) => void>()

  function makeRoom(): void {
    while (final.size > 0 && inProgress.bytes + final.bytes > maxBytes) final.deleteOldest()
  }

  const current = (id: string) => inProgress.get(id) ?? final.get(id)

  return {
    isShared: false,
    check: async () => {},
    async create(record) {
      if (current(record.id) !== undefined) return false
      if (inProgress.size >= maxOperations) {
        throw new OperationStoreFullError(
          `${maxOperations} operations are in progress; there is no room for more`,
        )
      }
      if (inProgress.bytes + bytesOf(record) > maxBytes) {
        throw new OperationStoreFullError(
          `operations in progress take ${inProgress.bytes} bytes of ${maxBytes}`,
        )
      }
      if (inProgress.size + final.size >= maxOperations) final.deleteOldest()
      inProgress.put(record)
      makeRoom()
      return true
    },
    get: async (id) => current(id) ?? null,
    async replace(record) {
      const { id, version } = record
      if (current(id)?.version !== version - 1) return false
      const [its, others] = isFinal(record) ? [final, inProgress] : [inProgress, final]
      others.delete(id)
      its.put(record)
      makeRoom()
      return true
    },
    async remove({ id, version }) {
      if (current(id)?.version !== version) return false
      return inProgress.delete(id) || final.delete(id)
    },
    due: async (time, limit) => inProgress.due(time, limit),
    async expire(time, limit) {
      const expired = final.due(time, limit)
      for (const { id } of expired) final.delete(id)
      return expired.length
    },
    async announceCancel(id) {
      for (const listener of listeners) listener(id)
    },
    async onCancel(listener) {
      listeners.add(listener)
      return async () => void listeners.delete(listener)
    },
  }
}
