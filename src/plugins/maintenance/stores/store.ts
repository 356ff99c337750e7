import type { MaintenanceNotice } from '../notice.js'

/**
 * Where instances of a service share that they are in maintenance: one notice, or none.
 *
 * `get` is asked again and again, off the path of requests. What does not answer in time, or rejects, is unreachable:
 * the last known state stays.
 */
export interface MaintenanceStore {
  /** The notice that was set last; `null` where there is none. */
  get(): Promise<MaintenanceNotice | null>
  /** Puts a notice in place of the one before; `null` takes it away. Resolves when others can see it. */
  set(notice: MaintenanceNotice | null): Promise<void>
}
