import { type ProblemCode, ProblemError } from '../../problem/problem-error.js'
import { inTime } from '../../time/in-time.js'
import type { Schedule } from '../../time/schedule.js'
import type { FaultLog } from './events.js'
import type { OperationCodec } from './options.js'
import {
  attemptsOf,
  isFinal,
  isGone,
  isOperationId,
  newOperationId,
  type OperationFailure,
  type OperationRecord,
} from './record.js'
import {
  isStoreFull,
  type OperationQuery,
  type OperationStore,
  type OperationTransaction,
} from './stores/store.js'
import {
  begin,
  cancel,
  claim,
  end,
  finish,
  isOfRun,
  isRunning,
  type NewOperation,
  type OperationEnd,
  postpone,
  release,
  renew,
  retry,
} from './transitions.js'

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
  readonly codec: OperationCodec | null
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

/** The result of claiming an operation. */
export type Claim =
  | { readonly kind: 'claimed'; readonly record: OperationRecord }
  | { readonly kind: 'final'; readonly record: OperationRecord }
  | { readonly kind: 'busy'; readonly delay: number }
  | { readonly kind: 'absent' }
  | { readonly kind: 'not-implemented' }

/** The failure of a cancelled operation. */
const cancelledFailure: OperationFailure = failure(
  'operation-cancelled',
  'It was cancelled before it finished',
)

