import { isProblemError, ProblemError } from '../../problem/problem-error.js'
import type { Schedule } from '../../time/schedule.js'
import type { OperationWork } from './define.js'
import type { RunOutcome } from './engines/engine.js'
import type { EmitEvent, FaultLog } from './events.js'
import type { Log } from './options.js'
import { attemptsOf, isFinal, type OperationFailure, type OperationRecord } from './record.js'
import { cancelled, faultFailure, interruptedFailure, type OperationRegistry } from './registry.js'
import { OperationRun } from './run.js'
import type { OperationEnd } from './transitions.js'

export interface RunnerOptions {
  readonly registry: OperationRegistry
  readonly lease: number
  /** Milliseconds for which a handler may go on after its signal aborted because of a close. */
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

/** The result of the work: an end, or an error. */
type Settled =
  | {
      readonly end: OperationEnd
      /** Whether a transaction of the handler stores the end, if it commits. */
      readonly isCompleted: boolean
    }
  | { readonly error: unknown }

/** Runs operations: claims one, runs its work, and stores the result unless another run took its place. */
export class OperationRunner {
  readonly #options: RunnerOptions
  /** Operations that this process runs, or is about to. */
  readonly #taken = new Set<string>()
  readonly #runs = new Map<string, OperationRun>()
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
  async run(id: string): Promise<RunOutcome> {
    // The engine must not call again for an operation that runs in this process.
    if (this.#taken.has(id)) return { kind: 'busy', delay: this.#options.lease }
    this.#taken.add(id)
    try {
      return await this.#claimed(id)
    } finally {
      this.#taken.delete(id)
    }
  }

  async #claimed(id: string): Promise<RunOutcome> {
    const { registry, workOf } = this.#options
    const claim = await registry.claim(id, workOf)
    if (claim.kind === 'final') return { kind: 'ended', status: claim.record.status }
    if (claim.kind !== 'claimed') return claim
    const { record } = claim
    const work = workOf(record.name)
    if (work === undefined) return { kind: 'not-implemented' }
    this.#options.emit(attemptsOf(record) > 1 ? 'take-over' : 'run', record)
    return this.#work(record, work)
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
    for (const run of this.#runs.values()) run.stop('closing')
    if (unwind === 0) this.#unwind()
    else schedule(this.#unwind, unwind)
  }

  async #work(record: OperationRecord, work: OperationWork): Promise<RunOutcome> {
    const { registry, lease, schedule, faults, onHeartbeat } = this.#options
    const run = new OperationRun(record, {
      registry,
      heartbeat: lease / 3,
      timeout: work.timeout,
      schedule,
      onFailure: (error) => faults.failed('the heartbeat of a run fails', error),
      onSuccess: () => {
        faults.recovered()
        onHeartbeat(record.id)
      },
    })
    this.#runs.set(record.id, run)
    try {
      const input = await registry.input(record)
      // The process has begun to close before the work began.
      if (this.#isClosing) return await this.#handedBack(run, false)
      // Another run has ended the operation meanwhile, and its input is deleted.
      if (input === null && record.inputLength > 0) return absent
      return await this.#outcome(run, work, this.#settled(run, work, input))
    } finally {
      // After any error here, the heartbeats of the run have to stop.
      await run.end()
      this.#runs.delete(record.id)
    }
  }

  /** Runs the work; the promise does not reject. */
  async #settled(run: OperationRun, work: OperationWork, input: string | null): Promise<Settled> {
    const { registry } = this.#options
    let isCompleted = false
    try {
      const end = await work.run({
        record: run.record,
        input,
        signal: run.signal,
        progress: (progress) => run.setProgress(progress),
        complete: async (connection, end) => {
          await run.pause()
          try {
            await registry.finishWithin(connection, run.record, end)
            isCompleted = true
          } catch (error) {
            run.resume()
            throw error
          }
        },
      })
      return { end: isCompleted ? end : await registry.encoded(end), isCompleted }
    } catch (error) {
      this.#logFailedStop(run, error)
      return { error }
    }
  }

  async #outcome(run: OperationRun, work: OperationWork, settled: Promise<Settled>): Promise<RunOutcome> {
    const first = await Promise.race([run.stopped, settled])
    if (typeof first !== 'string') return this.#ended(run, work, first)
    // The handler keeps its slot until it ends, or until the process has to close.
    if (first === 'closing') {
      const last = await Promise.race([settled, this.#unwound])
      return last === 'unwound' ? this.#handedBack(run, true) : this.#ended(run, work, last)
    }
    const outcome = first === 'lost' ? absent : await this.#timedOut(run)
    await run.end()
    await Promise.race([settled, this.#unwound])
    return outcome
  }

  async #ended(run: OperationRun, work: OperationWork, settled: Settled): Promise<RunOutcome> {
    const { registry, emit } = this.#options
    const { record, signal } = run
    if ('end' in settled && !(settled.isCompleted && (await this.#isOpen(record)))) {
      return this.#finish(record, settled.end)
    }
    const error =
      'error' in settled ? settled.error : new Error('the transaction of complete() is not committed')
    // The request for the cancellation was accepted, so the operation ends as cancelled.
    if (isCancellation(signal.reason)) return this.#finish(record, cancelled)
    if (signal.aborted) return this.#handedBack(run, false)
    const delay = this.#read(() => work.retryAfter(error, record.retries), null)
    if (delay === null) return this.#failed(record, error)
    const next = await this.#stored(() => registry.retry(record.id, record.run, delay))
    if (next === null) return this.#failed(record, error)
    if (isFinal(next)) {
      this.#logIgnored(record, error)
      return { kind: 'ended', status: next.status }
    }
    emit('retry', record, error)
    return { kind: 'retry', delay }
  }

  #timedOut({ record, signal }: OperationRun): Promise<RunOutcome> {
    if (isCancellation(signal.reason)) return this.#finish(record, cancelled)
    const detail = 'It took longer than it may; what it meant to do may or may not have happened'
    return this.#failed(record, new ProblemError('operation-timed-out', { detail }))
  }

  /** Hands the operation back to other processes, if there are any; otherwise it has failed. */
  async #handedBack({ record, signal }: OperationRun, goesOn: boolean): Promise<RunOutcome> {
    const { registry, emit, log } = this.#options
    const { id, name, run } = record
    if (goesOn) {
      log.warn(
        { operationId: id, operation: name },
        `operations: '${name}' did not stop in time; it may run twice`,
      )
    }
    if (isCancellation(signal.reason)) return this.#finish(record, cancelled)
    if (!registry.store.isShared) return this.#finish(record, { status: 'Failed', error: interruptedFailure })
    const next = await this.#stored(() => registry.release(id, run))
    if (next === null) return absent
    if (isFinal(next)) return { kind: 'ended', status: next.status }
    emit('release', record)
    return { kind: 'released' }
  }

  /** Logs an error of a handler whose result is ignored, because its run has to end. */
  #logFailedStop({ record, signal: { aborted, reason } }: OperationRun, err: unknown): void {
    if (aborted && !this.#read(() => isReason(err, reason), false)) this.#logIgnored(record, err)
  }

  /** Logs an error of a handler that is not the failure of its operation. */
  #logIgnored({ id: operationId, name: operation, run }: OperationRecord, err: unknown): void {
    const line = `operations: '${operation}' failed while it stopped`
    this.#read(() => this.#options.log.error({ err, operationId, operation, run }, line), undefined)
  }

  /** Whether an operation has not ended. */
  async #isOpen({ id }: OperationRecord): Promise<boolean> {
    const found = await this.#stored(() => this.#options.registry.find(id))
    return found !== null && !isFinal(found)
  }

  #failed(record: OperationRecord, error: unknown): Promise<RunOutcome> {
    const failure = this.#read(() => this.#options.failureOf(error, record), faultFailure)
    return this.#finish(record, { status: 'Failed', error: failure })
  }

  // The work may throw any value, and reading that value may throw too.
  #read<Value>(read: () => Value, otherwise: Value): Value {
    try {
      return read()
    } catch (fault) {
      this.#options.faults.failed('the error of an operation cannot be read', fault)
      return otherwise
    }
  }

  async #finish({ id, run }: OperationRecord, end: OperationEnd): Promise<RunOutcome> {
    const last = await this.#stored(() => this.#options.registry.finish(id, run, end))
    return last !== null && isFinal(last) && last.run === run
      ? { kind: 'ended', status: last.status }
      : absent
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

const absent: RunOutcome = { kind: 'absent' }

function isCancellation(reason: unknown): boolean {
  return isProblemError(reason) && reason.code === 'operation-cancelled'
}

/** Whether an error is the reason of an abort, or comes from it. */
function isReason(error: unknown, reason: unknown): boolean {
  if (error === reason) return true
  return error instanceof Error && (error.name === 'AbortError' || error.cause === reason)
}
