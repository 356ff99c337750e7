import { exactJson } from '../../json/exact-json.js'
import { longestDetail, problemDocument, serverFaultDetail } from '../../problem/problem-document.js'
import { isProblemError, ProblemError, type ProblemIssue } from '../../problem/problem-error.js'
import { problemOf } from '../../problem/problem-of.js'
import { clip } from '../../text.js'
import { StoreClock } from './clock.js'
import { OperationDefinitions } from './define.js'
import { isQueueFull, isShareFull } from './engines/engine.js'
import { type EmitEvent, eventsOf, FaultLog } from './events.js'
import type { Log, ResolvedOperations } from './options.js'
import { isFinal, type OperationFailure, type OperationRecord } from './record.js'
import { faultFailure, interruptedFailure, OperationRegistry, unavailable } from './registry.js'
import { OperationRunner } from './runner.js'
import type { Starter } from './starter.js'
import { OperationSweeper } from './sweeper.js'

/** Options of the start of an operation. */
export interface BeginOptions extends Starter {
  /** Milliseconds before which it must not run. */
  readonly delay: number
  /** From 0 to 100. `null`: that of the definition. */
  readonly priority: number
  /** A connection of the app, in whose transaction it is stored. */
  readonly connection: object | null
}

/** The registry, the runner, the sweeper and the engine of a context. */
export class OperationsService {
  readonly options: ResolvedOperations
  readonly definitions: OperationDefinitions
  readonly registry: OperationRegistry
  readonly clock: StoreClock
  readonly #log: Log
  readonly #lease: number
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

