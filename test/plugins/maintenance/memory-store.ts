import type { MaintenanceNotice, MaintenanceStore } from '../../../src/plugins/maintenance/index.js'

/** A store in the memory of the process, for two apps to share. */
export function memoryMaintenanceStore(): MaintenanceStore {
  let current: MaintenanceNotice | null = null
  return {
    get: async () => current,
    set: async (notice) => {
      current = notice
    },
  }
}
