import { isProblemError, type ProblemError } from '../../problem/problem-error.js'
import { digest, OperationDefinitions } from './define.js'
import { isQueueFull } from './engines/engine.js'
import { type EmitEvent, eventsOf, FaultLog } from './events.js'
import { failureOf, full, interruptedFailure, shareFull, unavailable } from './failures.js'
import type { Log, ResolvedOperations } from './options.js'
import { isFinal, newOperationId, type OperationAccess, type OperationRecord } from './record.js'
import { OperationRegistry, StoreClock } from './registry.js'
import { OperationRunner } from './runner.js'
import { OperationSweeper } from './sweeper.js'

/** Who starts an operation, and from which request. */
export interface Starter extends Caller {
  /** Identifies the start among all: a request that is sent again has the same. `null` for none. */
  readonly key: string | null
  readonly requestId: string | null
}

/** A caller, and who may see what they start. */
export interface Caller {
  /** Id of the caller; `null` if the caller is not known. */
  readonly owner: string | null
  readonly access: OperationAccess
}

/** Options of the start of an operation. */
export interface BeginOptions extends Starter {
  /** Milliseconds before which it must not run. */
  readonly delay: number
  /** From 0 to 100. */
  readonly priority: number
}

/** The registry, the runner, the sweeper and the engine of a context. */
export class OperationsService {
  readonly options: ResolvedOperations
  readonly definitions: OperationDefinitions
  readonly registry: OperationRegistry
  readonly clock: StoreClock
  readonly #log: Log
  readonly #lease: number
  readonly #knowsCallers: () => boolean
  readonly #starts: FaultLog
  readonly #emit: EmitEvent
  readonly #runner: OperationRunner
  readonly #sweeper: OperationSweeper
  readonly #waiting = new Map<string, Set<() => void>>()
  #stopListening: () => Promise<void> = async () => {}
  #isStarting = false
  #isStarted = false
  #isWorking = false
  #isPaused = false
  #isClosing = false