/** The end of a cancelled operation. */
export const cancelled: OperationEnd = { status: 'Failed', error: cancelledFailure }

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

  constructor(options: RegistryOptions) {
    this.#options = options
  }

  get store(): OperationStore {
    return this.#options.store
  }

  async create(operation: NewOperation, connection?: object): Promise<OperationRecord> {
    const { now, checkInterval } = this.#options
    const { input } = operation
    const store = this.#through(connection)
    const encoded = input === null ? null : await this.#encode(input)
    const stored = { ...operation, input: encoded }
    const record = begin(newOperationId(), stored, now(), now() + checkInterval)
    if (await this.#ask(() => store.create(record, encoded))) return record
    // If the id is taken, a client of the store has sent the record twice after a broken connection.
    const isStored =
      record.onePer === null || (connection === undefined && (await this.find(record.id)) !== null)
    if (isStored) return record
    const detail = `'${operation.name}' is in progress for this already; no operation was started`
    throw new ProblemError('operation-in-progress', { detail })
  }

  /** Returns the input of an operation in progress; `null` if it has none. */
  async input(record: OperationRecord): Promise<string | null> {
    const { codec } = this.#options
    const input = await this.#ask((store) => store.input(record.id))
    if (input === null) return null
    return codec === null ? input : codec.decode(input)
  }

  async encoded(given: OperationEnd): Promise<OperationEnd> {
    if (given.status === 'Failed' || given.result === null) return given
    return { ...given, result: await this.#encode(given.result) }
  }

  /** Returns a record with its result as it was before `codec` encoded it. */
  readable(record: OperationRecord): OperationRecord | Promise<OperationRecord> {
    const { codec } = this.#options
    return record.result === null || codec === null ? record : this.#decoded(record, codec)
  }

  /** Returns the record of an operation; `null` if there is none, or if it was deleted. */
  async find(id: string): Promise<OperationRecord | null> {
    if (!isOperationId(id)) return null
    const record = await this.#ask((store) => store.get(id))
    const now = this.#options.now()
    if (record === null || !isGone(record, now)) return record
    // Stores delete expired records with a delay.
    if (record.dueAt <= now) return null
    return { ...record, resource: null, result: null, error: null }
  }

  /** Begins a run, or ends an operation that must not run again. */
  async claim(id: string, limitsOf: (name: string) => RunLimits | undefined): Promise<Claim> {
    const { now, lease, takesOver, checkInterval, retention } = this.#options
    const { before, after } = await this.#change(id, (record) => {
      const limits = limitsOf(record.name)
      if (limits === undefined) return null
      const time = now()
      const isDead = !isFinal(record) && (takesOver || !isRunning(record, time))
      if (isDead && record.isCancelling) {
        return end(record, cancelled, time, retention)
      }
      if (isDead && attemptsOf(record) >= limits.maxRuns) {
        return end(record, { status: 'Failed', error: interruptedFailure }, time, retention)
      }
      return claim(record, time, {
        // Without a lease, only the time limit of the run bounds it.
        runUntil: time + (takesOver ? limits.timeout + checkInterval : lease),
        dueAt: time + checkInterval,
        takesOver,
      })
    })
    const record = after ?? before
    if (record === null) return { kind: 'absent' }
    if (isFinal(record)) {
      if (after !== null) this.#options.onEnd?.(record)
      return { kind: 'final', record }
    }
    if (after !== null) return { kind: 'claimed', record }
    if (limitsOf(record.name) === undefined) return { kind: 'not-implemented' }
    const until = Math.max(record.runUntil ?? 0, record.notBefore ?? 0)
    return { kind: 'busy', delay: Math.max(until - this.#options.now(), 0) }
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
    const { after } = await this.#change(record.id, step, { known: record })
    return after
  }

  async finish(id: string, run: number | null, given: OperationEnd): Promise<OperationRecord | null> {
    const { now, retention, onEnd } = this.#options
    const { before, after } = await this.#mayEnd(id, (record) => finish(record, run, given, now(), retention))
    // The run ended it before: in a transaction, or the store did it and its answer was lost.
    if (after === null && before?.run === run && isFinal(before)) onEnd?.(before)
    return after ?? before
  }

  async finishWithin(connection: object, record: OperationRecord, given: OperationEnd): Promise<void> {
    const { now, retention } = this.#options
    const stored = await this.encoded(given)
    const step = (found: OperationRecord) => finish(found, record.run, stored, now(), retention)
    const { after } = await this.#change(record.id, step, { known: record, connection })
    if (after === null) throw new ProblemError('operation-interrupted', { detail: 'Another run took over' })
  }

  /** Requests a cancellation. Returns the record; `null` if there is none. */
  async cancel(id: string): Promise<OperationRecord | null> {
    const { now, retention } = this.#options
    const { before, after } = await this.#mayEnd(id, (record) =>
      record.cancellable ? cancel(record, cancelledFailure, now(), retention) : null,
    )
    return after ?? before
  }

  /** Notifies all processes of a change. If the message gets lost, they find it when they read the record next. */
  async announce(id: string): Promise<void> {
    await this.#ask((store) => store.announce(id))
  }

  /** Hands an operation back, so that other processes can run it. Returns its record, see {@link OperationRegistry.retry}. */
  release(id: string, run: number): Promise<OperationRecord | null> {
    return this.#runAgain(id, run, (record) => release(record, run, this.#options.now()))
  }

  /** Lets an operation run again after a number of milliseconds; one that is being cancelled ends. */
  retry(id: string, run: number, delay: number): Promise<OperationRecord | null> {
    const { now, checkInterval } = this.#options
    return this.#runAgain(id, run, (record) =>
      retry(record, run, now(), now() + delay, now() + delay + checkInterval),
    )
  }

  /** Returns operations of an owner, the newest first. */
  list(owner: string, query: OperationQuery): Promise<readonly OperationRecord[]> {
    return this.#ask((store) => store.list(owner, query))
  }

  /** Removes a record that no client knows; returns `false` if it has changed. */
  discard(record: OperationRecord): Promise<boolean> {
    return this.#ask((store) => store.remove(record))
  }

  /** Takes operations that have to be checked; no other process gets them before the next interval. */
  takeDue(limit: number): Promise<readonly OperationRecord[]> {
    const { now, checkInterval } = this.#options
    return this.#ask((store) => store.takeDue(now(), now() + checkInterval, limit))
  }

  /** Leaves the check of an operation to another process. */
  async postpone(id: string, milliseconds: number): Promise<void> {
    const { now } = this.#options
    await this.#change(id, (record) => postpone(record, now(), now() + milliseconds))
  }

  /** Deletes expired records. */
  expire(limit: number): Promise<number> {
    return this.#ask((store) => store.expire(this.#options.now(), limit))
  }

  /** Returns the number of operations in progress of an owner. */
  usage(owner: string): Promise<number> {
    return this.#ask((store) => store.usage(owner))
  }

  async #ask<Answer>(question: (store: OperationStore) => Promise<Answer>): Promise<Answer> {
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

  #through(connection: object | undefined): OperationTransaction {
    const { store } = this.#options
    if (connection === undefined) return store
    if (store.within !== undefined) return store.within(connection)
    throw new TypeError('operations: this store does not take part in transactions of the app')
  }

  async #encode(text: string): Promise<string> {
    const { codec } = this.#options
    if (codec === null) return text
    const encoded: unknown = await codec.encode(text)
    if (typeof encoded !== 'string')
      throw new TypeError('operations.codec: encode() returned what is not a text')
    return encoded
  }

  async #decoded(record: OperationRecord, codec: OperationCodec): Promise<OperationRecord> {
    return { ...record, result: record.result === null ? null : await codec.decode(record.result) }
  }

  async #runAgain(id: string, run: number, step: Step): Promise<OperationRecord | null> {
    const { now, retention } = this.#options
    const { after } = await this.#mayEnd(id, (record) =>
      record.isCancelling ? finish(record, run, cancelled, now(), retention) : step(record),
    )
    return after
  }

  async #mayEnd(id: string, step: Step): Promise<Change> {
    const change = await this.#change(id, step)
    if (change.after !== null && isFinal(change.after)) this.#options.onEnd?.(change.after)
    return change
  }

  async #change(
    id: string,
    step: Step,
    { known, connection }: { readonly known?: OperationRecord; readonly connection?: object } = {},
  ): Promise<Change> {
    const store = this.#through(connection)
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const before = attempt === 0 && known !== undefined ? known : await this.find(id)
      const after = before === null ? null : step(before)
      if (before === null || after === null) return { before, after: null }
      if (await this.#ask(() => store.replace(before, after))) return { before, after }
    }
    throw unavailable(unreachable, new Error(`the operation changed ${maxAttempts} times meanwhile`))
  }
}

type Step = (record: OperationRecord) => OperationRecord | null

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

function failure(code: ProblemCode, detail: string): OperationFailure {
  const { title, statusCode: status } = new ProblemError(code)
  return Object.freeze({ code, title, status, detail })
}
