import { type ProblemCode, ProblemError } from '../../problem/problem-error.js'
import { inTime, LateError } from '../../time/in-time.js'
import type { Schedule } from '../../time/schedule.js'
import type { FailureLog } from './outage-log.js'
import { OverdueAnswers } from './overdue-answers.js'
import {
  isFinal,
  isOperationId,
  newOperationId,
  type OperationFailure,
  type OperationRecord,
} from './record.js'
import { isStoreFull, type OperationStore } from './stores/store.js'
import {
  begin,
  cancel,
  claim,
  finish,
  isRunning,
  type NewOperation,
  type OperationEnd,
  putOff,
  release,
  renew,
} from './transitions.js'

/** Options of {@link OperationRegistry}. */
export interface RegistryOptions {
  readonly store: OperationStore
  /** Milliseconds after which a run without a heartbeat counts as dead. */
  readonly lease: number
  /** Milliseconds for which a result is stored. */
  readonly retention: number
  /** Time limit for the store, in milliseconds. */
  readonly storeTimeout: number
  readonly now: () => number
  readonly schedule: Schedule
  /** Logs failures of the store. */
  readonly failures?: FailureLog
  /** Called when this registry has ended an operation. */
  readonly onEnd?: (record: OperationRecord) => void
}

/** The result of claiming an operation. */
export type Claim =
  | { readonly kind: 'claimed' | 'final' | 'cancelling' | 'spent'; readonly record: OperationRecord }
  | { readonly kind: 'busy'; readonly until: number }
  | { readonly kind: 'absent' }

/** The failure of a cancelled operation. */
export const cancelledFailure: OperationFailure = failure(
  'operation-cancelled',
  'It was cancelled before it finished',
)

/** The failure of an operation whose runs all died, or were stopped. */
export const interruptedFailure: OperationFailure = failure(
  'operation-interrupted',
  'The server stopped working on it; what it meant to do may or may not have happened',
)

/** The failure of an operation whose work threw an error that clients must not see. */
export const faultFailure: OperationFailure = failure(
  'internal-server-error',
  'The work failed. The cause is in the log, under the id of the operation.',
)

/** Returns the problem for requests while store or engine cannot be reached. */
export function unavailable(detail: string, cause: unknown): ProblemError {
  return new ProblemError('operations-unavailable', { detail, headers: { 'retry-after': '5' }, cause })
}

/**
 * The only place that changes records: it reads a record, applies a transition, and replaces the record if it has not changed
 * meanwhile; otherwise it tries again. So the first of two concurrent changes wins.
 *
 * Throws `operations-unavailable` if the store fails or exceeds its time limit.
 */
export class OperationRegistry {
  readonly #options: RegistryOptions
  readonly #overdue: OverdueAnswers

  constructor(options: RegistryOptions) {
    const { storeTimeout, now } = options
    this.#options = options
    this.#overdue = new OverdueAnswers({ max: mostOverdue, retryAfter: storeTimeout, now })
  }

  get store(): OperationStore {
    return this.#options.store
  }

  /** Returns the record of a new operation. It is not stored yet. */
  draft(operation: NewOperation): OperationRecord {
    const { now, lease } = this.#options
    return begin(newOperationId(), operation, now(), lease)
  }

