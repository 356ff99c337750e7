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
  /** What the client is told of an error of the work; the log is told of the rest. */
  readonly failureOf: (error: unknown, record: OperationRecord) => OperationFailure
  readonly failures: FailureLog
}

/** Runs operations: claims one, has its work done, and writes down what came of it, unless another run took its place. */
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
    // What was run too often, or is cancelled and has no run, is ended by whoever looks after what is due.
    if (claim.kind === 'cancelling' || claim.kind === 'spent') return { kind: 'released' }
    if (claim.kind !== 'claimed') return { kind: 'ended' }
    const { record } = claim
    const work = workOf(record.name)
    return work === undefined ? { kind: 'released' } : this.#work(record, work)
  }

  /** Tells the run of an operation, if this process has it, that it is to be cancelled. */
  cancel(id: string): void {
    this.#live.get(id)?.cancel()
  }

  /** Stops all runs of this process, and those that are about to begin. */
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
      onSilence: (error) => failures.failed('a run cannot give signs of life', error),
      onSign: () => failures.recovered(),
    })
    this.#live.set(record.id, live)
    if (this.#isClosing) live.stop('closing')
    try {
      const stopped = live.stopped.then((reason) => ({ reason }))
      const done = work
        .run({ record, signal: live.signal, progress: (progress) => live.setProgress(progress) })
        .catch((error: unknown): OperationEnd => {
          // Work that is told to end throws what it likes; it is the cancellation all the same.
          const isCancelled = isCancellation(live.signal.reason)
          return isCancelled ? cancelled : { status: 'Failed', error: this.#failureOf(error, record) }
        })
      const end = await Promise.race([stopped, done])
      await live.end()
      if (!('reason' in end)) return await this.#finish(record, end)
      // Whoever asked to cancel it is told that it was, however it came to its end.
      return end.reason !== 'lost' && isCancellation(live.signal.reason)
        ? await this.#finish(record, cancelled)
        : await this.#stopped(record, end.reason)
    } finally {
      // Whatever went wrong here: a run that nobody waits for must not go on saying that it lives.
      await live.end()
      this.#live.delete(record.id)
    }
  }

  // What work throws may be anything, and so may what looking at it throws.
  #failureOf(error: unknown, record: OperationRecord): OperationFailure {
    const { failureOf, failures } = this.#options
    try {
      return failureOf(error, record)
    } catch (fault) {
      failures.failed('what the work of an operation threw cannot be told', fault)
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
    // Where others can take it up they do; where nobody can, it has failed.
    if (!registry.store.isShared) return this.#finish(record, { status: 'Failed', error: interruptedFailure })
    await registry.release(record.id, record.run)
    return { kind: 'released' }
  }

  // What was done is done: that the store cannot be reached at the moment should not have it done again.
  async #finish(record: OperationRecord, end: OperationEnd): Promise<RunOutcome> {
    const { registry, lease, now, schedule, failures } = this.#options
    const giveUpAt = now() + lease
    for (let wait = 250; ; wait = Math.min(wait * 2, 4_000)) {
      try {
        await registry.finish(record.id, record.run, end)
        failures.recovered()
        return { kind: 'ended' }
      } catch (error) {
        failures.failed('the end of an operation cannot be written down', error)
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
