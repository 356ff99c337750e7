import { ProblemError } from '../../problem/problem-error.js'
import { inTime, type Schedule } from '../../time/schedule.js'
import type { RunOutcome } from './engines/engine.js'
import type { FaultLog } from './events.js'
import { cancelled, cancelledFailure, interruptedFailure, unavailable } from './failures.js'
import {
  begin,
  cancel,
  claim,
  end,
  finish,
  isFinal,
  isGone,
  isOfRun,
  isOperationId,
  isRunning,
  type NewOperation,
  type OperationEnd,
  type OperationRecord,
  postpone,
  release,
  renew,
} from './record.js'
import { isStoreFull, type OperationStore } from './stores/store.js'

export interface RegistryOptions {
  readonly store: OperationStore
  /** Milliseconds after which a run without a heartbeat counts as dead. */
  readonly lease: number
  /** Milliseconds between two checks of an operation. */
  readonly checkInterval: number
  /** Whether the engine decides that a run is dead, and not the lease. */
  readonly takesOver: boolean
  /** Milliseconds for which a result is stored. */
  readonly retention: number
  readonly now: () => number
  readonly schedule: Schedule
  /** Logs failures of the store. */
  readonly faults?: FaultLog
  /** Called when this registry has ended an operation; in rare cases twice. */
  readonly onEnd?: (record: OperationRecord) => void
}

/** Limits of the runs of an operation. */
export interface RunLimits {
  /** Maximum number of runs that may die. */
  readonly maxRuns: number
  /** Maximum time of a run, in milliseconds. */
  readonly timeout: number
}

/** A run that has begun. */
export interface ClaimedRun {
  readonly record: OperationRecord
  /** The input as JSON; `null` for none. */
  readonly input: string | null
}

/**
 * The only place that changes records: it reads a record, applies a transition, and replaces the record if it has not changed
 * meanwhile; otherwise it tries again. So the first of two concurrent changes wins.
 *
 * Throws `operations-unavailable` if the store fails or exceeds its time limit.
 */
export class OperationRegistry {
  readonly #options: RegistryOptions

  constructor(options: RegistryOptions) {
    this.#options = options
  }

  get store(): OperationStore {
    return this.#options.store
  }

  /** Stores a new operation. If there is one of this id already, an earlier request of the same start has stored it: returns that. */
  async create(
    id: string,
    operation: NewOperation,
  ): Promise<{ readonly record: OperationRecord; readonly isNew: boolean }> {
    const { now, checkInterval } = this.#options
    const record = begin(id, operation, now(), now() + checkInterval)
    if (await this.ask((store) => store.create(record, operation.input))) return { record, isNew: true }
    const found = await this.find(id)
    if (found !== null) return { record: found, isNew: false }
    const detail = `'${operation.name}' is in progress for this already; no operation was started`
    throw new ProblemError('operation-in-progress', { detail })
  }

  /** Returns the record of an operation; `null` if there is none, or if it was deleted. */
  async find(id: string): Promise<OperationRecord | null> {
    if (!isOperationId(id)) return null
    const record = await this.ask((store) => store.get(id))
    const now = this.#options.now()
    if (record === null || !isGone(record, now)) return record
    // Stores delete expired records with a delay.
    if (record.dueAt <= now) return null
    return { ...record, resource: null, result: null, error: null }
  }