  /** @param knowsCallers whether the app tells callers apart; called when the app is ready */
  constructor(options: ResolvedOperations, log: Log, knowsCallers: () => boolean = () => false) {
    const { store, engine, maxLength, schedule, unwind } = options
    // The last third of the lease is for finding a dead run: there are two sweeps within a lease.
    const lease = Math.floor((options.lease * 2) / 3)
    const takesOver = engine.takesOver === true
    this.#lease = lease
    this.options = options
    this.#log = log
    this.#knowsCallers = knowsCallers
    this.clock = new StoreClock(store, options.now)
    const { now } = this.clock
    const faultsOf = (part: string) => new FaultLog(log, part, now)
    this.definitions = new OperationDefinitions(maxLength)
    this.#starts = faultsOf('starts')
    this.#emit = eventsOf(log)
    this.registry = new OperationRegistry({
      ...options,
      lease,
      takesOver,
      // An engine that takes over has lost a job only after a crash.
      checkInterval: takesOver ? lease * 10 : lease,
      now,
      faults: faultsOf('store'),
      onEnd: (record) => this.#ended(record),
    })
    const shared = { registry: this.registry, schedule }
    this.#runner = new OperationRunner({
      ...shared,
      lease,
      unwind,
      workOf: (name) => this.definitions.get(name)?.work,
      failureOf: (error, record) => failureOf(error, record, maxLength, log),
      faults: faultsOf('runs'),
      emit: this.#emit,
      onHeartbeat: (id) => this.#wake(id),
      log,
    })
    this.#sweeper = new OperationSweeper({
      ...shared,
      engine,
      enqueue: (record) => this.#enqueue(record, false),
      isPaused: () => this.#isPaused,
      interval: lease / 2,
      clock: this.clock,
      faults: faultsOf('sweep'),
    })
  }

  async start(): Promise<void> {
    const { store, engine } = this.options
    this.#isStarting = true
    await store.check()
    await this.clock.sync()
    this.#stopListening = await store.listen((id) => this.#heard(id))
    const faults = new FaultLog(this.#log, 'engine', this.clock.now)
    await engine.start({
      run: (id, isLast) => this.#runner.run(id, isLast),
      lost: (id) => this.#runner.lost(id),
      failed: (what, error) => faults.failed(what, error),
      recovered: () => faults.recovered(),
      now: this.clock.now,
      lease: this.#lease,
    })
    this.#isStarted = true
    // Work that no other process can take is that of this process alone.
    if (!store.isShared || this.#isWorking) await this.work()
  }

  /** Begins to run operations: after the start, and after a pause. */
  async work(): Promise<void> {
    this.#isWorking = true
    if (!this.#isStarted || this.#isClosing || this.#isPaused) return
    await this.options.engine.work()
    if (!this.#isClosing) this.#sweeper.start()
  }

  /** Begins no more runs, until this is called with `false`. Those that run go on. */
  async pause(isPaused: boolean): Promise<void> {
    this.#isPaused = isPaused
    if (!this.#isWorking) return
    if (isPaused) await this.options.engine.pause()
    else await this.work()
  }

  /** Ends the waits of all requests, because a closing server waits for its requests. */
  stopWaiting(): void {
    this.#isClosing = true
    for (const wakes of this.#waiting.values()) for (const wake of wakes) wake()
  }

  /** Waits for runs, stops them after `drain`, and releases all resources, also after a failed start. */
  async close(): Promise<void> {
    if (!this.#isStarting) return
    this.#isClosing = true
    const { engine, drain, schedule, store } = this.options
    await this.#sweeper.stop()
    const closed = engine.close()
    let stopDrain = () => {}
    if (drain === 0) this.#runner.close()
    else stopDrain = schedule(() => this.#runner.close(), drain)
    // Without this timer the process may exit before the runs have ended.
    const alive = setInterval(() => {}, 60_000)
    try {
      await closed
      if (!store.isShared) await this.#interruptAll()
    } finally {
      stopDrain()
      clearInterval(alive)
      await this.#stopListening()
    }
  }

  /** Starts an operation: stores its record, and adds it to the engine. One that a request sent again has started is the same. */
  async begin(name: string, input: unknown, options: BeginOptions): Promise<OperationRecord> {
    const { key, ...starter } = options
    const { cancellable } = this.definitions.named(name)
    const json = this.definitions.inputJson(name, input)
    const onePer = this.definitions.onePerOf(name, json)
    const operation = { name, input: json, cancellable, onePer, ...starter }
    const id = key === null ? newOperationId() : digest(key, name).slice(0, 32)
    const { record, isNew } = await this.registry.create(id, operation).catch((error) => {
      if (!isProblemError(error) || error.code !== 'operations-full') throw error
      throw this.#full(error)
    })
    if (!isNew) {
      // The process of the first request may have died before it did this. If it fails, the sweeper does it.
      if (!isFinal(record)) await this.#enqueue(record, true).catch(() => {})
      return record
    }
    await this.#enqueueNew(record)
    this.#emit('start', record)
    return record
  }

  /**
   * Requests the cancellation of an operation in any process, and waits for its run to end, so that the caller learns whether
   * it was in time. Returns the record.
   */
  async cancel(id: string): Promise<OperationRecord | null> {
    const record = await this.registry.cancel(id)
    if (record?.isCancelling !== true) return record
    this.#announce(record)
    return this.ended(record, cancelWait)
  }

  retryAfter({ name, notBefore }: Pick<OperationRecord, 'name' | 'notBefore'>): number {
    const { retryAfter } = this.options
    const usual = this.definitions.get(name)?.retryAfter ?? retryAfter
    const delay = Math.ceil(((notBefore ?? 0) - this.clock.now()) / 1000)
    return Math.min(Math.max(usual, delay), 86_400)
  }

  /** Resolves with the record of an operation when it is final, or with its last known record after the time limit. */
  async ended(
    record: OperationRecord,
    milliseconds: number,
    left: AbortSignal = new AbortController().signal,
  ): Promise<OperationRecord> {
    const { store, schedule } = this.options
    let [found, isLate, wake] = [record, false, () => {}]
    // Not by the clock of the store, which may be set back.
    const stopTimer = schedule(() => {
      isLate = true
      wake()
    }, milliseconds)
    const leave = () => wake()
    left.addEventListener('abort', leave)
    try {
      for (;;) {
        // Watched before the read: the operation may end meanwhile.
        const changed = new Promise<void>((resolve) => {
          wake = resolve
        })
        const unwatch = this.watch(record.id, wake)
        // The message of another process may get lost.
        const stopPoll = store.isShared ? schedule(wake, pollInterval) : () => {}
        try {
          // The operation has started, even if the read fails.
          found = (await this.registry.find(record.id).catch(() => null)) ?? found
          if (isFinal(found) || this.#isClosing || left.aborted || isLate) return found
          await changed
        } finally {
          unwatch()
          stopPoll()
        }
      }
    } finally {
      stopTimer()
      left.removeEventListener('abort', leave)
    }
  }

  /** Calls a function when an operation may have changed, or when the app closes. Returns a function that ends that. */
  watch(id: string, wake: () => void): () => void {
    const wakes = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, wakes.add(wake))
    return () => {
      wakes.delete(wake)
      if (wakes.size === 0 && this.#waiting.get(id) === wakes) this.#waiting.delete(id)
    }
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  /** Returns whose share of queue and streams a caller takes: all who are not known have one. `null` for none. */
  shareOf({ owner, access }: Pick<OperationRecord, 'owner' | 'access'>): string | null {
    if (access === 'internal') return null
    return owner ?? (this.#knowsCallers() ? '' : null)
  }

  /** A process announced a change. The message is a hint: what counts is the record. */
  #heard(id: string): void {
    this.#runner.look(id)
    this.#wake(id)
  }

  #wake(id: string): void {
    for (const wake of this.#waiting.get(id) ?? []) wake()
  }

  #announce({ id }: OperationRecord): void {
    this.registry
      .ask((store) => store.announce(id))
      .catch((err: unknown) => {
        this.#log.warn({ err, operationId: id }, 'operations: a change could not be announced')
      })
  }

  #ended(record: OperationRecord): void {
    this.#emit(record.error?.code === interruptedFailure.code ? 'give-up' : 'end', record)
    this.options.engine.forget?.(record.id)
    this.#announce(record)
  }

  /** Adds an operation to the engine; `false` if this process does not define it. If it fails, the sweeper does it later. */
  async #enqueue(record: OperationRecord, isNew: boolean): Promise<boolean> {
    const { id, name, priority, notBefore } = record
    const defined = this.definitions.get(name)
    if (defined === undefined) return false
    await this.options.engine.enqueue({
      id,
      name,
      owner: this.shareOf(record),
      priority,
      delay: Math.max((notBefore ?? 0) - this.clock.now(), 0),
      retries: defined.retry.max,
      backoff: defined.retry.delay,
      isNew,
    })
    return true
  }

  async #enqueueNew(record: OperationRecord): Promise<void> {
    try {
      await this.#enqueue(record, true)
    } catch (error) {
      // No client knows it yet. If it cannot be removed either, the sweeper finds it later, and it runs.
      const isGone = await this.registry.ask((store) => store.remove(record)).catch(() => false)
      if (isGone && isQueueFull(error)) {
        throw error.isShare ? shareFull(error, this.options.retryAfter) : this.#full(error)
      }
      if (!isGone) this.#emit('start', record)
      this.#starts.failed('operations cannot be added to the engine', error)
      throw unavailable('Operations cannot be started at the moment; this one may or may not run', error)
    }
    this.#starts.recovered()
  }

  #full(cause: unknown): ProblemError {
    this.#starts.failed('there is no room for another operation', cause)
    return full(cause, this.options.retryAfter)
  }

  /** Fails the operations that wait in a queue of this process. */
  async #interruptAll(): Promise<void> {
    const { store } = this.options
    const all = Number.MAX_SAFE_INTEGER
    for (const { id } of await store.takeDue(all, all, all)) {
      await this.registry.finish(id, null, { status: 'Failed', error: interruptedFailure })
    }
  }
}

const pollInterval = 1_000
/** Milliseconds that a cancellation waits for the run to stop. */
const cancelWait = 10_000
