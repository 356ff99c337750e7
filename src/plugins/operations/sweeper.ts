import { inTime, type Schedule } from '../../time/schedule.js'
import { isQueueFull, type OperationEngine } from './engines/engine.js'
import type { FaultLog } from './events.js'
import { interruptedFailure } from './failures.js'
import { isRunning, type OperationRecord } from './record.js'
import type { OperationRegistry, StoreClock } from './registry.js'

export interface SweeperOptions {
  readonly registry: OperationRegistry
  readonly engine: OperationEngine
  /** Adds an operation to the engine; `false` if this process does not define it. */
  readonly enqueue: (record: OperationRecord) => Promise<boolean>
  /** Whether this process begins no runs at the moment: then others get what is due. */
  readonly isPaused: () => boolean
  readonly interval: number
  readonly clock: StoreClock
  readonly schedule: Schedule
  readonly faults: FaultLog
}

/**
 * Finds operations whose job is gone, adds them to the engine again, and deletes expired records. All instances do this; the
 * store gives each record to one of them.
 */
export class OperationSweeper {
  readonly #options: SweeperOptions
  #stopTimer = () => {}
  #sweep: Promise<void> | null = null
  #isStopped = true

  constructor(options: SweeperOptions) {
    this.#options = options
  }

  /** Sweeps once, and then in each interval. */
  start(): void {
    if (!this.#isStopped) return
    this.#isStopped = false
    this.#next()
  }

  /** Resolves when no sweep is running. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopTimer()
    await this.#sweep
  }

  #next(): void {
    this.#sweep = this.#once().finally(() => {
      this.#sweep = null
      const { schedule, interval } = this.#options
      if (!this.#isStopped) this.#stopTimer = schedule(() => this.#next(), interval)
    })
  }

  async #once(): Promise<void> {
    const { registry, clock, interval, schedule, faults, isPaused } = this.#options
    try {
      await inTime(clock.sync(), interval, 'the time of the store', schedule)
      for (let page = 0; page < maxPages && !this.#isStopped && !isPaused(); page += 1) {
        const records = await registry.takeDue(pageSize)
        const isFull = await this.#checkAll(records)
        if (isFull || records.length < pageSize) break
      }
      for (let page = 0; page < maxPages && !this.#isStopped; page += 1) {
        if ((await registry.ask((store) => store.expire(clock.now(), pageSize))) < pageSize) break
      }
      faults.recovered()
    } catch (error) {
      faults.failed('operations that are due cannot be checked', error)
    }
  }

  /** Checks operations, and skips those that fail, because their turn comes again. Returns whether the queue is full. */
  async #checkAll(records: readonly OperationRecord[]): Promise<boolean> {
    const faults: unknown[] = []
    for (const record of records) {
      if (this.#isStopped) break
      try {
        await this.#check(record)
      } catch (error) {
        if (isQueueFull(error)) return true
        faults.push(error)
      }
    }
    if (faults.length > 0) throw faults[0]
    return false
  }

  async #check(record: OperationRecord): Promise<void> {
    const { registry, engine, enqueue, clock } = this.#options
    const { id, updatedAt, notBefore } = record
    if (!engine.takesOver && isRunning(record, clock.now())) return
    if (await enqueue(record)) return
    // Another release may define it, so it waits, but not for ever.
    if (clock.now() - Math.max(updatedAt, notBefore ?? 0) < maxUnknown) return registry.postpone(id, 1_000)
    await registry.finish(id, null, { status: 'Failed', error: interruptedFailure })
  }
}

/** Maximum number of records in one read. */
const pageSize = 100
/** Maximum number of reads in one sweep. */
const maxPages = 20
/** Milliseconds for which an operation waits for a process that defines it. */
const maxUnknown = 3_600_000
