import type { OperationWork, WorkContext } from '../../../src/plugins/operations/define.js'
import type { OperationEngine } from '../../../src/plugins/operations/engines/engine.js'
import {
  type InProcessEngineOptions,
  inProcessEngine,
} from '../../../src/plugins/operations/engines/in-process.js'
import type { FaultLog, OperationEventName } from '../../../src/plugins/operations/events.js'
import type { Log } from '../../../src/plugins/operations/options.js'
import type { NewOperation, OperationEnd, OperationRecord } from '../../../src/plugins/operations/record.js'
import {
  operationRegistry,
  type RegistryOptions,
  storeClock,
} from '../../../src/plugins/operations/registry.js'
import { operationRunner } from '../../../src/plugins/operations/runner.js'
import type { OperationStore } from '../../../src/plugins/operations/stores/store.js'
import { operationSweeper } from '../../../src/plugins/operations/sweeper.js'
import type { ManualClock } from '../../support/manual-clock.js'
import { failure, lease, newOperation, retention, stored, succeeded } from './samples.js'

interface ProcessOptions extends InProcessEngineOptions {
  readonly store: OperationStore
  readonly clock: ManualClock
  /** By name; `'work'` is what `begin` begins unless told otherwise. */
  readonly works?: Readonly<Record<string, Partial<OperationWork>>>
  readonly engine?: OperationEngine
  readonly registry?: Partial<RegistryOptions>
  /** @default 10_000 */
  readonly unwind?: number
}

/** Returns what one process has of the machinery, over a store that it may share with others. */
export function testProcess({
  store,
  clock,
  works = {},
  engine: given,
  registry: registryOptions = {},
  unwind = 10_000,
  ...limits
}: ProcessOptions) {
  // Records that this process ended; the faults in the log, and `'recovered'` after each; errors that became failures.
  const [ended, faults, errors]: [OperationRecord[], string[], unknown[]] = [[], [], []]
  const [events, lines]: [{ event: OperationEventName; record: OperationRecord }[], unknown[]] = [[], []]
  const { now, schedule } = clock
  const engine = given ?? inProcessEngine({ ...limits, schedule })
  const takesOver = engine.takesOver === true
  const onEnd = (record: OperationRecord) => void ended.push(record)
  const line = (...given: unknown[]) => void lines.push(given)
  const log = { debug: line, info: line, warn: line, error: line } as unknown as Log
  const registry = operationRegistry({
    store,
    lease,
    takesOver,
    checkInterval: takesOver ? lease * 10 : lease,
    retention,
    now,
    schedule,
    onEnd,
    ...registryOptions,
  })
  const faultLog = {
    failed: (what: string) => void faults.push(what),
    recovered: () => {
      if (faults.length > 0 && faults.at(-1) !== 'recovered') faults.push('recovered')
    },
  } as unknown as FaultLog
  const workOf = (name: string): OperationWork | undefined =>
    works[name] === undefined
      ? undefined
      : { maxRuns: 3, timeout: 3_600_000, isRetried: () => false, run: async () => succeeded, ...works[name] }
  const runner = operationRunner({
    registry,
    lease,
    unwind,
    schedule,
    workOf,
    faults: faultLog,
    emit: (event, record) => void events.push({ event, record }),
    log,
    failureOf: (error) => {
      errors.push(error)
      return failure
    },
  })
  const enqueue = async ({ id, name, owner, priority, notBefore }: OperationRecord): Promise<boolean> => {
    if (works[name] === undefined) return false
    const delay = Math.max((notBefore ?? 0) - now(), 0)
    await engine.enqueue({ id, name, owner, priority, delay, retries: 2, backoff: 1_000 })
    return true
  }
  const newSweeper = (over: Partial<Parameters<typeof operationSweeper>[0]> = {}) =>
    operationSweeper({
      registry,
      engine,
      enqueue,
      isPaused: () => false,
      interval: lease / 2,
      clock: storeClock(store, now),
      schedule,
      faults: faultLog,
      ...over,
    })
  const sweeper = newSweeper()

  return {
    registry,
    runner,
    engine,
    sweeper,
    newSweeper,
    ended,
    faults,
    errors,
    events,
    lines,
    /** Stores an operation, and adds it to the engine. */
    async begin(over: Partial<NewOperation> = {}) {
      const record = await stored(registry, newOperation(over))
      await enqueue(record)
      return record
    },
    /** Runs operations, and sweeps. */
    async start() {
      await engine.start({
        run: (id, isLast) => runner.run(id, isLast),
        lost: (id) => runner.lost(id),
        failed: (what) => faultLog.failed(what, null),
        recovered: () => faultLog.recovered(),
        now,
        lease,
      })
      await engine.work()
      sweeper.start()
      await clock.advance(0)
    },
    async sweep() {
      const once = newSweeper()
      once.start()
      await clock.advance(0)
      await once.stop()
    },
  }
}

/** Returns work that a test ends; it ignores its signal. */
export function heldWork(over: Partial<OperationWork> = {}) {
  const contexts: WorkContext[] = []
  const waiting: { resolve(end: OperationEnd): void; reject(error: unknown): void }[] = []
  return {
    maxRuns: 3,
    timeout: 3_600_000,
    isRetried: () => false,
    contexts,
    run: (context: WorkContext) => {
      contexts.push(context)
      return new Promise<OperationEnd>((resolve, reject) => waiting.push({ resolve, reject }))
    },
    end: (end = succeeded) => waiting.shift()?.resolve(end),
    fail: (error: unknown) => waiting.shift()?.reject(error),
    ...over,
  }
}
