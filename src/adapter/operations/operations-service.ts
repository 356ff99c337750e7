import type { FastifyBaseLogger } from 'fastify'
import { isProblemError, ProblemError } from '../../errors.js'
import { problemDocument, serverFaultDetail } from '../../http/problem.js'
import { problemOf } from '../../http/problem-of.js'
import type { OperationFailure, OperationRecord } from '../../operations/operation-record.js'
import { isFinal } from '../../operations/operation-record.js'
import { interruptedFailure, OperationRegistry, unavailable } from '../../operations/operation-registry.js'
import { OperationRunner } from '../../operations/operation-runner.js'
import { OperationSweeper } from '../../operations/operation-sweeper.js'
import { pollAfter } from '../../operations/poll-interval.js'
import { RunTimes } from '../../operations/run-times.js'
import { OperationDefinitions } from './operation-definitions.js'
import type { ResolvedOperations } from './operations-options.js'
import { TroubleLog } from './trouble-log.js'

/** All that serves the operations of a context, put together. */
export class OperationsService {
  readonly options: ResolvedOperations
  readonly definitions: OperationDefinitions
  readonly registry: OperationRegistry
  readonly #log: FastifyBaseLogger
  readonly #runner: OperationRunner
  readonly #sweeper: OperationSweeper
  readonly #times = new RunTimes()
  readonly #waiting = new Map<string, Set<() => void>>()
  #stopListening: () => Promise<void> = async () => {}
  #isStarted = false

