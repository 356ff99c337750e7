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

/** What a registry goes by. */
export interface RegistryOptions {
  readonly store: OperationStore
  /** Milliseconds after which a run without a sign of life is taken for dead. */
  readonly lease: number
  /** Milliseconds for which the end of an operation can be asked for. */
  readonly retention: number
  /** Milliseconds that the store has for an answer. */
  readonly storeTimeout: number
  readonly now: () => number
  readonly schedule: Schedule
  /** Takes note of what the store fails to do. */
  readonly failures?: FailureLog
  /** An operation has ended, and this registry wrote it down. */
  readonly onEnd?: (record: OperationRecord) => void
}

/** What came of claiming an operation. */
export type Claim =
  | { readonly kind: 'claimed' | 'final' | 'cancelling' | 'spent'; readonly record: OperationRecord }
  | { readonly kind: 'busy'; readonly until: number }
  | { readonly kind: 'absent' }

/** What a cancelled operation fails with. */
export const cancelledFailure: OperationFailure = failure(
  'operation-cancelled',
  'It was cancelled before it finished',
)

/** What an operation fails with whose runs all went silent, or were stopped. */
export const interruptedFailure: OperationFailure = failure(
  'operation-interrupted',
  'The server stopped working on it; what it meant to do may or may not have happened',
)

/** What an operation fails with whose work threw something that cannot be told. */
export const faultFailure: OperationFailure = failure(
  'internal-server-error',
  'The work failed. The cause is in the log, under the id of the operation.',
)

/** What a request is answered with while store or engine cannot be reached. */
export function unavailable(detail: string, cause: unknown): ProblemError {
  return new ProblemError('operations-unavailable', { detail, headers: { 'retry-after': '5' }, cause })
}

/**
 * The one place that changes records: reads one, has a transition decide, and puts the result in its place if it still
 * stands there; if not, again. Whoever comes too late finds what the other one decided.
 *
 * What the store does not answer, or not in time, is `operations-unavailable`.
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

  /** Makes the record of an operation that begins now. It is not stored yet. */
  draft(operation: NewOperation): OperationRecord {
    const { now, lease } = this.#options
    return begin(newOperationId(), operation, now(), lease)
  }

  /**
   * Puts the record of a new operation, and returns it once it is there.
   *
   * @param asked called as soon as the store has been asked, if it is; it has not answered then
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

  /** The record of an operation; `null` where there is none, or none any more. */
  async find(id: string): Promise<OperationRecord | null> {
    if (!isOperationId(id)) return null
    const record = await this.#ask((store) => store.get(id))
    // Stores take away what has had its time when they get to it.
    return record !== null && isFinal(record) && record.dueAt <= this.#options.now() ? null : record
  }

  /**
   * Begins a run.
   *
   * @param maxRuns runs after which none is begun any more
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

  /** A sign of life of the run that `record` is of; `null` where it does not count any more. */
  async renew(record: OperationRecord, progress: number | null): Promise<OperationRecord | null> {
    const { now, lease } = this.#options
    // Nobody but the run itself writes as a rule, so what it wrote last is what stands there.
    const next = renew(record, record.run, progress, now(), lease)
    // What comes later than the next sign of life is due is of no use.
    if (next !== null && (await this.#ask((store) => store.replace(next), lease / 3))) return next
    const { after } = await this.#change(record.id, (found) =>
      renew(found, record.run, progress, now(), lease),
    )
    return after
  }

  /**
   * Ends an operation; the record as it stands after that, whoever ended it, and `null` where there is none.
   *
   * @param run the run that ends it; `null` for nobody, which ends only what has no run that is alive
   */
  async finish(id: string, run: number | null, end: OperationEnd): Promise<OperationRecord | null> {
    const { now, retention } = this.#options
    return this.#mayEnd(id, (record) => finish(record, run, end, now(), retention))
  }

  /** Asks to cancel; the record after that, and `null` where there is none. Those who run it have to be told. */
  async cancel(id: string): Promise<OperationRecord | null> {
    const { now, retention } = this.#options
    return this.#mayEnd(id, (record) =>
      record.cancellable ? cancel(record, cancelledFailure, now(), retention) : null,
    )
  }

  /** Tells all processes that an operation is to be cancelled. A message that gets lost is found at the next sign of life. */
  async announceCancel(id: string): Promise<void> {
    await this.#ask((store) => store.announceCancel(id))
  }

  /** Gives an operation back for others to run. */
  async release(id: string, run: number): Promise<void> {
    await this.#change(id, (record) => release(record, run, this.#options.now()))
  }

  /** Takes a record away that nobody has been told of; `false` where somebody was faster. */
  discard(record: OperationRecord): Promise<boolean> {
    return this.#ask((store) => store.remove(record))
  }

  /** Operations that somebody has to look after now. */
  due(limit: number): Promise<readonly OperationRecord[]> {
    return this.#ask((store) => store.due(this.#options.now(), limit))
  }

  /** Puts off the next look after an operation; is it this call that did? */
  async putOff(record: OperationRecord): Promise<boolean> {
    const { now, lease } = this.#options
    const next = putOff(record, now(), lease)
    return next !== null && this.#ask((store) => store.replace(next))
  }

  /** Takes away what has had its time. */
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
// More than are under way at a time where the store answers as it should.
const mostOverdue = 100
const unreachable =
  'Operations cannot be reached at the moment; what was asked for may or may not have happened'

function failure(code: ProblemCode, detail: string): OperationFailure {
  const { title, statusCode: status } = new ProblemError(code)
  return Object.freeze({ code, title, status, detail })
}
