import type { FastifyInstance } from 'fastify'
import { appSlot } from './slots.js'

/** Whether an app is in maintenance, for plugins that pause their work meanwhile. */
export interface MaintenanceSignal {
  /** Whether there is maintenance now, from any source: `enable()`, a planned window, the file or the shared store. */
  isActive(): boolean
  /**
   * Calls a function when maintenance begins, with `true`, and when it ends, with `false`; not when only its end or its
   * reason changes, and not for the state at the time of this call. The function must not throw.
   * @returns a function that ends the calls
   */
  onChange(listener: (isActive: boolean) => void): () => void
}

const signal = appSlot<MaintenanceSignal>('maintenanceSignal')

/** Sets the signal of a context and of those below it. */
export function declareMaintenance(app: FastifyInstance, own: MaintenanceSignal): void {
  signal.set(app, own)
}

/** Returns the signal of a context: its own, or that of the closest context above it. */
export function maintenanceOf(app: FastifyInstance): MaintenanceSignal | null {
  return signal.get(app) ?? null
}