  constructor(options: ResolvedOperations, log: Log) {
    const { store, engine, maxLength, schedule, unwind } = options
    // The last third of the lease is for finding a dead run: there are two sweeps within a lease.
    const lease = Math.floor((options.lease * 2) / 3)
    const takesOver = engine.takesOver === true
    this.#lease = lease
    this.options = options
    this.#log = log
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
    const workOf = (name: string) => this.definitions.get(name)?.work ?? undefined
    const shared = { registry: this.registry, schedule }
    this.#runner = new OperationRunner({
      ...shared,
      lease,
      unwind,
      workOf,
      failureOf: (error, record) => this.#failureOf(error, record),
      faults: faultsOf('runs'),
      emit: this.#emit,
      onHeartbeat: (id) => this.#wake(id),
      log,
    })
    this.#sweeper = new OperationSweeper({
      ...shared,
      engine,
      isKnown: (name) => this.definitions.get(name) !== undefined,
      isImplemented: (name) => workOf(name) !== undefined,
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
      run: (id) => this.#runner.run(id),
      lost: (id) => this.#runner.lost(id),
      failed: (what, error) => faults.failed(what, error),
      recovered: () => faults.recovered(),
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

  /** Starts an operation: stores its record, and adds it to the engine. */
  async begin(name: string, input: unknown, options: BeginOptions): Promise<OperationRecord> {
    const { owner, access, requestId, traceparent, delay, connection } = options
    const { cancellable } = this.definitions.named(name)
    const json = this.definitions.inputJson(name, input)
    const onePer = this.definitions.onePerOf(name, json)
    await this.#checkLimit(owner)
    const record = await this.#created(
      {
        name,
        owner,
        access,
        input: json,
        cancellable,
        onePer,
        priority: options.priority,
        requestId,
        traceparent,
        delay,
      },
      connection,
    )
    if (connection === null) await this.#enqueueNew(record)
    this.#emit('start', record)
    return record
  }

  /** Adds an operation to the engine. If that fails, the sweeper does it later. */
  async enqueue(record: OperationRecord): Promise<void> {
    const { id, name, owner, priority, notBefore } = record
    const delay = Math.max((notBefore ?? 0) - this.clock.now(), 0)
    await this.options.engine.enqueue({ id, name, owner, priority, delay, isNew: true })
  }

  /** Requests the cancellation of an operation in any process. Returns its record. */
  async cancel(id: string): Promise<OperationRecord | null> {
    const record = await this.registry.cancel(id)
    if (record?.isCancelling === true) this.#announce(record)
    return record
  }

  retryAfter({ name, notBefore }: Pick<OperationRecord, 'name' | 'notBefore'>): number {
    const { retryAfter } = this.options
    const usual = this.definitions.get(name)?.retryAfter ?? retryAfter
    const delay = Math.ceil(((notBefore ?? 0) - this.clock.now()) / 1000)
    return Math.min(Math.max(usual, delay), 86_400)
  }

  /** Resolves with the record of an operation when it is final, or with its last known record after the time limit. */
  async ended(record: OperationRecord, milliseconds: number, signal: AbortSignal): Promise<OperationRecord> {
    const { store, schedule } = this.options
    // Not by the clock of the store, which may be set back.
    const late = new AbortController()
    const stop = schedule(() => late.abort(), milliseconds)
    let found = record
    for (;;) {
      // Watched before the read: the operation may end meanwhile.
      const changed = new AbortController()
      const unwatch = this.watch(record.id, () => changed.abort())
      try {
        // The operation has started, even if the read fails.
        found = (await this.registry.find(record.id).catch(() => null)) ?? found
        if (isFinal(found) || this.#isClosing || signal.aborted || late.signal.aborted) {
          stop()
          return found
        }
        // The message of another process may get lost.
        const pause = store.isShared ? pollInterval : null
        await this.#pause(pause, [signal, changed.signal, late.signal])
      } finally {
        unwatch()
      }
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

  /** @param milliseconds `null`: until a signal aborts */
  #pause(milliseconds: number | null, signals: readonly AbortSignal[]): Promise<void> {
    return new Promise((resolve) => {
      const stop = milliseconds === null ? () => {} : this.options.schedule(go, milliseconds)
      for (const signal of signals) signal.addEventListener('abort', go)
      if (signals.some(({ aborted }) => aborted)) go()
      function go(): void {
        stop()
        for (const signal of signals) signal.removeEventListener('abort', go)
        resolve()
      }
    })
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
    this.registry.announce(id).catch((err: unknown) => {
      this.#log.warn({ err, operationId: id }, 'operations: a change could not be announced')
    })
  }

  #ended(record: OperationRecord): void {
    this.#emit(record.error?.code === interruptedFailure.code ? 'give-up' : 'end', record)
    this.options.engine.forget?.(record.id)
    this.#announce(record)
  }

  async #created(
    operation: Parameters<OperationRegistry['create']>[0],
    connection: object | null,
  ): Promise<OperationRecord> {
    try {
      return await this.registry.create(operation, connection ?? undefined)
    } catch (error) {
      throw isProblemError(error) && error.code === 'operations-full' ? this.#full(error) : error
    }
  }

  async #enqueueNew(record: OperationRecord): Promise<void> {
    try {
      await this.enqueue(record)
    } catch (error) {
      // No client knows it yet. If it cannot be removed either, the sweeper finds it later, and it runs.
      const isGone = await this.registry.discard(record).catch(() => false)
      if (isGone && isShareFull(error)) throw this.#ownerFull(error)
      if (isGone && isQueueFull(error)) throw this.#full(error)
      if (!isGone) this.#emit('start', record)
      this.#starts.failed('operations cannot be added to the engine', error)
      throw unavailable(unreachable, error)
    }
    this.#starts.recovered()
  }

  async #checkLimit(owner: string | null): Promise<void> {
    const { maxPerOwner } = this.options
    if (maxPerOwner === null || owner === null) return
    const found = await this.registry.usage(owner)
    if (found >= maxPerOwner) throw this.#ownerFull(new Error(`${found} operations`))
  }

  #failureOf(error: unknown, { id, name, run }: OperationRecord): OperationFailure {
    const problem = problemOf(error)
    const { code, title, statusCode: status, errors } = problem
    const level = status < 500 ? 'info' : 'error'
    this.#log[level]({ err: error, operationId: id, operation: name, run }, `operations: '${name}' failed`)
    const { detail } = problemDocument(problem, '')
    const shown = detail === serverFaultDetail ? faultFailure.detail : clip(detail, longestDetail)
    const issues = status < 500 ? this.#storable(errors) : undefined
    return { code, title, status, detail: shown, ...(issues === undefined ? {} : { errors: issues }) }
  }

  /** Returns the issues in a form that every store accepts; `undefined` if they are too long, or not JSON. */
  #storable(errors: readonly ProblemIssue[] | undefined): readonly ProblemIssue[] | undefined {
    const json = jsonOf(errors)
    return json === undefined || json.length > this.options.maxLength ? undefined : JSON.parse(json)
  }

  #ownerFull(cause: unknown): ProblemError {
    const detail = 'Too many of your operations are waiting; no operation was started'
    const seconds = String(this.options.retryAfter)
    return new ProblemError('quota-exceeded', { detail, headers: { 'retry-after': seconds }, cause })
  }

  #full(cause: unknown): ProblemError {
    const seconds = String(this.options.retryAfter)
    this.#starts.failed('there is no room for another operation', cause)
    const detail = 'There are too many operations at the moment; nothing was started'
    return new ProblemError('operations-full', { detail, headers: { 'retry-after': seconds }, cause })
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
const unreachable = 'Operations cannot be started at the moment; this one may or may not run'

function jsonOf(value: unknown): string | undefined {
  try {
    return value === undefined ? undefined : exactJson(value, false)
  } catch {
    return undefined
  }
}