  /** Begins a run, or ends an operation that must not run again. The handler is to be called at once: then the run counts. */
  async claim(
    id: string,
    limitsOf: (name: string) => RunLimits | undefined,
  ): Promise<ClaimedRun | RunOutcome> {
    const { now, lease, takesOver, checkInterval, retention } = this.#options
    let input: string | null = null
    const { before, after } = await this.#mayEnd(id, async (record) => {
      const limits = limitsOf(record.name)
      if (limits === undefined || isFinal(record)) return null
      const isDead = takesOver || !isRunning(record, now())
      if (isDead && record.isCancelling) return end(record, cancelled, now(), retention)
      if (isDead && record.counted >= limits.maxRuns) {
        return end(record, { status: 'Failed', error: interruptedFailure }, now(), retention)
      }
      const claimed = claim(record, now(), {
        // Without a lease, only the time limit of the run bounds it.
        runUntil: now() + (takesOver ? limits.timeout + checkInterval : lease),
        dueAt: now() + checkInterval,
        takesOver,
      })
      // Before the run counts: it may fail, and take long.
      if (claimed !== null) input = await this.ask((store) => store.input(id))
      return claimed
    })
    const record = after ?? before
    if (record === null) return { kind: 'ended', hasFailed: false }
    if (isFinal(record)) return { kind: 'ended', hasFailed: record.status === 'Failed' }
    if (after !== null) return { record, input }
    if (limitsOf(record.name) === undefined) {
      // Another release may define it. If there is none for long, it comes more and more rarely.
      return { kind: 'later', delay: Math.min(Math.max((now() - record.createdAt) / 10, 200), 30_000) }
    }
    const until = Math.max(record.runUntil ?? 0, record.notBefore ?? 0)
    return { kind: 'later', delay: Math.max(until - now(), 0) }
  }

  /** Stores the heartbeat and the progress of the run in `record`. */
  async renew(record: OperationRecord, progress: number | null): Promise<OperationRecord | null> {
    const { now, lease, takesOver } = this.#options
    if (takesOver && progress === record.progress) {
      const found = await this.find(record.id)
      return found !== null && isOfRun(found, record.run) ? found : null
    }
    const step = (found: OperationRecord) => {
      const runUntil = takesOver ? (found.runUntil ?? 0) : now() + lease
      return renew(found, record.run, progress, now(), runUntil)
    }
    const { after } = await this.#change(record.id, step, record)
    return after
  }

  async finish(id: string, run: number | null, given: OperationEnd): Promise<OperationRecord | null> {
    const { now, retention, onEnd } = this.#options
    const { before, after } = await this.#mayEnd(id, (record) => finish(record, run, given, now(), retention))
    // The run ended it before: in a transaction, or the store did it and its answer was lost.
    if (after === null && before?.run === run && isFinal(before)) onEnd?.(before)
    return after ?? before
  }

  /** Requests a cancellation. Returns the record; `null` if there is none. */
  async cancel(id: string): Promise<OperationRecord | null> {
    const { now, retention } = this.#options
    const { before, after } = await this.#mayEnd(id, (record) =>
      record.cancellable ? cancel(record, cancelledFailure, now(), retention) : null,
    )
    return after ?? before
  }

  /** Hands an operation back, so that other processes can run it at once. Returns its record, see {@link OperationRegistry.retry}. */
  release(id: string, run: number): Promise<OperationRecord | null> {
    return this.#runAgain(id, run, 0)
  }

  /** Lets an operation wait for the next run of the engine; one that is being cancelled ends. */
  retry(id: string, run: number): Promise<OperationRecord | null> {
    return this.#runAgain(id, run, this.#options.checkInterval)
  }

  /** Takes operations that have to be checked; no other process gets them before the next interval. */
  takeDue(limit: number): Promise<readonly OperationRecord[]> {
    const { now, checkInterval } = this.#options
    return this.ask((store) => store.takeDue(now(), now() + checkInterval, limit))
  }

  /** Leaves the check of an operation to another process. */
  async postpone(id: string, milliseconds: number): Promise<void> {
    const { now } = this.#options
    await this.#change(id, (record) => postpone(record, now(), now() + milliseconds))
  }

  /** Asks the store, which has to answer in time. */
  async ask<Answer>(question: (store: OperationStore) => Promise<Answer>): Promise<Answer> {
    const { store, schedule, faults } = this.#options
    try {
      const asked = question(store)
      const answer = await (store.isShared
        ? inTime(asked, longestWait, 'an answer of the store', schedule)
        : asked)
      faults?.recovered()
      return answer
    } catch (error) {
      if (isStoreFull(error)) throw new ProblemError('operations-full', { cause: error })
      faults?.failed('the store of operations fails', error)
      throw unavailable(unreachable, error)
    }
  }

  async #runAgain(id: string, run: number, wait: number): Promise<OperationRecord | null> {
    const { now, retention } = this.#options
    const { after } = await this.#mayEnd(id, (record) =>
      record.isCancelling
        ? finish(record, run, cancelled, now(), retention)
        : release(record, run, now(), now() + wait),
    )
    return after
  }

  async #mayEnd(id: string, step: Step): Promise<Change> {
    const change = await this.#change(id, step)
    if (change.after !== null && isFinal(change.after)) this.#options.onEnd?.(change.after)
    return change
  }

  async #change(id: string, step: Step, known?: OperationRecord): Promise<Change> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const before = attempt === 0 && known !== undefined ? known : await this.find(id)
      const after = before === null ? null : await step(before)
      if (before === null || after === null) return { before, after: null }
      if (await this.ask((store) => store.replace(before, after))) return { before, after }
    }
    throw unavailable(unreachable, new Error(`the operation changed ${maxAttempts} times meanwhile`))
  }
}

type Step = (record: OperationRecord) => OperationRecord | null | Promise<OperationRecord | null>

/** A record before and after a transition; `after` is `null` if nothing changed. */
interface Change {
  readonly before: OperationRecord | null
  readonly after: OperationRecord | null
}

const maxAttempts = 100
/** Milliseconds that a request waits for the store. */
const longestWait = 5_000
const unreachable =
  'Operations cannot be reached at the moment; what was asked for may or may not have happened'

/** The clock of a store, as a process reads it: the steady time of the process plus the difference to the store. */
export class StoreClock {
  readonly #time: (() => Promise<number>) | null
  readonly #local: () => number
  #difference = 0

  /** @param now replaces both clocks; for tests */
  constructor(store: Pick<OperationStore, 'time'>, now: (() => number) | undefined) {
    this.#time =
      now === undefined && store.time !== undefined ? () => store.time?.() as Promise<number> : null
    this.#local = now ?? (this.#time === null ? Date.now : steadyTime)
  }

  readonly now = (): number => Math.floor(this.#local() + this.#difference)

  /** Reads the clock of the store. What the way to the store takes is the uncertainty of the result. */
  async sync(): Promise<void> {
    if (this.#time === null) return
    const before = this.#local()
    const time = await this.#time()
    const uncertainty = (this.#local() - before) / 2
    const difference = time - before - uncertainty
    if (Math.abs(difference - this.#difference) > uncertainty) this.#difference = difference
  }
}

const steadyTime = () => performance.timeOrigin + performance.now()
