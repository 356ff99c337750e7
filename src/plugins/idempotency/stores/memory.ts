import { LruMap } from 'toad-cache'
import { kept } from '../../../kept.js'
import { functionOf, integer, type OptionsOf, option, resolveOptions } from '../../../options.js'
import type { IdempotencyClaim, IdempotencyRecord, IdempotencyStore } from './store.js'

const declared = {
  /**
   * Maximum number of keys. An answer counts as one more key for each 4,096 characters.
   * @default 10_000
   */
  maxKeys: option(integer(1, 100_000), 10_000),
  /**
   * Returns the time in milliseconds, for tests.
   * @default performance.now
   */
  now: option(functionOf<() => number>('a function that returns milliseconds'), () => performance.now()),
}

/** Options of {@link memoryIdempotency}. */
export interface MemoryIdempotencyOptions extends OptionsOf<typeof declared> {}

interface Entry extends IdempotencyClaim, IdempotencyRecord {
  expiresAt: number
}

/** What a caller has of the store. */
interface Share {
  size: number
  /** The entries with an answer, in the order in which they were kept. */
  readonly answered: LruMap<Entry>
}

const newShare = (): Share => ({ size: 0, answered: new LruMap(0) })

function sizeOf(answer: string | null): number {
  return 1 + Math.floor((answer?.length ?? 0) / 4096)
}

/**
 * An {@link IdempotencyStore} in the memory of the process. If it is full, the caller with most keys loses the answers that were
 * kept first; if all requests of that caller still run, another key is refused. A restart loses its content: not for several
 * instances, and not for effects that must not happen twice. Use `postgresIdempotency` for these.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function memoryIdempotency(options?: MemoryIdempotencyOptions): IdempotencyStore {
  const { maxKeys, now } = resolveOptions('memoryIdempotency', options, declared)
  const entries = new Map<string, Entry>()
  const shares = new Map<string | null, Share>()
  let size = 0

  /** Adds to what the store and a caller have. */
  function grow(caller: string | null, by: number): Share {
    const share = kept(shares, caller, newShare)
    share.size += by
    size += by
    if (share.size === 0) shares.delete(caller)
    return share
  }

  function remove(entry: Entry): void {
    if (entries.get(entry.key) !== entry) return
    entries.delete(entry.key)
    grow(entry.caller, -sizeOf(entry.answer)).answered.delete(entry.key)
  }

  function find(key: string): Entry | undefined {
    const entry = entries.get(key)
    if (entry === undefined || entry.expiresAt > now()) return entry
    remove(entry)
    return undefined
  }

  /** Removes answers of the caller who would have most, until there is room. */
  function makeRoom(caller: string | null, more: number): void {
    while (size + more > maxKeys) {
      const own = shares.get(caller)
      let largest = own
      let most = own === undefined ? 0 : own.size + more
      for (const share of shares.values()) {
        if (share.size > most) {
          largest = share
          most = share.size
        }
      }
      const oldest = largest?.answered.first
      if (!oldest) throw new Error('memoryIdempotency: there is no room for another key')
      remove(oldest.value)
    }
  }

  return {
    isShared: false,
    check: () => {},
    claim(claim, lease) {
      const { key, caller, fingerprint, token } = claim
      const found = find(key)
      if (found !== undefined) return found
      makeRoom(caller, 1)
      grow(caller, 1)
      entries.set(key, { key, caller, fingerprint, token, answer: null, expiresAt: now() + lease })
      return null
    },
    renew({ key, token }, lease) {
      const found = find(key)
      if (found?.token !== token || found.answer !== null) return false
      found.expiresAt = now() + lease
      return true
    },
    complete(claim, answer, keepFor) {
      const { key, caller, fingerprint, token } = claim
      const found = find(key)
      if (found !== undefined && found.token !== token) return false
      makeRoom(caller, sizeOf(answer) - (found === undefined ? 0 : sizeOf(found.answer)))
      // Making room may have removed its earlier answer.
      const known = entries.get(key)
      const share = grow(caller, sizeOf(answer) - (known === undefined ? 0 : sizeOf(known.answer)))
      const entry = { key, caller, fingerprint, token, answer, expiresAt: now() + keepFor }
      entries.set(key, entry)
      share.answered.set(key, entry)
      return true
    },
    release({ key, token }) {
      const found = find(key)
      if (found?.token === token && found.answer === null) remove(found)
    },
    expire() {
      for (const entry of entries.values()) if (entry.expiresAt <= now()) remove(entry)
    },
  }
}
