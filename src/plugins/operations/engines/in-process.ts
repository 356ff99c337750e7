import { type Checks, integer, resolveOptions } from '../../../options.js'
import { type OperationEngine, OperationQueueFullError, type OperationWorker } from './engine.js'

/** Options of {@link inProcessEngine}. */
export interface InProcessEngineOptions {
  /**
   * Maximum number of operations that run at the same time.
   * @default 10
   */
  readonly concurrency?: number
  /**
   * Maximum number of operations that wait; a start beyond it gets a 503.
   * @default 1_000
   */
  readonly maxQueued?: number
  /**
   * Maximum number of waiting operations of one owner; a start beyond it gets a 429, and other owners are not affected. It
   * applies if `operations.identify` returns an id.
   * @default a tenth of `maxQueued`, at least 1
   */
  readonly maxQueuedPerOwner?: number
}

const checks: Checks<InProcessEngineOptions> = {
  concurrency: integer(1, 10_000),
  maxQueued: integer(0, 1_000_000),
  maxQueuedPerOwner: integer(1, 1_000_000),
}

/**
 * Runs operations in the process that started them, in their order. A restart loses the operations that wait or run in this
 * process; with a shared store another instance runs them.
 *
 * Not for work that blocks the event loop: requests would wait for it.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function inProcessEngine(options?: InProcessEngineOptions): OperationEngine {
  const { concurrency, maxQueued, maxQueuedPerOwner } = resolveOptions('inProcessEngine', options, checks, {
    concurrency: 10,
    maxQueued: 1_000,
    maxQueuedPerOwner: Math.max(Math.floor((options?.maxQueued ?? 1_000) / 10), 1),
  })
  // Ids, and their owners.
  const queued = new Map<string, string | null>()
  const shares = new Map<string, number>()
  const running = new Map<string, Promise<void>>()
  let worker: OperationWorker | null = null
  let isClosed = false

  function next(): void {
    if (worker === null || isClosed) return
    for (const id of queued.keys()) {
      if (running.size >= concurrency) return
      leave(id)
      running.set(id, run(id, worker))
    }
  }

  function leave(id: string): void {
    const owner = queued.get(id)
    if (!queued.delete(id) || typeof owner !== 'string') return
    const rest = (shares.get(owner) ?? 1) - 1
    if (rest === 0) shares.delete(owner)
    else shares.set(owner, rest)
  }

  async function run(id: string, { run, failed, recovered }: OperationWorker): Promise<void> {
    try {
      await run(id)
      recovered()
    } catch (error) {
      // The record is kept; the sweeper queues the operation again.
      failed('an operation could not be run', error)
    }
    running.delete(id)
    next()
  }

  return {
    isShared: false,
    async start(given) {
      worker = given
      next()
    },
    async enqueue(id, owner = null) {
      if (queued.has(id) || running.has(id)) return
      if (isClosed) throw new Error('the engine is closed')
      const isIdle = running.size < concurrency && queued.size === 0
      const share = owner === null ? 0 : (shares.get(owner) ?? 0)
      if (share >= maxQueuedPerOwner) {
        throw new OperationQueueFullError(`${share} operations of this owner wait already`, { isShare: true })
      }
      if (queued.size >= maxQueued && !isIdle) {
        throw new OperationQueueFullError(`${maxQueued} operations wait already`)
      }
      if (owner !== null) shares.set(owner, share + 1)
      queued.set(id, owner)
      next()
    },
    forget: leave,
    async close() {
      isClosed = true
      queued.clear()
      shares.clear()
      await Promise.all(running.values())
    },
  }
}
