import type { Writable } from 'node:stream'
import { isProblemError, type ProblemError } from '../../problem/problem-error.js'
import { checkStore } from '../../stores/check-store.js'
import { operationCore } from './core.js'
import { digest } from './define.js'
import { isQueueFull } from './engines/engine.js'
import { full, interrupted, unavailable } from './failures.js'
import type { Log, ResolvedOperations } from './options.js'
import { isFinal, newOperationId, type OperationAccess, type OperationRecord } from './record.js'
import { operationRegistry } from './registry.js'
import { operationRunner } from './runner.js'
import { operationSweeper } from './sweeper.js'

/** Who starts an operation, and who may see it. */
export interface Caller {
  /** `null` if the caller is not known. */
  readonly owner: string | null
  readonly access: OperationAccess
}

export interface BeginOptions extends Caller {
  /** Identifies the start among all: a request that is sent again has the same. `null` for none. */
  readonly key: string | null
  readonly requestId: string | null
  readonly delay: number
  readonly priority: number
}

export type OperationsService = ReturnType<typeof operationsService>

/**
 * The registry, the runner, the sweeper and the engine of a context.
 *
 * @param knowsCallers whether the app tells callers apart; called when the app is ready
 */
export function operationsService(options: ResolvedOperations, log: Log, knowsCallers: () => boolean) {
  const core = operationCore(options, log)
  const { store, engine, schedule, drain, lease, clock, now, faultsOf, emit, definitions } = core
  const startFaults = faultsOf('starts')
  /** What waits for the ends of operations. */
  const waiting = new Map<string, Set<() => void>>()
  let isStarting = false
  let isStarted = false
  let isWorking = false
  let isPaused = false
  let isClosing = false

  const registry = operationRegistry(core, (record) => {
    emit(record.error?.code === 'operation-interrupted' ? 'give-up' : 'end', record)
    engine.forget?.(record.id)
    wake(record.id)
  })
  const runner = operationRunner(core, registry)
  const sweeper = operationSweeper(
    core,
    registry,
    (record) => enqueue(record, false),
    () => isPaused,
  )

  function wake(id: string): void {
    for (const look of waiting.get(id) ?? []) look()
  }

  /** `false` if this process does not define the operation. If it fails, the sweeper does it later. */
  async function enqueue(record: OperationRecord, isNew: boolean): Promise<boolean> {
    const { id, name, priority, notBefore } = record
    const defined = definitions.get(name)
    if (defined === undefined) return false
    const { max: retries, delay: backoff } = defined.retry
    const delay = Math.max((notBefore ?? 0) - now(), 0)
    await engine.enqueue({ id, name, owner: shareOf(record), priority, delay, retries, backoff, isNew })
    return true
  }

  async function enqueueNew(record: OperationRecord): Promise<void> {
    try {
      await enqueue(record, true)
    } catch (error) {
      // No client knows it yet. If it cannot be removed either, the sweeper finds it later, and it runs.
      const isGone = await registry.ask((store) => store.remove(record)).catch(() => false)
      if (isGone && isQueueFull(error)) throw refused(error, error.isShare)
      if (!isGone) emit('start', record)
      startFaults.failed('operations cannot be added to the engine', error)
      throw unavailable('Operations cannot be started at the moment; this one may or may not run', error)
    }
    startFaults.recovered()
  }

  function refused(cause: unknown, isShare: boolean): ProblemError {
    if (!isShare) startFaults.failed('there is no room for another operation', cause)
    return full(cause, options.retryAfter, isShare)
  }

  /** Returns whose share of the queue a caller takes: all callers who are not known have one. `null` for none. */
  function shareOf({ owner, access }: Pick<OperationRecord, 'owner' | 'access'>): string | null {
    if (access === 'internal') return null
    return owner ?? (knowsCallers() ? '' : null)
  }

  async function work(): Promise<void> {
    isWorking = true
    if (!isStarted || isClosing || isPaused) return
    await engine.work()
    if (!isClosing) sweeper.start()
  }

  /** Fails the operations that wait in a queue of this process. */
  async function interruptAll(): Promise<void> {
    const all = Number.MAX_SAFE_INTEGER
    for (const { id } of await store.takeDue(all, all, all)) await registry.finish(id, null, interrupted)
  }

  /**
   * Resolves with the record of an operation when it is final; with its last known one after the time limit, when the app
   * closes, or if the client left.
   */
  async function ended(
    record: OperationRecord,
    milliseconds: number,
    client?: Writable,
  ): Promise<OperationRecord> {
    let found = record
    // The connection may have been closed before.
    let isOver = client?.destroyed === true
    let look = () => {}
    const stop = () => {
      isOver = true
      look()
    }
    // Not by the clock of the store, which may be set back.
    const stopTimer = schedule(stop, milliseconds)
    client?.once('close', stop)
    const changes = () => look()
    const others = waiting.get(record.id) ?? new Set()
    waiting.set(record.id, others.add(changes))
    try {
      for (;;) {
        // Made before the read: the operation may end meanwhile.
        const changed = new Promise<void>((resolve) => {
          look = resolve
        })
        // The operation has started, even if the read fails.
        found = (await registry.find(record.id).catch(() => null)) ?? found
        if (isFinal(found) || isClosing || isOver) return found
        // It may end in another process.
        const stopPoll = store.isShared ? schedule(look, pollInterval) : () => {}
        await changed
        stopPoll()
      }
    } finally {
      others.delete(changes)
      if (others.size === 0) waiting.delete(record.id)
      stopTimer()
      client?.off('close', stop)
    }
  }

  return {
    options,
    definitions,
    registry,
    clock,
    work,
    ended,

    async start(): Promise<void> {
      isStarting = true
      await checkStore('operations', () => store.check())
      await clock.sync()
      await engine.start({ run: runner.run, lost: runner.lost, ...faultsOf('engine'), now, lease })
      isStarted = true
      // Work that no other process can take is that of this process alone.
      if (!store.isShared || isWorking) await work()
    },

    /** Begins no more runs, until this is called with `false`. Those that run go on. */
    async pause(isToPause: boolean): Promise<void> {
      isPaused = isToPause
      if (!isWorking) return
      if (isPaused) await engine.pause()
      else await work()
    },

    /** Ends the waits of all requests, because a closing server waits for its requests. */
    stopWaiting(): void {
      isClosing = true
      for (const id of waiting.keys()) wake(id)
    },

    /** Waits for runs, stops them after `drain`, and releases all resources, also after a failed start. */
    async close(): Promise<void> {
      if (!isStarting) return
      isClosing = true
      await sweeper.stop()
      const closed = engine.close()
      let stopDrain = () => {}
      if (drain === 0) runner.close()
      else stopDrain = schedule(runner.close, drain)
      // Without this timer the process may exit before the runs have ended.
      const alive = setInterval(() => {}, 60_000)
      try {
        await closed
        if (!store.isShared) await interruptAll()
      } finally {
        stopDrain()
        clearInterval(alive)
      }
    },

    async begin(name: string, input: unknown, given: BeginOptions): Promise<OperationRecord> {
      const { key, ...starter } = given
      const defined = definitions.named(name)
      const json = defined.inputJson(input)
      const { cancellable } = defined
      const operation = { name, input: json, cancellable, onePer: defined.onePerOf(json), ...starter }
      const id = key === null ? newOperationId() : digest(key, name).slice(0, 32)
      const { record, isNew } = await registry.create(id, operation).catch((error) => {
        throw isProblemError(error) && error.code === 'operations-full' ? refused(error, false) : error
      })
      if (isNew) {
        await enqueueNew(record)
        emit('start', record)
      } else if (!isFinal(record)) {
        // The process of the first request may have died before it did this. If it fails, the sweeper does it.
        await enqueue(record, true).catch(() => {})
      }
      return record
    },

    /** Waits for the run to end, so that the caller learns whether the cancellation was in time. */
    async cancel(id: string): Promise<OperationRecord | null> {
      const record = await registry.cancel(id)
      if (record?.isCancelling !== true) return record
      runner.look(id)
      return ended(record, cancelWait)
    },

    retryAfter({ name, notBefore }: Pick<OperationRecord, 'name' | 'notBefore'>): number {
      const usual = definitions.get(name)?.retryAfter ?? options.retryAfter
      const delay = Math.ceil(((notBefore ?? 0) - now()) / 1000)
      return Math.min(Math.max(usual, delay), 86_400)
    },
  }
}

const pollInterval = 250
/** Milliseconds that a cancellation waits for the run to stop. */
const cancelWait = 10_000
