import { inTime } from '../../time/async.js'
import type { OperationCore } from './core.js'
import { isQueueFull } from './engines/engine.js'
import { interrupted } from './failures.js'
import { isRunning, type OperationRecord } from './record.js'
import type { OperationRegistry } from './registry.js'

/**
 * Finds operations whose job is gone, adds them to the engine again, and deletes expired records. All instances do this; the
 * store gives each record to one of them.
 *
 * @param enqueue returns `false` if this process does not define the operation
 * @param isPaused whether this process begins no runs at the moment: then others get what is due
 */
export function operationSweeper(
  { takesOver, clock, schedule, lease, faultsOf }: OperationCore,
  registry: OperationRegistry,
  enqueue: (record: OperationRecord) => Promise<boolean>,
  isPaused: () => boolean,
) {
  const interval = lease / 2
  const faults = faultsOf('sweep')
  let stopTimer = () => {}
  let sweeping: Promise<void> | null = null
  let isStopped = true

  function next(): void {
    sweeping = sweep().finally(() => {
      if (!isStopped) stopTimer = schedule(next, interval)
    })
  }

  async function sweep(): Promise<void> {
    try {
      await inTime(clock.sync(), interval, 'the time of the store', schedule)
      for (let page = 0; page < maxPages && !isStopped && !isPaused(); page += 1) {
        const records = await registry.takeDue(pageSize)
        if ((await checkAll(records)) || records.length < pageSize) break
      }
      for (let page = 0; page < maxPages && !isStopped; page += 1) {
        if ((await registry.ask((store) => store.expire(clock.now(), pageSize))) < pageSize) break
      }
      faults.recovered()
    } catch (error) {
      faults.failed('operations that are due cannot be checked', error)
    }
  }

  /** Checks operations, and skips those that fail, because their turn comes again. Returns whether the queue is full. */
  async function checkAll(records: readonly OperationRecord[]): Promise<boolean> {
    const errors: unknown[] = []
    for (const record of records) {
      if (isStopped) break
      try {
        await check(record)
      } catch (error) {
        if (isQueueFull(error)) return true
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
    return false
  }

  async function check(record: OperationRecord): Promise<void> {
    const { id, updatedAt, notBefore } = record
    if (!takesOver && isRunning(record, clock.now())) return
    if (await enqueue(record)) return
    // Another release may define it, so it waits, but not for ever.
    if (clock.now() - Math.max(updatedAt, notBefore ?? 0) < maxUnknown) return registry.postpone(id, 1_000)
    await registry.finish(id, null, interrupted)
  }

  return {
    start(): void {
      if (!isStopped) return
      isStopped = false
      next()
    },

    /** Resolves when no sweep is running. */
    async stop(): Promise<void> {
      isStopped = true
      stopTimer()
      await sweeping
    },
  }
}

/** Records in one read, and reads in one sweep. */
const [pageSize, maxPages] = [100, 20]
/** Milliseconds for which an operation waits for a process that defines it. */
const maxUnknown = 3_600_000
