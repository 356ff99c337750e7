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
   * Returns the time in milliseconds, for tests.
   * @default performance.now
   */
  readonly now?: () => number
}

/** Of all answers, two for each character. */
const maxBytes = 67_108_864

const checks: Checks<MemoryIdempotencyOptions> = {
  maxKeys: integer(1, 10_000_000),
  now: functionOf('a function that returns milliseconds'),
}

/** Minimum of milliseconds between two searches: looking at all keys for each new one would take longer than all else. */
const betweenSearches = 1_000

interface Entry extends IdempotencyRecord {
  readonly expiresAt: number
}

/**
 * An {@link IdempotencyStore} in the memory of the process. A restart loses its content, and other processes cannot use it.
 * Answers have 64 MiB: then those that were kept first are removed early.
 *
 * Not for several instances, and not for effects that must not happen twice: use `postgresIdempotency`.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function memoryIdempotency(options?: MemoryIdempotencyOptions): IdempotencyStore {
  const { maxKeys, now } = resolveOptions('memoryIdempotency', options, checks, {
    maxKeys: 10_000,
    now: () => performance.now(),
  })
  // Each in the order in which an entry was added: claims, and answers.
  const running = new Map<string, Entry>()
  const kept = new Map<string, Entry>()
  // Kept, because a new iterator would pass all that was removed before. Each entry that it has returned is removed.
  let oldest = kept.values()
  let bytes = 0
  // Before this time, a full store is not searched for what is over.
  let nextSearch = Number.POSITIVE_INFINITY

  function add(entries: Map<string, Entry>, entry: Entry): void {
    entries.set(entry.key, entry)
    nextSearch = Math.min(nextSearch, entry.expiresAt)
  }

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
    if (now() >= nextSearch) expire(Number.POSITIVE_INFINITY)
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
    let nextExpiry = Number.POSITIVE_INFINITY
    for (const entries of [running, kept]) {
      for (const entry of entries.values()) {
        if (expired >= limit) return expired
        if (entry.expiresAt > time) nextExpiry = Math.min(nextExpiry, entry.expiresAt)
        else {
          remove(entry)
          expired += 1
        }
      }
    }
    nextSearch = Math.max(nextExpiry, time + betweenSearches)
    return expired
  }

  /** Whether a claim still has its key: no other has it. */
  function has({ key, token }: IdempotencyClaim, entry = find(key)): boolean {
    return entry?.token === token
  }

  return {
    isShared: false,
    check: () => {},
    claim({ key, token, fingerprint }, lease) {
      const entry = find(key)
      if (entry !== undefined) return entry
      makeRoom(1, 0)
      add(running, { key, token, fingerprint, answer: null, expiresAt: now() + lease })
      return null
    },
    renew(claim, lease) {
      const entry = running.get(claim.key)
      if (entry === undefined || !has(claim, entry)) return false
      add(running, { ...entry, expiresAt: now() + lease })
      return true
    },
    complete({ key, token, fingerprint }, answer, keepFor) {
      const before = find(key)
      if (before !== undefined && before.token !== token) return false
      const entry = { key, token, fingerprint, answer, expiresAt: now() + keepFor }
      makeRoom(before === undefined ? 1 : 0, bytesOf(entry))
      if (before !== undefined) remove(before)
      add(kept, entry)
      bytes += bytesOf(entry)
      return true
    },
    release(claim) {
      if (has(claim, running.get(claim.key))) running.delete(claim.key)
    },
    expire,
  }
}

function bytesOf({ answer }: IdempotencyRecord): number {
  return answer === null ? 0 : answer.length * 2
}
