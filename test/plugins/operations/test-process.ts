import type { OperationWork, WorkContext } from '../../../src/plugins/operations/definitions.js'
import type { OperationEngine } from '../../../src/plugins/operations/engines/engine.js'
import {
  type InProcessEngineOptions,
  inProcessEngine,
} from '../../../src/plugins/operations/engines/in-process.js'
import type { OperationRecord } from '../../../src/plugins/operations/record.js'
import { OperationRegistry } from '../../../src/plugins/operations/registry.js'
import { OperationRunner } from '../../../src/plugins/operations/runner.js'
import type { OperationStore } from '../../../src/plugins/operations/stores/store.js'
import { OperationSweeper } from '../../../src/plugins/operations/sweeper.js'
import type { OperationEnd } from '../../../src/plugins/operations/transitions.js'
import type { ManualClock } from '../../support/manual-clock.js'
import { failure, lease, retention, succeeded } from './samples.js'

/** What one process has of the machinery, over a store that it may share with others. */
export interface TestProcess {
  readonly registry: OperationRegistry
  readonly runner: OperationRunner
  readonly engine: OperationEngine
  readonly sweeper: OperationSweeper
  /** Records that this process ended, as the registry told of them. */
  readonly ended: OperationRecord[]
  /** What went wrong, and `'recovered'` where it was over. */
  readonly troubles: string[]
  /** Errors of the work that became failures. */
  readonly faults: unknown[]
  /** Puts an operation into the registry and the engine. */
  begin(over?: Partial<Pick<OperationRecord, 'name' | 'input' | 'cancellable'>>): Promise<OperationRecord>
  /** Hands out work, listens to cancellations and sweeps. */
  start(): Promise<void>
  /** Sweeps once. */
  sweep(): Promise<void>
}

/** How a process is set up. */
export interface ProcessOptions extends InProcessEngineOptions {
  readonly store: OperationStore
  readonly clock: ManualClock
  /** By name; `'work'` is what {@link TestProcess.begin} begins unless told otherwise. */
  readonly works?: Readonly<Record<string, Partial<OperationWork>>>
  readonly engine?: OperationEngine
}

export function testProcess({
  store,
  clock,
  works = {},
  engine: given,
  ...limits
}: ProcessOptions): TestProcess {
  const [ended, troubles, faults]: [OperationRecord[], string[], unknown[]] = [[], [], []]
  const { now, schedule } = clock
  const registry = new OperationRegistry({
    store,
    lease,
    retention,
    storeTimeout: 5_000,
    now,
    schedule,
    onEnd: (record) => ended.push(record),
  })
  const failures = {
    failed: (what: string) => void troubles.push(what),
    recovered: () => void troubles.push('recovered'),
  }
  const workOf = (name: string) => {
    const work = works[name]
    return work === undefined
      ? undefined
      : { maxRuns: 3, timeout: 3_600_000, run: async () => succeeded, ...work }
  }
  const shared = { registry, lease, now, schedule, workOf, failures }
  const runner = new OperationRunner({
    ...shared,
    failureOf: (error) => {
      faults.push(error)
      return failure
    },
  })
  const engine = given ?? inProcessEngine(limits)
  const newSweeper = () => new OperationSweeper({ ...shared, engine })
  const sweeper = newSweeper()

  return {
    registry,
    runner,
    engine,
    sweeper,
    ended,
    troubles,
    faults,
    async begin(over = {}) {
      const record = registry.draft({ name: 'work', owner: null, input: null, cancellable: true, ...over })
      await registry.create(record)
      await engine.enqueue(record.id)
      return record
    },
    async start() {
      await store.onCancel((id) => runner.cancel(id))
      await engine.start({ run: (id) => runner.run(id), ...failures, lease })
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

/** Work that waits until it is told how to end. */
export interface HeldWork extends OperationWork {
  readonly contexts: WorkContext[]
  end(end?: OperationEnd): void
  fail(error: unknown): void
}

/** Work that a test ends; it heeds no signal. */
export function heldWork(over: Partial<OperationWork> = {}): HeldWork {
  const contexts: WorkContext[] = []
  const waiting: { resolve(end: OperationEnd): void; reject(error: unknown): void }[] = []
  return {
    maxRuns: 3,
    timeout: 3_600_000,
    contexts,
    run: (context) => {
      contexts.push(context)
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
    },
    end: (end = succeeded) => waiting.shift()?.resolve(end),
    fail: (error) => waiting.shift()?.reject(error),
    ...over,
  }
}
