import { isProblemError, ProblemError } from '../../problem/problem-error.js'
import type { Schedule } from '../../time/schedule.js'
import type { OperationWork } from './define.js'
import type { RunOutcome } from './engines/engine.js'
import type { EmitEvent, FaultLog } from './events.js'
import { cancelled, interruptedFailure } from './failures.js'
import type { Log } from './options.js'
import { isFinal, type OperationEnd, type OperationFailure, type OperationRecord } from './record.js'
import type { OperationRegistry } from './registry.js'
import { OperationRun } from './run.js'

export interface RunnerOptions {
  readonly registry: OperationRegistry
  readonly lease: number
  /** Milliseconds for which a handler may go on after its signal aborted. */
  readonly unwind: number
  readonly schedule: Schedule
  readonly workOf: (name: string) => OperationWork | undefined
  /** Returns the failure that clients see for an error of the work; the log gets the cause. */
  readonly failureOf: (error: unknown, record: OperationRecord) => OperationFailure
  readonly faults: FaultLog
  readonly emit: EmitEvent
  /** Called when a run has stored its progress, or that it is alive. */
  readonly onHeartbeat: (id: string) => void
  readonly log: Log
}

/** The result of the work. */
type Settled = { readonly end: OperationEnd } | { readonly error: unknown }

