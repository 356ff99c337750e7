import { exactJson } from '../../json/exact-json.js'
import { problemDocument, serverFaultDetail } from '../../problem/problem-document.js'
import { isProblemError, ProblemError, type ProblemIssue } from '../../problem/problem-error.js'
import { longestDetail, problemOf } from '../../problem/problem-of.js'
import { clip } from '../../text.js'
import { OperationDefinitions } from './definitions.js'
import { isQueueFull, isShareFull } from './engines/engine.js'
import type { Log, ResolvedOperations } from './options.js'
import { OutageLog } from './outage-log.js'
import { pollAfter, RunTimes } from './polls.js'
import { isFinal, type OperationFailure, type OperationRecord } from './record.js'
import { faultFailure, interruptedFailure, OperationRegistry, unavailable } from './registry.js'
import { OperationRunner } from './runner.js'
import { OperationSweeper } from './sweeper.js'

/** The registry, the runner, the sweeper and the engine of a context. */
export class OperationsService {
  readonly options: ResolvedOperations
  readonly definitions: OperationDefinitions
  readonly registry: OperationRegistry
  readonly #log: Log
  readonly #lease: number
  readonly #isInOrder: boolean
  readonly #starts: OutageLog
  readonly #runner: OperationRunner
  readonly #sweeper: OperationSweeper
  readonly #times = new RunTimes()
  // At most one for each operation: the request that started it.
  readonly #waiting = new Map<string, AbortController>()
  #stopListening: () => Promise<void> = async () => {}
  #isStarting = false
  #isClosing = false