  constructor(options: ResolvedOperations, log: FastifyBaseLogger) {
    const { engine, lease, maxLength, now, schedule } = options
    this.options = options
    this.#log = log
    this.definitions = new OperationDefinitions(maxLength)
    this.registry = new OperationRegistry(options)
    const workOf = (name: string) => this.definitions.get(name)
    const shared = { registry: this.registry, lease, now, schedule, workOf }
    this.#runner = new OperationRunner({
      ...shared,
      failureOf: (error, record) => this.#failureOf(error, record),
      trouble: new TroubleLog(log, 'runs'),
      onEnd: (record) => this.#ended(record),
    })
    this.#sweeper = new OperationSweeper({ ...shared, engine, trouble: new TroubleLog(log, 'sweep') })
  }

  /** Begins to run operations. @throws Error where store or engine cannot be used */
  async start(): Promise<void> {
    const { store, engine, lease } = this.options
    await store.check()
    this.#stopListening = await store.onCancel((id) => this.#runner.cancel(id))
    const trouble = new TroubleLog(this.#log, 'engine')
    await engine.start({
      run: (id) => this.#runner.run(id),
      failed: (what, error) => trouble.failed(what, error),
      recovered: () => trouble.recovered(),
      lease,
    })
    this.#isStarted = true
    this.#sweeper.start()
  }

  /** Lets runs end for a while, stops them then, and lets go of all. */
  async close(): Promise<void> {
    if (!this.#isStarted) return
    const { engine, drain, schedule, store } = this.options
    await this.#sweeper.stop()
    const closed = engine.close()
    const stopDrain = schedule(() => this.#runner.close(), drain)
    try {
      await closed
    } finally {
      stopDrain()
      if (!store.isShared) await this.#interruptAll()
      await this.#stopListening()
    }
  }

  /**
   * Starts an operation: the record first, then its turn in the engine.
   *
   * @throws FST_CONV_OPERATION_UNKNOWN; ProblemError `operations-full`, `operations-unavailable`, `content-too-large`
   */
  async begin(name: string, input: unknown, owner: string | null): Promise<OperationRecord> {
    const { cancellable } = this.definitions.named(name)
    const json = this.definitions.inputJson(name, input)
    const record = await this.registry
      .create({ name, owner, input: json, cancellable })
      .catch((error: unknown) =>
        Promise.reject(isCoded(error, 'operations-full') ? this.#full(error) : error),
      )
    try {
      await this.options.engine.enqueue(record.id)
    } catch (error) {
      // Nobody knows of it yet. If it cannot be taken away either, it is found when it is due, and run.
      await this.registry.discard(record).catch(() => {})
      throw isQueueFull(error) ? this.#full(error) : unavailable(unreachable, error)
    }
    return record
  }

  /** Asks to cancel an operation, wherever it runs; its record after that. */
  async cancel(id: string): Promise<OperationRecord | null> {
    const record = await this.registry.cancel(id)
    if (record?.isCancelling === true) {
      // The next sign of life of the run finds it where the message does not come through.
      await this.registry.announceCancel(id).catch((err: unknown) => {
        this.#log.warn({ err, operationId: id }, 'operations: the message to cancel did not come through')
      })
    }
    return record
  }

  /** Seconds after which it is worth to ask for an operation again. */
  retryAfter({ name, createdAt }: Pick<OperationRecord, 'name' | 'createdAt'>): number {
    const { now, retryAfter } = this.options
    return pollAfter(this.#times.usual(name), now() - createdAt, retryAfter)
  }

  /** Learns from an operation of another process how long such work takes. */
  learn(record: OperationRecord): void {
    if (this.options.store.isShared && record.status === 'Succeeded') this.#remember(record)
  }

  /**
   * The record of an operation once it is final; as it stands after so many milliseconds otherwise.
   *
   * @param signal ends the wait
   */
  async ended(record: OperationRecord, milliseconds: number, signal: AbortSignal): Promise<OperationRecord> {
    const { now, store } = this.options
    const end = now() + milliseconds
    let found = (await this.registry.find(record.id)) ?? record
    for (let wait = 50; !isFinal(found) && now() < end && !signal.aborted; wait = Math.min(wait * 2, 500)) {
      const left = end - now()
      await this.#endOrAfter(found.id, store.isShared ? Math.min(wait, left) : left, signal)
      found = (await this.registry.find(found.id)) ?? found
    }
    return found
  }

  #endOrAfter(id: string, milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(id) ?? new Set()
      const over = () => {
        stop()
        signal.removeEventListener('abort', over)
        waiting.delete(over)
        if (waiting.size === 0) this.#waiting.delete(id)
        resolve()
      }
      const stop = this.options.schedule(over, milliseconds)
      signal.addEventListener('abort', over)
      this.#waiting.set(id, waiting.add(over))
    })
  }

  #ended(record: OperationRecord): void {
    if (record.status === 'Succeeded') this.#remember(record)
    for (const over of [...(this.#waiting.get(record.id) ?? [])]) over()
  }

  #remember({ name, createdAt, finishedAt }: OperationRecord): void {
    if (finishedAt !== null && this.definitions.get(name) !== undefined) {
      this.#times.add(name, finishedAt - createdAt)
    }
  }

  #failureOf(error: unknown, { id, name, run }: OperationRecord): OperationFailure {
    const problem = problemOf(error)
    const { code, title, statusCode: status, errors } = problem
    const level = status < 500 ? 'info' : 'error'
    this.#log[level]({ err: error, operationId: id, operation: name, run }, `operations: '${name}' failed`)
    const { detail } = problemDocument(problem, '')
    const told = detail === serverFaultDetail ? workFaultDetail : detail
    return { code, title, status, detail: told, ...(status < 500 && errors !== undefined ? { errors } : {}) }
  }

  #full(cause: unknown): ProblemError {
    const seconds = String(this.options.retryAfter.initial)
    const detail = 'There are too many operations at the moment; nothing was started'
    return new ProblemError('operations-full', { detail, headers: { 'retry-after': seconds }, cause })
  }

  /** What waits in a queue that ends with this process has failed. */
  async #interruptAll(): Promise<void> {
    const { store } = this.options
    for (const { id } of await store.due(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)) {
      await this.registry.finish(id, null, { status: 'Failed', error: interruptedFailure })
    }
  }
}

const workFaultDetail = 'The work failed. The cause is in the log, under the id of the operation.'
const unreachable = 'Operations cannot be started at the moment; this one may or may not run'

// By its name: the engine may come from the other build of this package.
function isQueueFull(error: unknown): boolean {
  return error instanceof Error && error.name === 'OperationQueueFullError'
}

function isCoded(error: unknown, code: string): boolean {
  return isProblemError(error) && error.code === code
}
