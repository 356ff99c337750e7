import type { MaintenanceNotice } from '../notice.js'
import type { MaintenanceStore } from './store.js'

/**
 * A {@link MaintenanceStore} in the memory of the process. A restart loses it, and other processes do not see it: not
 * for several instances.
 */
export function memoryMaintenanceStore(): MaintenanceStore {
  let kept: MaintenanceNotice | null = null
  return {
    get: async () => kept,
    set: async (notice) => {
      kept = notice === null ? null : Object.freeze({ ...notice })
    },
  }
}