  constructor(options: ResolvedOperations, log: Log) {
    const { store, engine, maxLength, now, schedule } = options
    // The last third of the lease is for finding a dead run: there are two sweeps within a lease.
    const lease = Math.floor((options.lease * 2) / 3)
    this.#lease = lease
    this.#isInOrder = store.connection !== undefined && store.connection === engine.connection
    this.options = options
    this.#log = log
    this.definitions = new OperationDefinitions(maxLength)
    this.#starts = new OutageLog(log, 'starts', now)
    this.registry = new OperationRegistry({
      ...options,
      lease,
      failures: new OutageLog(log, 'store', now),
      onEnd: (record) => this.#ended(record),
    })
    const workOf = (name: string) => this.definitions.get(name)
    const shared = { registry: this.registry, lease, now, schedule, workOf }
    this.#runner = new OperationRunner({
      ...shared,
      failureOf: (error, record) => this.#failureOf(error, record),
      failures: new OutageLog(log, 'runs', now),
    })
    this.#sweeper = new OperationSweeper({ ...shared, engine, failures: new OutageLog(log, 'sweep', now) })
  }

  /** Begins to run operations. @throws Error if store or engine cannot be used */
  async start(): Promise<void> {
    const { store, engine, now } = this.options
    this.#isStarting = true
    await store.check()
    this.#stopListening = await store.onCancel((id) => this.#runner.cancel(id))
    const failures = new OutageLog(this.#log, 'engine', now)
    await engine.start({
      run: (id) => this.#runner.run(id),
      failed: (what, error) => failures.failed(what, error),
      recovered: () => failures.recovered(),
      lease: this.#lease,
    })
    this.#sweeper.start()
  }

  /** Ends the waits of all requests, because a closing server waits for its requests. */
  stopWaiting(): void {
    this.#isClosing = true
    for (const over of this.#waiting.values()) over.abort()
  }

  /** Waits for runs, stops them after `drain`, and releases all resources, also after a failed start. */
  async close(): Promise<void> {
    if (!this.#isStarting) return
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

  /**
   * Starts an operation: stores its record, and adds it to the engine. If both use one connection, the second command is
   * sent directly after the first.
   *
   * @throws FST_CONV_OPERATION_UNKNOWN; ProblemError `operations-full`, `operations-unavailable`, `quota-exceeded`, `content-too-large`
   */
  async begin(name: string, input: unknown, owner: string | null): Promise<OperationRecord> {
    const { cancellable } = this.definitions.named(name)
    const json = this.definitions.inputJson(name, input)
    const record = this.registry.draft({ name, owner, input: json, cancellable })
    let enqueued: Promise<void> | null = null
    const enqueue = () => {
      enqueued = this.#enqueue(record)
      // If both fail, the error of the record is thrown.
      enqueued.catch(() => {})
    }
    try {
      await this.registry.create(record, this.#isInOrder ? enqueue : undefined)
    } catch (error) {
      throw isCoded(error, 'operations-full') ? this.#full(error) : error
    }
    try {
      await (enqueued ?? this.#enqueue(record))
    } catch (error) {
      // No client knows it yet. If it cannot be removed either, the sweeper finds it later, and it runs.
      const isGone = await this.registry.discard(record).catch(() => false)
      if (isGone && isShareFull(error)) throw this.#shareFull(error)
      if (isGone && isQueueFull(error)) throw this.#full(error)
      this.#starts.failed('operations cannot be added to the engine', error)
      throw unavailable(unreachable, error)
    }
    this.#starts.recovered()
    return record
  }

  // An engine may throw synchronously.
  async #enqueue({ id, owner }: OperationRecord): Promise<void> {
    await this.options.engine.enqueue(id, owner)
  }

  /** Requests the cancellation of an operation in any process. Returns its record. */
  async cancel(id: string): Promise<OperationRecord | null> {
    const record = await this.registry.cancel(id)
    if (record?.isCancelling === true) {
      // If the message gets lost, the next heartbeat of the run finds the cancellation.
      await this.registry.announceCancel(id).catch((err: unknown) => {
        this.#log.warn({ err, operationId: id }, 'operations: the message to cancel could not be sent')
      })
    }
    return record
  }

  /** Returns the `Retry-After` of an operation in seconds. */
  retryAfter({ name, createdAt }: Pick<OperationRecord, 'name' | 'createdAt'>): number {
    const { now, retryAfter } = this.options
    return pollAfter(this.#times.usual(name), now() - createdAt, retryAfter)
  }

  /** Stores the run time of an operation of any process. */
  learn(record: OperationRecord): void {
    if (this.options.store.isShared && record.status === 'Succeeded') this.#remember(record)
  }

  /**
   * Resolves with the record of an operation when it is final, or with its last known record after the time limit.
   *
   * @param over ends the wait
   */
  async ended(
    record: OperationRecord,
    milliseconds: number,
    over: AbortController,
  ): Promise<OperationRecord> {
    const { now, store } = this.options
    const end = now() + milliseconds
    // Registered before the read: the operation may end meanwhile.
    this.#waiting.set(record.id, over)
    if (this.#isClosing) over.abort()
    try {
      let found = record
      for (let wait = 50; ; wait = Math.min(wait * 2, 500)) {
        const left = over.signal.aborted ? 0 : end - now()
        // The operation has started, even if the read fails.
        found = (await this.registry.find(record.id).catch(() => null)) ?? found
        if (isFinal(found) || left <= 0) return found
        await this.#pause(store.isShared ? Math.min(wait, left) : left, over.signal)
      }
    } finally {
      this.#waiting.delete(record.id)
    }
  }

  #pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const stop = this.options.schedule(go, milliseconds)
      signal.addEventListener('abort', go)
      function go(): void {
        stop()
        signal.removeEventListener('abort', go)
        resolve()
      }
    })
  }

  #ended(record: OperationRecord): void {
    if (record.status === 'Succeeded') this.#remember(record)
    this.#waiting.get(record.id)?.abort()
    this.options.engine.forget?.(record.id)
  }

  #remember({ name, createdAt, finishedAt }: OperationRecord): void {
    if (finishedAt !== null && this.definitions.get(name) !== undefined) {
      this.#times.add(name, finishedAt - createdAt, finishedAt)
    }
  }

  #failureOf(error: unknown, { id, name, run }: OperationRecord): OperationFailure {
    const problem = problemOf(error)
    const { code, title, statusCode: status, errors } = problem
    const level = status < 500 ? 'info' : 'error'
    this.#log[level]({ err: error, operationId: id, operation: name, run }, `operations: '${name}' failed`)
    const { detail } = problemDocument(problem, '')
    const told = detail === serverFaultDetail ? faultFailure.detail : clip(detail, longestDetail)
    const issues = status < 500 ? this.#kept(errors) : undefined
    return { code, title, status, detail: told, ...(issues === undefined ? {} : { errors: issues }) }
  }

  /** Returns the issues in a form that every store accepts; `undefined` if they are too long, or not JSON. */
  #kept(errors: readonly ProblemIssue[] | undefined): readonly ProblemIssue[] | undefined {
    const json = jsonOf(errors)
    return json === undefined || json.length > this.options.maxLength ? undefined : JSON.parse(json)
  }

  #shareFull(cause: unknown): ProblemError {
    const detail = 'Too many of your operations are waiting; no operation was started'
    const seconds = String(this.options.retryAfter.initial)
    return new ProblemError('quota-exceeded', { detail, headers: { 'retry-after': seconds }, cause })
  }

  #full(cause: unknown): ProblemError {
    const seconds = String(this.options.retryAfter.initial)
    this.#starts.failed('there is no room for another operation', cause)
    const detail = 'There are too many operations at the moment; nothing was started'
    return new ProblemError('operations-full', { detail, headers: { 'retry-after': seconds }, cause })
  }

  /** Fails the operations that wait in a queue of this process. */
  async #interruptAll(): Promise<void> {
    const { store } = this.options
    for (const { id } of await store.due(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)) {
      await this.registry.finish(id, null, { status: 'Failed', error: interruptedFailure })
    }
  }
}

const unreachable = 'Operations cannot be started at the moment; this one may or may not run'

function isCoded(error: unknown, code: string): boolean {
  return isProblemError(error) && error.code === code
}

function jsonOf(value: unknown): string | undefined {
  try {
    return value === undefined ? undefined : exactJson(value, false)
  } catch {
    return undefined
  }
}
