import { isFinal, type OperationFailure, type OperationRecord, recordSchema } from './record.js'

/** The start of an operation. */
export type NewOperation = Pick<OperationRecord, 'name' | 'owner' | 'input' | 'cancellable'>

/** The end of an operation. */
export type OperationEnd =
  | { readonly status: 'Succeeded'; readonly resource: string | null; readonly result: string | null }
  | { readonly status: 'Failed'; readonly error: OperationFailure }

/** Returns the record of a new operation, without a run. */
export function begin(id: string, operation: NewOperation, now: number, lease: number): OperationRecord {
  return Object.freeze({
    // First, because some stores need it at the beginning.
    version: 1,
    schema: recordSchema,
    id,
    name: operation.name,
    owner: operation.owner,
    status: 'In progress',
    cancellable: operation.cancellable,
    isCancelling: false,
    input: operation.input,
    run: 0,
    runUntil: null,
    dueAt: now + lease,
    progress: null,
    createdAt: now,
    updatedAt: now,
    since: now,
    finishedAt: null,
    goneAt: null,
    resource: null,
    result: null,
    error: null,
  })
}

/** Begins a run; `null` if the operation is final, is being cancelled, or has a live run. */
export function claim(record: OperationRecord, now: number, lease: number): OperationRecord | null {
  if (isFinal(record) || record.isCancelling || isRunning(record, now)) return null
  return changed(record, now, {
    run: record.run + 1,
    runUntil: now + lease,
    dueAt: now + lease,
    since: now,
    progress: null,
  })
}

/** Stores a heartbeat of a run; `null` if that run no longer counts. */
export function renew(
  record: OperationRecord,
  run: number,
  progress: number | null,
  now: number,
  lease: number,
): OperationRecord | null {
  if (!isOfRun(record, run)) return null
  return changed(record, now, { runUntil: now + lease, dueAt: now + lease, progress })
}

/**
 * Requests a cancellation. Without a run the operation ends at once; otherwise its run ends it. Returns `null` if nothing
 * changes: the operation is final, or the cancellation was requested before.
 *
 * @param failure the failure of a cancelled operation
 * @param retention milliseconds, see {@link finish}
 */
export function cancel(
  record: OperationRecord,
  failure: OperationFailure,
  now: number,
  retention: number,
): OperationRecord | null {
  if (isFinal(record) || record.isCancelling) return null
  if (!isRunning(record, now)) return ended(record, { status: 'Failed', error: failure }, now, retention)
  return changed(record, now, { isCancelling: true })
}

/**
 * Ends an operation; `null` if it is final already, or if another run has to end it.
 *
 * @param run the run that ends it; with `null` it is ended only if no run is alive
 * @param retention milliseconds for which the result is stored; for the same time again the operation is a 410
 */
export function finish(
  record: OperationRecord,
  run: number | null,
  end: OperationEnd,
  now: number,
  retention: number,
): OperationRecord | null {
  if (run === null ? isFinal(record) || isRunning(record, now) : !isOfRun(record, run)) return null
  return ended(record, end, now, retention)
}

/** Returns the operation, so that another run can begin; `null` if the run no longer counts. */
export function release(record: OperationRecord, run: number, now: number): OperationRecord | null {
  if (!isOfRun(record, run)) return null
  return changed(record, now, { runUntil: null, dueAt: now, since: now, progress: null })
}

/**
 * Postpones the next check of an operation that is due; a run that it had no longer counts. `null` if it is not due. The time
 * until the next check is the time that it has waited so far, at most ten leases: an operation in a long queue is not checked
 * too often, and one that the queue lost is found.
 */
export function putOff(record: OperationRecord, now: number, lease: number): OperationRecord | null {
  if (isFinal(record) || isRunning(record, now) || record.dueAt > now) return null
  // It has waited since the last heartbeat of its run.
  const since = record.runUntil ?? record.since
  const putOffBy = Math.min(Math.max(now - since, lease), lease * 10)
  return changed(record, now, { runUntil: null, since, dueAt: now + putOffBy, progress: null })
}

/** Whether there is a run with a heartbeat in time. */
export function isRunning({ runUntil }: OperationRecord, now: number): boolean {
  return runUntil !== null && runUntil > now
}

// A run with a late heartbeat still counts, as long as no other run took its place.
function isOfRun(record: OperationRecord, run: number): boolean {
  return !isFinal(record) && record.run === run && record.runUntil !== null
}

function ended(record: OperationRecord, end: OperationEnd, now: number, retention: number): OperationRecord {
  const goneAt = now + retention
  return changed(record, now, {
    status: end.status,
    isCancelling: false,
    input: null,
    runUntil: null,
    dueAt: goneAt + retention,
    progress: end.status === 'Succeeded' ? 1 : record.progress,
    finishedAt: now,
    goneAt,
    ...(end.status === 'Succeeded' ? { resource: end.resource, result: end.result } : { error: end.error }),
  })
}

function changed(record: OperationRecord, now: number, change: Partial<OperationRecord>): OperationRecord {
  const next = { ...record, ...change, version: record.version + 1 }
  const isShown =
    next.status !== record.status ||
    next.progress !== record.progress ||
    next.isCancelling !== record.isCancelling
  if (isShown) next.updatedAt = now
  return Object.freeze(next)
}
