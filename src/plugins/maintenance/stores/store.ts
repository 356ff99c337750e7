import type { MaintenanceNotice } from '../notice.js'

/**
 * Where instances of a service share whether they are in maintenance: one notice, or none.
 *
 * `get` is polled, never while a request waits. A store that rejects or does not answer in time is unreachable; the last
 * known state stays in effect.
 */
export interface MaintenanceStore {
  /** Returns the current notice; `null` if there is none. */
  get(): Promise<MaintenanceNotice | null>
  /** Replaces the notice; `null` removes it. Resolves when other instances can read it. */
  set(notice: MaintenanceNotice | null): Promise<void>
}

/** Returns a {@link MaintenanceStore} in the memory of the process, for one instance. A restart loses the notice. */
export function memoryMaintenanceStore(): MaintenanceStore {
  let current: MaintenanceNotice | null = null
  return {
    get: async () => current,
    set: async (notice) => {
      current = notice === null ? null : Object.freeze({ ...notice })
    },
  }
}
