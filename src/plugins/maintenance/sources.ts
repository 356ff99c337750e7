import { readFile, stat } from 'node:fs/promises'
import { type MaintenanceNotice, type ReadNotice, readNotice } from './notice.js'
import type { MaintenanceOptions } from './options.js'
import { Poller } from './poller.js'
import { claimOf, type Maintenance } from './state.js'
import type { MaintenanceStore } from './stores/store.js'

/** The log of the app. */
export interface SourceLog {
  info(message: string): void
  warn(message: string): void
  error(details: object, message: string): void
}

type PollOptions = Pick<Required<MaintenanceOptions>, 'pollInterval' | 'schedule'>

/** Returns a poller of the file that announces maintenance. */
export function filePoller(
  path: string,
  maintenance: Maintenance,
  options: PollOptions,
  log: SourceLog,
): Poller<ReadNotice | null> {
  return pollerOf('file', options, log, {
    read: () => readMaintenanceFile(path),
    take(read) {
      maintenance.setClaim('file', read === null ? null : claimOf('file', read.notice))
      return read?.fault ?? null
    },
  })
}

/** Returns a poller of the store that instances share. */
export function storePoller(
  enabled: MaintenanceSwitch,
  options: PollOptions,
  log: SourceLog,
): Poller<StoredNotice> {
  return pollerOf('store', options, log, {
    read: () => enabled.read(),
    take: (stored) => enabled.take(stored),
  })
}

interface Source<Value> {
  read(): Promise<Value>
  /** Takes what was read. Returns what is wrong with it; `null` if nothing is. */
  take(value: Value): string | null
}

function pollerOf<Value>(
  name: 'file' | 'store',
  { pollInterval: interval, schedule }: PollOptions,
  log: SourceLog,
  source: Source<Value>,
): Poller<Value> {
  let lastFault: string | null = null
  return new Poller({
    read: () => source.read(),
    take(value) {
      const fault = source.take(value)
      if (fault !== null && fault !== lastFault) {
        log.warn(`maintenance: the notice in the ${name} is used without its invalid parts: ${fault}`)
      }
      lastFault = fault
    },
    lost: (err) =>
      log.error({ err }, `maintenance: the ${name} is unreachable; its last known state stays in effect`),
    found: () => log.info(`maintenance: the ${name} is reachable again`),
    interval,
    schedule,
  })
}

/**
 * Reads the notice in a file; `null` if there is no file. Anything at the path means maintenance, even if it is not a
 * notice, cannot be read or is a folder.
 *
 * @throws the error of the file system if that does not show whether the file exists
 */
async function readMaintenanceFile(path: string): Promise<ReadNotice | null> {
  try {
    const found = await stat(path)
    if (!found.isFile()) return { notice: {}, fault: 'it is not a file' }
    if (found.size > maxBytes) return { notice: {}, fault: `it has more than ${maxBytes} bytes` }
  } catch (error) {
    if (isAbsence(error)) return null
    throw error
  }
  try {
    const content = (await readFile(path, 'utf8')).trim()
    return content === '' ? { notice: {}, fault: null } : readNotice(JSON.parse(content))
  } catch (error) {
    if (isAbsence(error)) return null
    return { notice: {}, fault: error instanceof SyntaxError ? 'it is not JSON' : 'it cannot be read' }
  }
}

const maxBytes = 65_536

function isAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}

/** What was read from a store, and the number of writes before. */
export interface StoredNotice {
  readonly value: unknown
  readonly writes: number
}

/** The notice of `enable()` and `disable()` in a store, for this instance at once and for others when they poll. */
export class MaintenanceSwitch {
  readonly #store: MaintenanceStore
  readonly #onNotice: (notice: MaintenanceNotice | null) => void
  #writes = 0
  #last: Promise<void> = Promise.resolve()

  /** @param onNotice called with each notice that takes effect */
  constructor(store: MaintenanceStore, onNotice: (notice: MaintenanceNotice | null) => void) {
    this.#store = store
    this.#onNotice = onNotice
  }

  /**
   * Writes a notice, one after another in the order of the calls.
   * @throws the error of the store; the state does not change then
   */
  set(notice: MaintenanceNotice | null): Promise<void> {
    const written = this.#last.then(() => this.#write(notice))
    this.#last = written.catch(() => {})
    return written
  }

  /** Reads the store, for {@link take}. */
  async read(): Promise<StoredNotice> {
    const writes = this.#writes
    const value: unknown = await this.#store.get()
    return { value, writes }
  }

  /**
   * Takes what was read, unless something was written since: then it may be older.
   * @returns what is wrong with it; `null` if nothing is
   */
  take({ value, writes }: StoredNotice): string | null {
    if (writes !== this.#writes) return null
    if (value === null || value === undefined) {
      this.#onNotice(null)
      return null
    }
    const { notice, fault } = readNotice(value)
    this.#onNotice(notice)
    return fault
  }

  async #write(notice: MaintenanceNotice | null): Promise<void> {
    try {
      await this.#store.set(notice)
      this.#onNotice(notice)
    } finally {
      // A read that began during the write may have either value.
      this.#writes += 1
    }
  }
}
