import { ProblemError } from '../../problem/problem-error.js'
import { inTime } from '../../time/async.js'
import type { OperationCore } from './core.js'
import type { RunOutcome } from './engines/engine.js'
import { cancelled, interrupted, unavailable } from './failures.js'
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

export type OperationRegistry = ReturnType<typeof operationRegistry>

/**
 * The only place that changes records: it reads a record, applies a transition, and replaces the record if it has not changed
 * meanwhile; otherwise it tries again. So the first of two concurrent changes wins.
 *
 * Throws `operations-unavailable` if the store fails or exceeds its time limit.
 *
 * @param onEnd called when this registry has ended an operation; in rare cases twice
 */
export function operationRegistry(core: OperationCore, onEnd: (record: OperationRecord) => void) {
  const { store, lease, takesOver, retention, now, schedule, definitions } = core
  // Milliseconds between two checks of an operation. An engine that takes over has lost a job only after a crash.
  const checkInterval = takesOver ? lease * 10 : lease
  const faults = core.faultsOf('store')

  async function ask<Answer>(question: (store: OperationStore) => Promise<Answer>): Promise<Answer> {
    try {
      const asked = question(store)
      const answer = await (store.isShared
        ? inTime(asked, longestWait, 'an answer of the store', schedule)
        : asked)
      faults.recovered()
      return answer
    } catch (error) {
      if (isStoreFull(error)) throw new ProblemError('operations-full', { cause: error })
      faults.failed('the store of operations fails', error)
      throw unavailable(unreachable, error)
    }
  }

  async function find(id: string): Promise<OperationRecord | null> {
    if (!isOperationId(id)) return null
    const record = await ask((store) => store.get(id))
    if (record === null || !isGone(record, now())) return record
    // Stores delete expired records with a delay.
    if (record.dueAt <= now()) return null
    return { ...record, resource: null, result: null, error: null }
  }

  /** @param known spares the first read */
  async function change(id: string, step: Step, known?: OperationRecord): Promise<Change> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const before = attempt === 0 && known !== undefined ? known : await find(id)
      const after = before === null ? null : await step(before)
      if (before === null || after === null) return { before, after: null }
      if (!(await ask((store) => store.replace(before, after)))) continue
      if (isFinal(after)) onEnd(after)
      return { before, after }
    }
    throw unavailable(unreachable, new Error(`the operation changed ${maxAttempts} times meanwhile`))
  }

  /** Lets an operation wait for its next run; one that is being cancelled ends. */
  async function runAgain(id: string, run: number, wait: number): Promise<OperationRecord | null> {
    const { after } = await change(id, (record) =>
      record.isCancelling
        ? finish(record, run, cancelled, now(), retention)
        : release(record, run, now(), now() + wait),
    )
    return after
  }

  return {
    store,
    ask,
    find,

    /** If there is one of this id already, an earlier request of the same start has stored it. */
    async create(
      id: string,
      operation: NewOperation,
    ): Promise<{ readonly record: OperationRecord; readonly isNew: boolean }> {
      const record = begin(id, operation, now(), now() + checkInterval)
      if (await ask((store) => store.create(record, operation.input))) return { record, isNew: true }
      const found = await find(id)
      if (found !== null) return { record: found, isNew: false }
      const detail = `'${operation.name}' is in progress for this already; no operation was started`
      throw new ProblemError('operation-in-progress', { detail })
    },

    /**
     * Begins a run, or ends an operation that must not run again; returns `null` if the store does not know it. The handler is
     * to be called at once: then the run counts.
     */
    async claim(
      id: string,
    ): Promise<{ readonly record: OperationRecord; readonly input: string | null } | RunOutcome | null> {
      let input: string | null = null
      const { before, after } = await change(id, async (record) => {
        const limits = definitions.get(record.name)
        if (limits === undefined || isFinal(record)) return null
        const isDead = takesOver || !isRunning(record, now())
        if (isDead && record.isCancelling) return end(record, cancelled, now(), retention)
        if (isDead && record.counted >= limits.maxRuns) return end(record, interrupted, now(), retention)
        const claimed = claim(record, now(), {
          // Without a lease, only the time limit of the run bounds it.
          runUntil: now() + (takesOver ? limits.timeout + checkInterval : lease),
          dueAt: now() + checkInterval,
          takesOver,
        })
        // Before the run counts: it may fail, and take long.
        if (claimed !== null) input = await ask((store) => store.input(id))
        return claimed
      })
      const record = after ?? before
      if (record === null) return null
      if (isFinal(record)) return { kind: 'ended', hasFailed: record.status === 'Failed' }
      if (after !== null) return { record, input }
      if (definitions.get(record.name) === undefined) {
        // Another release may define it. If there is none for long, it comes more and more rarely.
        return { kind: 'later', delay: Math.min(Math.max((now() - record.createdAt) / 10, 200), 30_000) }
      }
      const until = Math.max(record.runUntil ?? 0, record.notBefore ?? 0)
      return { kind: 'later', delay: Math.max(until - now(), 0) }
    },

    /** Stores the heartbeat and the progress of the run in `record`; reads the record if neither has to be stored yet. */
    async renew(record: OperationRecord, progress: number | null): Promise<OperationRecord | null> {
      const { id, run, runUntil } = record
      const isAlive = takesOver || (runUntil ?? 0) - now() > lease * 0.7
      if (isAlive && progress === record.progress) {
        const found = await find(id)
        return found !== null && isOfRun(found, run) ? found : null
      }
      const until = (found: OperationRecord) => (takesOver ? (found.runUntil ?? 0) : now() + lease)
      const { after } = await change(id, (found) => renew(found, run, progress, now(), until(found)), record)
      return after
    },

    async finish(id: string, run: number | null, given: OperationEnd): Promise<OperationRecord | null> {
      const { before, after } = await change(id, (record) => finish(record, run, given, now(), retention))
      // The store ended it before, and its answer was lost.
      if (after === null && before?.run === run && isFinal(before)) onEnd(before)
      return after ?? before
    },

    async cancel(id: string): Promise<OperationRecord | null> {
      const { before, after } = await change(id, (record) =>
        record.cancellable ? cancel(record, cancelled, now(), retention) : null,
      )
      return after ?? before
    },

    /** Hands an operation back, so that other processes can run it at once. */
    release: (id: string, run: number) => runAgain(id, run, 0),

    /** Lets an operation wait for the next run of the engine. */
    retry: (id: string, run: number) => runAgain(id, run, checkInterval),

    /** Takes operations that have to be checked; no other process gets them before the next interval. */
    takeDue: (limit: number) => ask((store) => store.takeDue(now(), now() + checkInterval, limit)),

    async postpone(id: string, milliseconds: number): Promise<void> {
      await change(id, (record) => postpone(record, now(), now() + milliseconds))
    },
  }
}

type Step = (record: OperationRecord) => OperationRecord | null | Promise<OperationRecord | null>

/** `after` is `null` if nothing changed. */
interface Change {
  readonly before: OperationRecord | null
  readonly after: OperationRecord | null
}

const maxAttempts = 100
/** Milliseconds that a request waits for the store. */
const longestWait = 5_000
const unreachable =
  'Operations cannot be reached at the moment; what was asked for may or may not have happened'
