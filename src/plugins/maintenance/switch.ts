import { type MaintenanceNotice, readNotice } from './notice.js'
import type { MaintenanceStore } from './stores/store.js'

/** What `enable()` and `disable()` turn, kept in a store: here first, and on every instance that reads the store. */
export class MaintenanceSwitch {
  readonly #store: MaintenanceStore
  readonly #onTurn: (notice: MaintenanceNotice | null) => void
  // What was read before or while something was written may be older than that.
  #writes = 0
  #last: Promise<void> = Promise.resolve()

  /** @param onTurn takes what holds from now on */
  constructor(store: MaintenanceStore, onTurn: (notice: MaintenanceNotice | null) => void) {
    this.#store = store
    this.#onTurn = onTurn
  }

  /**
   * Turns it, one after another in the order of the calls.
   * @throws the error of the store; nothing is turned then
   */
  set(notice: MaintenanceNotice | null): Promise<void> {
    const turned = this.#last.then(() => this.#write(notice))
    this.#last = turned.catch(() => {})
    return turned
  }

  /** Reads the store; what it says is taken by {@link take}. */
  async read(): Promise<StoredNotice> {
    const writes = this.#writes
    const value: unknown = await this.#store.get()
    return { value, writes }
  }

  /**
   * Takes what was read, unless something was written meanwhile.
   * @returns what is wrong with it; `null` where nothing is
   */
  take({ value, writes }: StoredNotice): string | null {
    if (writes !== this.#writes) return null
    if (value === null || value === undefined) {
      this.#onTurn(null)
      return null
    }
    const { notice, fault } = readNotice(value)
    this.#onTurn(notice)
    return fault
  }

  async #write(notice: MaintenanceNotice | null): Promise<void> {
    this.#writes += 1
    try {
      await this.#store.set(notice)
      this.#onTurn(notice)
    } finally {
      this.#writes += 1
    }
  }
}

/** What a store said, and how often it had been written to by then. */
export interface StoredNotice {
  readonly value: unknown
  readonly writes: number
}
