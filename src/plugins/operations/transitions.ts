import { isFinal, type OperationFailure, type OperationRecord, recordSchema } from './record.js'

/** What an operation is begun with. */
export type NewOperation = Pick<OperationRecord, 'name' | 'owner' | 'input' | 'cancellable'>

/** What came of an operation. */
export type OperationEnd =
  | { readonly status: 'Succeeded'; readonly resource: string | null; readonly result: string | null }
  | { readonly status: 'Failed'; readonly error: OperationFailure }

/** The record of an operation that begins now, and that nobody runs yet. */
export function begin(id: string, operation: NewOperation, now: number, lease: number): OperationRecord {
  return Object.freeze({
    // First, so that stores that want it there need not move it.
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

/** Begins a run; `null` where the operation is final, is being cancelled, or has a run that is alive. */
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

/** A sign of life of a run; `null` where that run does not count any more. */
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
 * Asks to cancel. What nobody runs is over at once; a run is told, and ends the operation as it can.
 * `null` where nothing changes: it is final, or was asked for before.
 *
 * @param failure what a cancelled operation fails with
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
 * Ends an operation; `null` where it is final already, or where it is for another run to say so.
 *
 * @param run the run that ends it; `null` for nobody, which only ends what has no run that is alive
 * @param retention milliseconds for which the end can be asked for, and for as long again is answered as gone
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

/** A run gives the operation back, for another to begin; `null` where it is not that run's any more. */
export function release(record: OperationRecord, run: number, now: number): OperationRecord | null {
  if (!isOfRun(record, run)) return null
  return changed(record, now, { runUntil: null, dueAt: now, since: now, progress: null })
}

/**
 * Puts off the next look after an operation that is due, whose run, if it had one, counts no more; `null` where it is not
 * due. It is looked at again when it has waited for as long again as now, up to ten leases: what is in a long queue is not
 * looked at over and over, and what got lost there is found.
 */
export function putOff(record: OperationRecord, now: number, lease: number): OperationRecord | null {
  if (isFinal(record) || isRunning(record, now) || record.dueAt > now) return null
  // It has waited since its run was last heard of.
  const since = record.runUntil ?? record.since
  const putOffBy = Math.min(Math.max(now - since, lease), lease * 10)
  return changed(record, now, { runUntil: null, since, dueAt: now + putOffBy, progress: null })
}

/** Is a run under way that gave a sign of life in time? */
export function isRunning({ runUntil }: OperationRecord, now: number): boolean {
  return runUntil !== null && runUntil > now
}

// A run that was late with its sign of life still counts, as long as nobody took its place.
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
