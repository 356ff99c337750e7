import { randomBytes, randomInt } from 'node:crypto'
import type { ProblemIssue } from '../../problem/problem-error.js'

/** Id of a caller; `null` if the caller is not known. */
export type OperationOwner = string | number | bigint | null

/** Status of an operation; the last two are final. */
export type OperationStatus = 'In progress' | 'Succeeded' | 'Failed'

/** Why an operation failed, for the client: without cause and stack. */
export interface OperationFailure {
  /** The `code` of a problem document: stable, in lower-kebab case. */
  readonly code: string
  readonly title: string
  /** The HTTP status that a response with this problem would have. */
  readonly status: number
  /** Explains the occurrence; a fixed text for an error of the server. */
  readonly detail: string
  /** The faults in the input. */
  readonly errors?: readonly ProblemIssue[]
}

/**
 * Who may see an operation: its owner alone; every caller who knows its id, because its caller was not known; or, for one that
 * the app itself started, no caller at all.
 */
export type OperationAccess = 'owner' | 'id' | 'internal'

/**
 * The record of an operation: one document, which stores put, compare and replace as a whole. Times are milliseconds since the
 * epoch. Records are immutable: each change is a new record with a higher `version`.
 */
export interface OperationRecord {
  /** Version of the members of a record. A process leaves records of another version to those that know it. */
  readonly schema: 1
  /** 32 random hexadecimal digits. */
  readonly id: string
  /** Higher after each change, by a random step: two changes of the same version never lead to the same one. */
  readonly version: number
  /** Name of the operation in `define`. */
  readonly name: string
  /** Id of the caller who started it; `null` if there is none. */
  readonly owner: string | null
  readonly access: OperationAccess
  readonly status: OperationStatus
  readonly cancellable: boolean
  /** Whether a cancellation was requested, and the current run has not ended yet. */
  readonly isCancelling: boolean
  /** 64 hexadecimal digits, which no two operations in progress share; `null` if there may be others. */
  readonly onePer: string | null
  /** Number of runs so far. It is also the fencing token: changes of earlier runs are ignored. */
  readonly run: number
  /** Number of runs that `maxRuns` counts: those that died, and the current one. */
  readonly counted: number
  /** Time until which the current run may be alive; `null` without a run. */
  readonly runUntil: number | null
  /** Time before which it must not run; `null` for none. */
  readonly notBefore: number | null
  /** Time of the next check, see `OperationStore.takeDue`; the store may have moved it. Of a final record: when it is deleted. */
  readonly dueAt: number
  /** From 0 to 100; operations with a higher priority run first. */
  readonly priority: number
  /** From 0 to 1; `null` if the work does not report it. */
  readonly progress: number | null
  readonly createdAt: number
  /** Time of the last change, other than a heartbeat without progress. */
  readonly updatedAt: number
  readonly finishedAt: number | null
  /** Time from which it is a 410. */
  readonly goneAt: number | null
  /** URL of the created resource. */
  readonly resource: string | null
  /** The result as JSON. */
  readonly result: string | null
  readonly error: OperationFailure | null
  /** Id of the request that started it. */
  readonly requestId: string | null
}

/** The value of `schema` in all records. */
export const recordSchema = 1

/** Whether an operation has ended. */
export function isFinal({ status }: OperationRecord): boolean {
  return status !== 'In progress'
}

/** Whether the result of an operation is deleted: it is a 410. */
export function isGone({ goneAt }: OperationRecord, now: number): boolean {
  return goneAt !== null && goneAt <= now
}

/** Returns a progress from 0 to 1, the nearest to the given number; `null` for other values. */
export function progressOf(progress: unknown): number | null {
  return typeof progress === 'number' && !Number.isNaN(progress) ? Math.min(Math.max(progress, 0), 1) : null
}

/** Returns a new id: 128 random bits as 32 hexadecimal digits. */
export function newOperationId(): string {
  return randomBytes(16).toString('hex')
}

/** Whether a text has the form of an operation's id. */
export function isOperationId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text)
}

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

/**
 * Begins a run; `null` if the operation is final, is being cancelled, must not run yet, or has a live run whose place the new
 * one does not take.
 */
export function claim(
  record: OperationRecord,
  now: number,
  { runUntil, dueAt, takesOver }: { runUntil: number; dueAt: number; takesOver: boolean },
): OperationRecord | null {
  if (isFinal(record) || record.isCancelling || (record.notBefore ?? 0) > now) return null
  if (isRunning(record, now) && !takesOver) return null
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
  given: OperationEnd,
  now: number,
  retention: number,
): OperationRecord | null {
  if (isFinal(record) || record.isCancelling) return null
  if (!isRunning(record, now)) return end(record, given, now, retention)
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

// A store may lose the latest version by a failover. The change that is stored in its place must get another number.
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