  /**
   * Stores the record of a new operation, and resolves with it.
   *
   * @param asked called when the command has been sent to the store, before its response
   */
  async create(record: OperationRecord, asked?: () => void): Promise<OperationRecord> {
    // If the id is taken, a client of the store has sent the record twice after a broken connection.
    await this.#ask((store) => {
      const created = store.create(record)
      asked?.()
      return created
    })
    return record
  }

  /** Returns the record of an operation; `null` if there is none, or if it was deleted. */
  async find(id: string): Promise<OperationRecord | null> {
    if (!isOperationId(id)) return null
    const record = await this.#ask((store) => store.get(id))
    // Stores delete expired records with a delay.
    return record !== null && isFinal(record) && record.dueAt <= this.#options.now() ? null : record
  }

  /**
   * Begins a run.
   *
   * @param maxRuns maximum number of runs
   */
  async claim(id: string, maxRuns: (record: OperationRecord) => number): Promise<Claim> {
    const { now, lease } = this.#options
    const { before, after } = await this.#change(id, (record) =>
      record.run >= maxRuns(record) ? null : claim(record, now(), lease),
    )
    if (after !== null) return { kind: 'claimed', record: after }
    if (before === null) return { kind: 'absent' }
    if (isFinal(before)) return { kind: 'final', record: before }
    if (isRunning(before, now())) return { kind: 'busy', until: before.runUntil ?? 0 }
    return { kind: before.isCancelling ? 'cancelling' : 'spent', record: before }
  }

  /** Stores a heartbeat of the run in `record`; returns `null` if that run no longer counts. */
  async renew(record: OperationRecord, progress: number | null): Promise<OperationRecord | null> {
    const { now, lease } = this.#options
    // Usually only the run itself changes the record, so its last version is the stored one.
    const next = renew(record, record.run, progress, now(), lease)
    // A response after the next heartbeat is due is of no use.
    if (next !== null && (await this.#ask((store) => store.replace(next), lease / 3))) return next
    const { after } = await this.#change(record.id, (found) =>
      renew(found, record.run, progress, now(), lease),
    )
    return after
  }

  /**
   * Ends an operation. Returns its record, also if another process has ended it; `null` if there is none.
   *
   * @param run the run that ends it; with `null` it is ended only if no run is alive
   */
  async finish(id: string, run: number | null, end: OperationEnd): Promise<OperationRecord | null> {
    const { now, retention } = this.#options
    return this.#mayEnd(id, (record) => finish(record, run, end, now(), retention))
  }

  /** Requests a cancellation. Returns the record; `null` if there is none. The process that runs it has to be notified. */
  async cancel(id: string): Promise<OperationRecord | null> {
    const { now, retention } = this.#options
    return this.#mayEnd(id, (record) =>
      record.cancellable ? cancel(record, cancelledFailure, now(), retention) : null,
    )
  }

  /** Notifies all processes of a cancellation. If the message gets lost, the next heartbeat finds the cancellation. */
  async announceCancel(id: string): Promise<void> {
    await this.#ask((store) => store.announceCancel(id))
  }

  /** Returns an operation, so that other processes can run it. */
  async release(id: string, run: number): Promise<void> {
    await this.#change(id, (record) => release(record, run, this.#options.now()))
  }

  /** Removes a record that no client knows; returns `false` if it has changed. */
  discard(record: OperationRecord): Promise<boolean> {
    return this.#ask((store) => store.remove(record))
  }

  /** Returns operations that are due. */
  due(limit: number): Promise<readonly OperationRecord[]> {
    return this.#ask((store) => store.due(this.#options.now(), limit))
  }

  /** Postpones the next check of an operation; returns whether this call did. */
  async putOff(record: OperationRecord): Promise<boolean> {
    const { now, lease } = this.#options
    const next = putOff(record, now(), lease)
    return next !== null && this.#ask((store) => store.replace(next))
  }

  /** Deletes expired records. */
  expire(limit: number): Promise<number> {
    return this.#ask((store) => store.expire(this.#options.now(), limit))
  }

  async #mayEnd(
    id: string,
    step: (record: OperationRecord) => OperationRecord | null,
  ): Promise<OperationRecord | null> {
    const { before, after } = await this.#change(id, step)
    if (after !== null && isFinal(after)) this.#options.onEnd?.(after)
    return after ?? before
  }

  async #change(
    id: string,
    step: (record: OperationRecord) => OperationRecord | null,
  ): Promise<{ readonly before: OperationRecord | null; readonly after: OperationRecord | null }> {
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      const before = await this.find(id)
      const after = before === null ? null : step(before)
      if (after === null || (await this.#ask((store) => store.replace(after)))) return { before, after }
    }
    throw unavailable(unreachable, new Error(`${mostAttempts} others changed the operation in between`))
  }

  async #ask<Answer>(
    question: (store: OperationStore) => Promise<Answer>,
    timeout = Number.POSITIVE_INFINITY,
  ): Promise<Answer> {
    const { store, storeTimeout, schedule, failures } = this.#options
    let asked: Promise<Answer> | null = null
    try {
      if (!this.#overdue.mayAsk()) throw new LateError('the store does not answer')
      asked = question(store)
      const answer = await (store.isShared
        ? inTime(asked, Math.min(timeout, storeTimeout), 'an answer of the store', schedule)
        : asked)
      this.#overdue.clear()
      failures?.recovered()
      return answer
    } catch (error) {
      if (!(error instanceof LateError)) this.#overdue.clear()
      else if (asked !== null && timeout >= storeTimeout) this.#overdue.add(asked)
      if (isStoreFull(error)) throw new ProblemError('operations-full', { cause: error })
      failures?.failed('the store of operations fails', error)
      throw unavailable(unreachable, error)
    }
  }
}

const mostAttempts = 100
// More than are pending while the store works.
const mostOverdue = 100
const unreachable =
  'Operations cannot be reached at the moment; what was asked for may or may not have happened'

function failure(code: ProblemCode, detail: string): OperationFailure {
  const { title, statusCode: status } = new ProblemError(code)
  return Object.freeze({ code, title, status, detail })
}
