import { channel } from 'node:diagnostics_channel'
import { outageLog } from '../../time/async.js'
import type { Log } from './options.js'
import type { OperationRecord } from './record.js'

/** What happened to an operation. */
export type OperationEventName =
  /** It was started. */
  | 'start'
  /** A run began. */
  | 'run'
  /** A run began in place of one that died. */
  | 'take-over'
  /** The handler failed, and the operation runs again. */
  | 'retry'
  /** A run was handed back, because its process closes. */
  | 'release'
  /** A handler did not return in time after its signal aborted: its slot is free, and it may go on. */
  | 'abandon'
  /** It ended. */
  | 'end'
  /** It ended because its runs died too often. */
  | 'give-up'

/** A message of the channel `fastify-conventions.operations`. */
export interface OperationEvent {
  readonly event: OperationEventName
  readonly record: OperationRecord
  /** The error of the handler, with `retry`. */
  readonly error?: unknown
}

/** Name of the channel of `node:diagnostics_channel` on which the life cycle of operations is published. */
export const operationChannel = 'fastify-conventions.operations'

const levels: Readonly<Record<OperationEventName, 'debug' | 'info' | 'warn' | 'error'>> = {
  start: 'info',
  run: 'debug',
  'take-over': 'warn',
  retry: 'warn',
  release: 'info',
  abandon: 'warn',
  end: 'info',
  'give-up': 'error',
}

/** Writes a line, without `err` where the log cannot read it: a handler may throw any value, and reading that may throw too. */
export function logThrown(
  log: Log,
  level: 'debug' | 'info' | 'warn' | 'error',
  { err, ...fields }: Readonly<Record<string, unknown>>,
  message: string,
): void {
  try {
    log[level]({ ...fields, ...(err !== undefined && { err }) }, message)
  } catch {
    log[level](fields, message)
  }
}

/** Returns a function that writes events to a log, with the ids of operation and request, and publishes them. */
export function eventsOf(log: Log) {
  const published = channel(operationChannel)
  return (event: OperationEventName, record: OperationRecord, error?: unknown): void => {
    const { id, name, run, status, requestId, error: failure } = record
    const fields = {
      event,
      operationId: id,
      operation: name,
      run,
      ...(requestId !== null && { reqId: requestId }),
      ...(event === 'end' && { status, ...(failure !== null && { code: failure.code }) }),
      err: error,
    }
    logThrown(log, levels[event], fields, `operations: '${name}': ${event}`)
    if (published.hasSubscribers) {
      published.publish({ event, record, ...(error !== undefined && { error }) } satisfies OperationEvent)
    }
  }
}

export type FaultLog = ReturnType<typeof faultLog>

/**
 * Logs the begin and the end of a fault, not each failure: at most one fault in a minute.
 *
 * @param part name of the failing part in the log
 */
export function faultLog(log: Log, part: string, now: () => number) {
  const outage = outageLog(60_000, now)
  return {
    failed(what: string, err: unknown): void {
      if (outage.begins()) log.error({ err, part }, `operations: ${what}`)
    },
    recovered(): void {
      if (outage.ends()) log.info({ part }, 'operations: the fault is over')
    },
  }
}
