import { randomInt } from 'node:crypto'
import { isFinal, type OperationFailure, type OperationRecord, recordSchema } from './record.js'

/** The start of an operation. */
export interface NewOperation
  extends Pick<
    OperationRecord,
    'name' | 'owner' | 'access' | 'cancellable' | 'onePer' | 'priority' | 'requestId'
  > {
  /** The input as JSON; `null` for none. */
  readonly input: string | null
  /** Milliseconds before which it must not run; 0 for none. */
  readonly delay: number
}

/** The end of an operation. */
export type OperationEnd =
  | { readonly status: 'Succeeded'; readonly resource: string | null; readonly result: string | null }
  | { readonly status: 'Failed'; readonly error: OperationFailure }

/** The run that a claim begins. */
export interface NewRun {
  readonly runUntil: number
  readonly dueAt: number
  /** Whether it takes the place of a run that may be alive. */
  readonly takesOver: boolean
}

/** Returns the record of a new operation, without a run. */
export function begin(id: string, operation: NewOperation, now: number, dueAt: number): OperationRecord {
  const { input: _, delay, ...given } = operation
  return Object.freeze({
    version: 1,
    schema: recordSchema,
    id,
    ...given,
    status: 'In progress',
    isCancelling: false,
    run: 0,
    counted: 0,
    runUntil: null,
    notBefore: delay === 0 ? null : now + delay,
    dueAt: dueAt + delay,
    progress: null,
    createdAt: now,
    updatedAt: now,
    finishedAt: null,
    goneAt: null,
    resource: null,
    result: null,
    error: null,
  })
}

/** Begins a run; `null` if the operation is final, is being cancelled, must not run yet, or has a live run. */
export function claim(record: OperationRecord, now: number, run: NewRun): OperationRecord | null {
  if (isFinal(record) || record.isCancelling || (record.notBefore ?? 0) > now) return null
  if (isRunning(record, now) && !run.takesOver) return null
  const { runUntil, dueAt } = run
  const counts = { run: record.run + 1, counted: record.counted + 1 }
  return changed(record, now, { ...counts, runUntil, dueAt, notBefore: null, progress: null, updatedAt: now })
}

/** Stores a heartbeat and the progress of a run; `null` if that run no longer counts. The time of the next check stays. */
export function renew(
  record: OperationRecord,
  run: number,
  progress: number | null,
  now: number,
  runUntil: number,
): OperationRecord | null {
  return isOfRun(record, run) ? changed(record, now, { runUntil, progress }) : null
}

/** Requests a cancellation: ends what does not run, and leaves the end of what runs to the run. */
export function cancel(
  record: OperationRecord,
  failure: OperationFailure,
  now: number,
  retention: number,
): OperationRecord | null {
  if (isFinal(record) || record.isCancelling) return null
  if (!isRunning(record, now)) return end(record, { status: 'Failed', error: failure }, now, retention)
  return changed(record, now, { isCancelling: true })
}

/** Ends an operation; `null` if it is final already, or if another run has to end it. */
export function finish(
  record: OperationRecord,
  run: number | null,
  given: OperationEnd,
  now: number,
  retention: number,
): OperationRecord | null {
  if (run === null ? isFinal(record) || isRunning(record, now) : !isOfRun(record, run)) return null
  return end(record, given, now, retention)
}

/** Lets the operation wait for another run, which `maxRuns` does not count; `null` if the run no longer counts. */
export function release(
  record: OperationRecord,
  run: number,
  now: number,
  dueAt: number,
): OperationRecord | null {
  if (!isOfRun(record, run)) return null
  const counted = record.counted - 1
  return changed(record, now, { counted, runUntil: null, progress: null, dueAt, updatedAt: now })
}

/** Moves the next check of an operation that waits; `null` if it does not. */
export function postpone(record: OperationRecord, now: number, dueAt: number): OperationRecord | null {
  return isFinal(record) || isRunning(record, now) ? null : changed(record, now, { dueAt })
}

/** Whether there is a run that may be alive. */
export function isRunning({ runUntil }: OperationRecord, now: number): boolean {
  return runUntil !== null && runUntil > now
}

/** Whether a run counts: also with a late heartbeat, as long as no other run took its place. */
export function isOfRun(record: OperationRecord, run: number): boolean {
  return !isFinal(record) && record.run === run && record.runUntil !== null
}

/** Ends an operation, whatever runs. */
export function end(
  record: OperationRecord,
  given: OperationEnd,
  now: number,
  retention: number,
): OperationRecord {
  const goneAt = now + retention
  return changed(record, now, {
    ...given,
    isCancelling: false,
    runUntil: null,
    notBefore: null,
    dueAt: goneAt + retention,
    progress: given.status === 'Succeeded' ? 1 : record.progress,
    finishedAt: now,
    goneAt,
  })
}

// After a failover, a store may have lost the latest version. Another change of the version before must not have its number.
const maxStep = 2 ** 20

function changed(record: OperationRecord, now: number, change: Partial<OperationRecord>): OperationRecord {
  const next = { ...record, ...change, version: record.version + randomInt(1, maxStep) }
  const isShown =
    next.status !== record.status ||
    next.progress !== record.progress ||
    next.isCancelling !== record.isCancelling
  if (isShown) next.updatedAt = now
  return Object.freeze(next)
}
