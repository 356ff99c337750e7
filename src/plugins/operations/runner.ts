import { isProblemError, ProblemError } from '../../problem/problem-error.js'
import type { Schedule } from '../../time/schedule.js'
import type { OperationWork } from './definitions.js'
import type { RunOutcome } from './engines/engine.js'
import { LiveRun, type StopReason } from './live-run.js'
import type { FailureLog } from './outage-log.js'
import type { OperationFailure, OperationRecord } from './record.js'
import { cancelledFailure, faultFailure, interruptedFailure, type OperationRegistry } from './registry.js'
import type { OperationEnd } from './transitions.js'

/** Options of {@link OperationRunner}. */
export interface RunnerOptions {
  readonly registry: OperationRegistry
  readonly lease: number
  readonly now: () => number
  readonly schedule: Schedule
  readonly workOf: (name: string) => OperationWork | undefined
  /** Returns the failure that clients see for an error of the work; the log gets the cause. */
  readonly failureOf: (error: unknown, record: OperationRecord) => OperationFailure
  readonly failures: FailureLog
}

/** Runs operations: claims one, runs its work, and stores the result unless another run took its place. */
export class OperationRunner {
  readonly #options: RunnerOptions
  readonly #live = new Map<string, LiveRun>()
  #isClosing = false

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  /** See {@link OperationWorker.run}. */
  async run(id: string): Promise<RunOutcome> {
    const { registry, workOf } = this.#options
    const claim = await registry.claim(id, ({ name }) => workOf(name)?.maxRuns ?? 0)
    if (claim.kind === 'busy') return { kind: 'busy', until: claim.until }
    // The sweeper ends operations that exceed `maxRuns`, or that are cancelled and have no run.
    if (claim.kind === 'cancelling' || claim.kind === 'spent') return { kind: 'released' }
    if (claim.kind !== 'claimed') return { kind: 'ended' }
    const { record } = claim
    const work = workOf(record.name)
    return work === undefined ? { kind: 'released' } : this.#work(record, work)
  }

  /** Aborts the run of an operation because of a cancellation, if it is in this process. */
  cancel(id: string): void {
    this.#live.get(id)?.cancel()
  }

  /** Stops all runs of this process, and those that are starting. */
  close(): void {
    this.#isClosing = true
    for (const run of this.#live.values()) run.stop('closing')
  }

  async #work(record: OperationRecord, work: OperationWork): Promise<RunOutcome> {
    const { registry, lease, now, schedule, failures } = this.#options
    const live = new LiveRun(record, {
      registry,
      lease,
      timeout: work.timeout,
      now,
      schedule,
      onSilence: (error) => failures.failed('the heartbeat of a run fails', error),
      onSign: () => failures.recovered(),
    })
    this.#live.set(record.id, live)
    if (this.#isClosing) live.stop('closing')
    try {
      const stopped = live.stopped.then((reason) => ({ reason }))
      const done = work
        .run({ record, signal: live.signal, progress: (progress) => live.setProgress(progress) })
        .catch((error: unknown): OperationEnd => {
          // Aborted work may throw any error; the operation is cancelled.
          const isCancelled = isCancellation(live.signal.reason)
          return isCancelled ? cancelled : { status: 'Failed', error: this.#failureOf(error, record) }
        })
      const end = await Promise.race([stopped, done])
      await live.end()
      if (!('reason' in end)) return await this.#finish(record, end)
      // The request for the cancellation was accepted, so the operation ends as cancelled, whatever ended the run.
      return end.reason !== 'lost' && isCancellation(live.signal.reason)
        ? await this.#finish(record, cancelled)
        : await this.#stopped(record, end.reason)
    } finally {
      // After any error here, the heartbeats of the run have to stop.
      await live.end()
      this.#live.delete(record.id)
    }
  }

  // The work may throw any value, and reading that value may throw too.
  #failureOf(error: unknown, record: OperationRecord): OperationFailure {
    const { failureOf, failures } = this.#options
    try {
      return failureOf(error, record)
    } catch (fault) {
      failures.failed('the error of an operation cannot be read', fault)
      return faultFailure
    }
  }

  async #stopped(record: OperationRecord, reason: StopReason): Promise<RunOutcome> {
    const { registry } = this.#options
    if (reason === 'lost') return { kind: 'ended' }
    if (reason === 'timed-out') {
      const detail = 'It took longer than it may; what it meant to do may or may not have happened'
      const error = this.#failureOf(new ProblemError('operation-timed-out', { detail }), record)
      return this.#finish(record, { status: 'Failed', error })
    }
    // Other processes run it again, if there are any; otherwise it has failed.
    if (!registry.store.isShared) return this.#finish(record, { status: 'Failed', error: interruptedFailure })
    await registry.release(record.id, record.run)
    return { kind: 'released' }
  }

  // The work is done: it must not run again because the store cannot be reached at the moment.
  async #finish(record: OperationRecord, end: OperationEnd): Promise<RunOutcome> {
    const { registry, lease, now, schedule, failures } = this.#options
    const giveUpAt = now() + lease
    for (let wait = 250; ; wait = Math.min(wait * 2, 4_000)) {
      try {
        await registry.finish(record.id, record.run, end)
        failures.recovered()
        return { kind: 'ended' }
      } catch (error) {
        failures.failed('the result of an operation cannot be stored', error)
        if (now() + wait > giveUpAt) throw error
        await new Promise<void>((resolve) => schedule(resolve, wait))
      }
    }
  }
}

const cancelled: OperationEnd = { status: 'Failed', error: cancelledFailure }

function isCancellation(reason: unknown): boolean {
  return isProblemError(reason) && reason.code === 'operation-cancelled'
}
