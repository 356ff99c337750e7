import { type Checks, integer, resolveOptions } from '../options.js'
import { type OperationEngine, OperationQueueFullError, type OperationWorker } from './operation-engine.js'

/** Options of {@link inProcessEngine}. */
export interface InProcessEngineOptions {
  /**
   * Operations that run at the same time.
   * @default 10
   */
  readonly concurrency?: number
  /**
   * Operations that wait; beyond that a start is answered with 503.
   * @default 1_000
   */
  readonly maxQueued?: number
}

const checks: Checks<InProcessEngineOptions> = {
  concurrency: integer(1, 10_000),
  maxQueued: integer(0, 1_000_000),
}

/**
 * Runs operations in the process that started them, in their order. A restart loses what waits and runs here; with a
 * shared store another instance takes it up.
 *
 * Not for work that keeps the event loop busy: requests would wait for it.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function inProcessEngine(options?: InProcessEngineOptions): OperationEngine {
  const { concurrency, maxQueued } = resolveOptions('inProcessEngine', options, checks, {
    concurrency: 10,
    maxQueued: 1_000,
  })
  const queued = new Set<string>()
  const running = new Map<string, Promise<void>>()
  let worker: OperationWorker | null = null
  let isClosed = false

  function next(): void {
    if (worker === null || isClosed) return
    for (const id of queued) {
      if (running.size >= concurrency) return
      queued.delete(id)
      running.set(id, run(id, worker))
    }
  }

  async function run(id: string, { run, failed, recovered }: OperationWorker): Promise<void> {
    try {
      await run(id)
      recovered()
    } catch (error) {
      // The registry has the record, and whoever looks after what is due takes it up again.
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
    async enqueue(id) {
      if (queued.has(id) || running.has(id)) return
      if (isClosed) throw new Error('the engine is closed')
      const isIdle = running.size < concurrency && queued.size === 0
      if (queued.size >= maxQueued && !isIdle) {
        throw new OperationQueueFullError(`${maxQueued} operations wait already`)
      }
      queued.add(id)
      next()
    },
    forget: (id) => void queued.delete(id),
    async close() {
      isClosed = true
      queued.clear()
      await Promise.all(running.values())
    },
  }
}
