import type { Schedule } from '../schedule.js'
import type { OperationEngine } from './operation-engine.js'
import type { OperationRecord } from './operation-record.js'
import { cancelledFailure, interruptedFailure, type OperationRegistry } from './operation-registry.js'
import type { OperationWork, Trouble } from './operation-runner.js'

/** What an {@link OperationSweeper} goes by. */
export interface SweeperOptions {
  readonly registry: OperationRegistry
  readonly engine: OperationEngine
  readonly workOf: (name: string) => OperationWork | undefined
  readonly lease: number
  readonly now: () => number
  readonly schedule: Schedule
  readonly trouble: Trouble
}

/**
 * Looks after what is due: what has no run that is alive is handed to the engine again, or ended where it was run too
 * often or is cancelled; what has had its time goes. All instances do it; the record decides whose turn it was.
 */
export class OperationSweeper {
  readonly #options: SweeperOptions
  #stopTimer = () => {}
  #sweep: Promise<void> | null = null
  #isStopped = false

  constructor(options: SweeperOptions) {
    this.#options = options
  }

  /** Sweeps once, and from then on twice in a lease. */
  start(): void {
    this.#sweep = this.#once().finally(() => {
      this.#sweep = null
      const { schedule, lease } = this.#options
      if (!this.#isStopped) this.#stopTimer = schedule(() => this.start(), lease / 2)
    })
  }

  /** Resolves when none is under way any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopTimer()
    await this.#sweep
  }

  async #once(): Promise<void> {
    const { registry, trouble } = this.#options
    try {
      for (let changes = most; changes >= most && !this.#isStopped; ) {
        changes = 0
        for (const record of await registry.due(most)) if (await this.#lookAfter(record)) changes += 1
      }
      while ((await registry.expire(most)) === most && !this.#isStopped);
      trouble.recovered()
    } catch (error) {
      // What finds no room in the queue stays due, and is looked after the next time.
      if (isFull(error)) return
      trouble.failed('operations that are due cannot be looked after', error)
    }
  }

  /** Was there anything to do for it? */
  async #lookAfter(record: OperationRecord): Promise<boolean> {
    const { registry, engine, workOf, lease, now } = this.#options
    const { id, isCancelling, run, createdAt, startedAt } = record
    const work = workOf(record.name)
    // Work of a name that another release knows is left to it, but not for ever.
    const isUnknown = work === undefined && now() - (startedAt ?? createdAt) > lease * 10
    if (isCancelling || isUnknown || (work !== undefined && run >= work.maxRuns)) {
      const error = isCancelling ? cancelledFailure : interruptedFailure
      await registry.finish(id, null, { status: 'Failed', error })
      return true
    }
    if (work === undefined || !(await registry.putOff(record))) return false
    await engine.enqueue(id)
    return true
  }
}

/** Records that are looked after in one go. */
const most = 100

// By its name: the engine may come from the other build of this package.
function isFull(error: unknown): boolean {
  return error instanceof Error && error.name === 'OperationQueueFullError'
}
