import type { Schedule } from '../../time/schedule.js'
import type { OperationWork } from './definitions.js'
import { isQueueFull, type OperationEngine } from './engines/engine.js'
import type { FailureLog } from './outage-log.js'
import type { OperationFailure, OperationRecord } from './record.js'
import { cancelledFailure, interruptedFailure, type OperationRegistry } from './registry.js'

/** Options of {@link OperationSweeper}. */
export interface SweeperOptions {
  readonly registry: OperationRegistry
  readonly engine: OperationEngine
  readonly workOf: (name: string) => OperationWork | undefined
  readonly lease: number
  readonly now: () => number
  readonly schedule: Schedule
  readonly failures: FailureLog
}

/**
 * Checks operations that are due: one without a live run is added to the engine again, or ended if it exceeds `maxRuns` or is
 * cancelled; expired records are deleted. All instances do this; the version of the record decides which of them succeeds.
 */
export class OperationSweeper {
  readonly #options: SweeperOptions
  #stopTimer = () => {}
  #sweep: Promise<void> | null = null
  #isStopped = false
  #isFull = false

  constructor(options: SweeperOptions) {
    this.#options = options
  }

  /** Sweeps once, and then twice in each lease. */
  start(): void {
    this.#sweep = this.#once().finally(() => {
      this.#sweep = null
      const { schedule, lease } = this.#options
      if (!this.#isStopped) this.#stopTimer = schedule(() => this.start(), lease / 2)
    })
  }

  /** Resolves when no sweep is running. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopTimer()
    await this.#sweep
  }

  async #once(): Promise<void> {
    const { registry, failures } = this.#options
    try {
      const faults = await this.#lookAfterAll()
      while (!this.#isStopped && (await registry.expire(most)) === most);
      if (faults.length > 0) throw faults[0]
      failures.recovered()
    } catch (error) {
      failures.failed('operations that are due cannot be checked', error)
    }
  }

  /** Checks all operations that are due, and skips those that fail. Returns the first error. */
  async #lookAfterAll(): Promise<readonly unknown[]> {
    this.#isFull = false
    const faults: unknown[] = []
    for (let left = 0; left <= mostLeft; ) {
      // Records that are left unchanged come first again: the page has to be longer than they are.
      const limit = most + 2 * left
      const records = await this.#options.registry.due(limit)
      left = 0
      for (const record of records) {
        if (this.#isStopped || faults.length >= mostFaults) return faults
        try {
          if (!(await this.#lookAfter(record))) left += 1
        } catch (error) {
          faults.push(error)
          left += 1
        }
      }
      if (records.length < limit) break
    }
    return faults
  }

  /** Looks after one; `false` where it is left as it is. */
  async #lookAfter(record: OperationRecord): Promise<boolean> {
    const { registry, engine, workOf } = this.#options
    const work = workOf(record.name)
    const error = this.#failureOf(record, work)
    if (error !== null) {
      await registry.finish(record.id, null, { status: 'Failed', error })
      return true
    }
    if (work === undefined || this.#isFull) return false
    try {
      await engine.enqueue(record.id)
    } catch (error) {
      if (!isQueueFull(error)) throw error
      this.#isFull = true
      return false
    }
    // Only after it is in the queue: otherwise it stays due.
    await registry.putOff(record)
    return true
  }

  /** Returns the failure that it ends with; `null` if it has to run again. */
  #failureOf(
    { isCancelling, run, dueAt }: OperationRecord,
    work: OperationWork | undefined,
  ): OperationFailure | null {
    const { lease, now } = this.#options
    if (isCancelling) return cancelledFailure
    // Another release may define this operation, so it waits, but not for ever.
    const isGivenUp = work === undefined ? now() - dueAt > lease * 10 : run >= work.maxRuns
    return isGivenUp ? interruptedFailure : null
  }
}

/** Maximum number of records in one read. */
const most = 100
/** Records that are left as they are, before a sweep ends. */
const mostLeft = 1_000
/** Records that cannot be looked after, before a sweep ends: it is not they then, but the store or the engine. */
const mostFaults = 10
