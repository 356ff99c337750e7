import { operationDefinitions } from './define.js'
import { eventsOf, faultLog } from './events.js'
import type { Log, ResolvedOperations } from './options.js'
import type { OperationStore } from './stores/store.js'

export type OperationCore = ReturnType<typeof operationCore>

/** What the parts of the operations of a context share. */
export function operationCore(options: ResolvedOperations, log: Log) {
  const { store, engine, maxLength } = options
  const clock = storeClock(store, options.now)
  return {
    ...options,
    log,
    clock,
    now: clock.now,
    // The last third of the lease is for finding a dead run: there are two sweeps within a lease.
    lease: Math.floor((options.lease * 2) / 3),
    /** Whether the engine decides that a run is dead, and not the lease. */
    takesOver: engine.takesOver === true,
    definitions: operationDefinitions(maxLength),
    emit: eventsOf(log),
    faultsOf: (part: string) => faultLog(log, part, clock.now),
  }
}

/**
 * Returns the clock of a store, as a process reads it: the steady time of the process plus the difference to the store.
 *
 * @param given replaces both clocks; for tests
 */
export function storeClock(store: Pick<OperationStore, 'time'>, given: (() => number) | undefined) {
  const isOfStore = given === undefined && store.time !== undefined
  const local = given ?? (isOfStore ? () => performance.timeOrigin + performance.now() : Date.now)
  let difference = 0
  return {
    now: () => Math.floor(local() + difference),

    /** Reads the clock of the store. What the way to the store takes is the uncertainty of the result. */
    async sync(): Promise<void> {
      if (!isOfStore || store.time === undefined) return
      const before = local()
      const time = await store.time()
      const uncertainty = (local() - before) / 2
      const found = time - before - uncertainty
      if (Math.abs(found - difference) > uncertainty) difference = found
    },
  }
}