/** Runs operations: claims one, runs its work, and stores the result unless another run took its place. */
export class OperationRunner {
  readonly #options: RunnerOptions
  /** The operations that this process runs; `null` while one is claimed. */
  readonly #runs = new Map<string, OperationRun | null>()
  readonly #unwound: Promise<'unwound'>
  #unwind: () => void = () => {}
  #isClosing = false
  #isUnwound = false

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#unwound = new Promise((resolve) => {
      this.#unwind = () => {
        this.#isUnwound = true
        resolve('unwound')
      }
    })
  }

  /** See {@link OperationWorker.run}. */
  async run(id: string, isLast: boolean): Promise<RunOutcome> {
    const { registry, lease, workOf, emit } = this.#options
    if (this.#isClosing) return { kind: 'released' }
    if (this.#runs.has(id)) return { kind: 'later', delay: lease }
    this.#runs.set(id, null)
    try {
      const claim = await registry.claim(id, workOf)
      if ('kind' in claim) return claim
      const { record, input } = claim
      emit(record.counted > 1 ? 'take-over' : 'run', record)
      return await this.#work(record, input, workOf(record.name) as OperationWork, isLast)
    } finally {
      this.#runs.delete(id)
    }
  }

  /** Lets the run of an operation read its record again, if it is in this process. */
  look(id: string): void {
    this.#runs.get(id)?.look()
  }

  /** Stops the run of an operation, because the engine has lost its lock. */
  lost(id: string): void {
    this.#runs.get(id)?.stop('lost')
  }

  /** Aborts all runs of this process, and those that are starting. Their handlers have the time `unwind` to end. */
  close(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    const { schedule, unwind } = this.#options
    for (const run of this.#runs.values()) run?.stop('closing')
    if (unwind === 0) this.#unwind()
    else schedule(this.#unwind, unwind)
  }

  async #work(
    record: OperationRecord,
    input: string | null,
    work: OperationWork,
    isLast: boolean,
  ): Promise<RunOutcome> {
    const { registry, lease, schedule, faults, onHeartbeat } = this.#options
    const run = new OperationRun(record, {
      registry,
      heartbeat: lease / 3,
      timeout: work.timeout,
      schedule,
      faults,
      onHeartbeat: () => onHeartbeat(record.id),
    })
    this.#runs.set(record.id, run)
    try {
      // The process has begun to close before the work began.
      if (this.#isClosing) return await this.#handedBack(run)
      const settled = this.#settled(run, work, input)
      const first = await Promise.race([run.stopped, settled])
      if (typeof first !== 'string') return await this.#ended(run, work, first, isLast)
      if (first === 'closing') {
        const last = await Promise.race([settled, this.#unwound])
        if (last !== 'unwound') return await this.#ended(run, work, last, isLast)
        this.#abandoned(run)
        return await this.#handedBack(run)
      }
      const outcome = first === 'lost' ? ended : await this.#timedOut(run)
      await run.end()
      await this.#returned(run, settled)
      return outcome
    } finally {
      // After any error here, the heartbeats of the run have to stop.
      await run.end()
    }
  }

  /** Runs the work; the promise does not reject. */
  async #settled(run: OperationRun, work: OperationWork, input: string | null): Promise<Settled> {
    const { record, signal } = run
    try {
      return {
        end: await work.run({ record, input, signal, progress: (progress) => run.setProgress(progress) }),
      }
    } catch (error) {
      if (signal.aborted && !isReason(error, signal.reason)) this.#logIgnored(record, error)
      return { error }
    }
  }

  /** Waits for a handler whose run is over; its slot is free after `unwind`, whatever it does. */
  async #returned(run: OperationRun, settled: Promise<Settled>): Promise<void> {
    const { schedule, unwind } = this.#options
    let stop = () => {}
    const late = new Promise<'late'>((resolve) => {
      stop = schedule(() => resolve('late'), unwind)
    })
    if ((await Promise.race([settled, late, this.#unwound])) === 'late') this.#abandoned(run)
    stop()
  }

  #abandoned({ record }: OperationRun): void {
    this.#options.emit('abandon', record)
  }

  async #ended(
    run: OperationRun,
    work: OperationWork,
    settled: Settled,
    isLast: boolean,
  ): Promise<RunOutcome> {
    const { registry, emit } = this.#options
    const { record, signal } = run
    if ('end' in settled) return this.#finish(record, settled.end)
    const { error } = settled
    // The request for the cancellation was accepted, so the operation ends as cancelled.
    if (isCancellation(signal.reason)) return this.#finish(record, cancelled)
    if (signal.aborted) return this.#handedBack(run)
    if (isLast || !work.isRetried(error)) return this.#failed(record, error)
    const next = await this.#stored(() => registry.retry(record.id, record.run))
    if (next === null) return this.#failed(record, error)
    if (isFinal(next)) {
      this.#logIgnored(record, error)
      return endOf(next)
    }
    emit('retry', record, error)
    return { kind: 'retry' }
  }

  #timedOut({ record, signal }: OperationRun): Promise<RunOutcome> {
    if (isCancellation(signal.reason)) return this.#finish(record, cancelled)
    const detail = 'It took longer than it may; what it meant to do may or may not have happened'
    return this.#failed(record, new ProblemError('operation-timed-out', { detail }))
  }

  /** Hands the operation back to other processes, if there are any; otherwise it has failed. */
  async #handedBack({ record, signal }: OperationRun): Promise<RunOutcome> {
    const { registry, emit } = this.#options
    if (isCancellation(signal.reason)) return this.#finish(record, cancelled)
    if (!registry.store.isShared) return this.#finish(record, { status: 'Failed', error: interruptedFailure })
    const next = await this.#stored(() => registry.release(record.id, record.run))
    if (next === null) return ended
    if (isFinal(next)) return endOf(next)
    emit('release', record)
    return { kind: 'released' }
  }

  /** Logs an error of a handler that is not the failure of its operation. */
  #logIgnored({ id: operationId, name: operation, run }: OperationRecord, err: unknown): void {
    const line = `operations: '${operation}' failed while it stopped`
    this.#options.log.error({ err, operationId, operation, run }, line)
  }

  #failed(record: OperationRecord, error: unknown): Promise<RunOutcome> {
    return this.#finish(record, { status: 'Failed', error: this.#options.failureOf(error, record) })
  }

  async #finish({ id, run }: OperationRecord, end: OperationEnd): Promise<RunOutcome> {
    const last = await this.#stored(() => this.#options.registry.finish(id, run, end))
    return last !== null && last.run === run ? endOf(last) : ended
  }

  // The work is done: it must not run again because the store cannot be reached at the moment.
  async #stored<Answer>(change: () => Promise<Answer>): Promise<Answer> {
    const { schedule, faults } = this.#options
    for (let wait = 250; ; wait = Math.min(wait * 2, 4_000)) {
      try {
        const answer = await change()
        faults.recovered()
        return answer
      } catch (fault) {
        faults.failed('the result of an operation cannot be stored', fault)
        if (this.#isUnwound) throw fault
        await Promise.race([new Promise<void>((resolve) => schedule(resolve, wait)), this.#unwound])
      }
    }
  }
}

const ended: RunOutcome = { kind: 'ended', hasFailed: false }

function endOf({ status }: OperationRecord): RunOutcome {
  return { kind: 'ended', hasFailed: status === 'Failed' }
}

function isCancellation(reason: unknown): boolean {
  return isProblemError(reason) && reason.code === 'operation-cancelled'
}

/** Whether an error is the reason of an abort, or comes from it. */
function isReason(error: unknown, reason: unknown): boolean {
  try {
    if (error === reason) return true
    return error instanceof Error && (error.name === 'AbortError' || error.cause === reason)
  } catch {
    // Reading it may throw, too.
    return true
  }
}
