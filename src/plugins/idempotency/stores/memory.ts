import { type Checks, functionOf, integer, resolveOptions } from '../../../options.js'
import {
  type IdempotencyClaim,
  type IdempotencyRecord,
  type IdempotencyStore,
  IdempotencyStoreFullError,
} from './store.js'

/** Options of {@link memoryIdempotency}. */
export interface MemoryIdempotencyOptions {
  /**
   * Maximum number of keys; each takes less than 1 kB besides its answer. If the store is full, the answers that were kept
   * first are removed early, and their requests would run again; if all requests run, another key is refused.
   * @default 10_000
   */
  readonly maxKeys?: number
  /**
   * Maximum of bytes of all answers, two for each character. If the store is full, the answers that were kept first are
   * removed early.
   * @default 67_108_864 (64 MiB)
   */
  readonly maxBytes?: number
  /**
   * Returns the time in milliseconds, for tests.
   * @default performance.now
   */
  readonly now?: () => number
}

const checks: Checks<MemoryIdempotencyOptions> = {
  maxKeys: integer(1, 10_000_000),
  maxBytes: integer(1, Number.MAX_SAFE_INTEGER),
  now: functionOf('a function that returns milliseconds'),
}

/** Milliseconds between two searches of a full store for what is over. */
const betweenSearches = 1_000

interface Entry extends IdempotencyRecord {
  readonly expiresAt: number
}

/**
 * An {@link IdempotencyStore} in the memory of the process. A restart loses its content, and other processes cannot use it.
 *
 * Not for several instances, and not for effects that must not happen twice: use `postgresIdempotency`.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function memoryIdempotency(options?: MemoryIdempotencyOptions): IdempotencyStore {
  const { maxKeys, maxBytes, now } = resolveOptions('memoryIdempotency', options, checks, {
    maxKeys: 10_000,
    maxBytes: 67_108_864,
    now: () => performance.now(),
  })
  // Each in the order in which an entry was added: claims, and answers.
  const running = new Map<string, Entry>()
  const kept = new Map<string, Entry>()
  // Kept, because a new iterator would pass all that was removed before. Each entry that it has returned is removed.
  let oldest = kept.values()
  let bytes = 0
  let searchedAt = Number.NEGATIVE_INFINITY

  function remove(entry: Entry): void {
    if (running.get(entry.key) === entry) running.delete(entry.key)
    if (kept.get(entry.key) !== entry) return
    kept.delete(entry.key)
    bytes -= bytesOf(entry)
  }

  function find(key: string): Entry | undefined {
    const entry = running.get(key) ?? kept.get(key)
    if (entry === undefined || entry.expiresAt > now()) return entry
    remove(entry)
    return undefined
  }

  /** Removes what is over, and then the answers that were kept first, until there is room for one more. */
  function makeRoom(moreKeys: number, moreBytes: number): void {
    const isFull = () => running.size + kept.size + moreKeys > maxKeys || bytes + moreBytes > maxBytes
    if (!isFull()) return
    // Once in a while: looking at all keys for each new one would take longer than all else.
    if (now() - searchedAt >= betweenSearches) {
      searchedAt = now()
      expire(Number.POSITIVE_INFINITY)
    }
    while (isFull()) {
      const { value: entry, done } = oldest.next()
      if (entry !== undefined) remove(entry)
      else if (kept.size === 0) throw new IdempotencyStoreFullError('there is no room for another key')
      if (done) oldest = kept.values()
    }
  }

  function expire(limit: number): number {
    const time = now()
    let expired = 0
    for (const entries of [running, kept]) {
      for (const entry of entries.values()) {
        if (expired >= limit) return expired
        if (entry.expiresAt > time) continue
        remove(entry)
        expired += 1
      }
    }
    return expired
  }

  /** Whether a claim still has its key: no other has it. */
  function has({ key, token }: IdempotencyClaim, entry = find(key)): boolean {
    return entry?.token === token
  }

  return {
    isShared: false,
    check: async () => {},
    async claim(claim, lease) {
      const entry = find(claim.key)
      if (entry !== undefined) return entry
      makeRoom(1, 0)
      running.set(claim.key, { ...claim, answer: null, expiresAt: now() + lease })
      return null
    },
    async renew(claim, lease) {
      const entry = running.get(claim.key)
      if (entry === undefined || !has(claim, entry)) return false
      running.set(claim.key, { ...entry, expiresAt: now() + lease })
      return true
    },
    async complete(claim, answer, keepFor) {
      const before = find(claim.key)
      if (before !== undefined && !has(claim, before)) return false
      const entry = { ...claim, answer, expiresAt: now() + keepFor }
      makeRoom(before === undefined ? 1 : 0, bytesOf(entry))
      if (before !== undefined) remove(before)
      kept.set(claim.key, entry)
      bytes += bytesOf(entry)
      return true
    },
    async release(claim) {
      if (has(claim, running.get(claim.key))) running.delete(claim.key)
    },
    expire: async (limit) => expire(limit),
  }
}

function bytesOf({ answer }: IdempotencyRecord): number {
  return answer === null ? 0 : answer.length * 2
}
