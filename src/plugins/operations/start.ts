import type { FastifyReply, FastifyRequest } from 'fastify'
import { subjectOf } from '../../fastify/caller.js'
import { type Checks, integer, invalid, resolveOptions } from '../../options.js'
import type { OperationDefinitions } from './define.js'
import { type Duration, duration, type ResolvedOperations } from './options.js'
import { isFinal, type OperationFailure, type OperationRecord } from './record.js'
import type { OperationResponses } from './responses.js'
import type { BeginOptions, OperationsService } from './service.js'
import {
  type Caller,
  callerOf,
  maxWait,
  noPreferences,
  type Preferences,
  readPrefer,
  type Starter,
  traceparentOf,
} from './starter.js'

/** The result of an operation, for {@link StartOptions.answer}. */
export type OperationResult<Result = unknown> =
  | { readonly status: 'Succeeded'; readonly resource: string | null; readonly result: Result | undefined }
  | { readonly status: 'Failed'; readonly error: OperationFailure }

/** Options of the start of an operation. */
export interface RunOptions {
  /**
   * Time before which it must not run: milliseconds, or a text such as `'10 minutes'`.
   * @default none
   */
  readonly delay?: Duration
  /**
   * Operations with a higher priority run first: from 0 to 100.
   * @default 0
   */
  readonly priority?: number
}

/** Options of `reply.startOperation()`. */
export interface StartOptions<Result = unknown> extends RunOptions {
  /**
   * Writes the response if the client waits (`Prefer: wait`) and the operation ends in time.
   * @default the response of a poll
   */
  readonly answer?: (end: OperationResult<Result>, reply: FastifyReply) => unknown
}

const runChecks: Checks<RunOptions> = { delay: duration, priority: integer(0, 100) }

export function beginOptions(
  label: string,
  received: RunOptions,
  starter: Starter,
  connection: object | null = null,
): BeginOptions {
  const { delay = 0, priority = 0 } = resolveOptions<RunOptions, RunOptions>(label, received, runChecks, {})
  return { ...starter, delay: Number(delay), priority, connection }
}

/** Starts an operation for a request, waits for it as long as the client prefers, and returns what to send. */
export async function startOperation(
  service: OperationsService,
  responses: OperationResponses,
  reply: FastifyReply,
  operation: string | PreparedOperation,
  input: unknown,
  { answer, ...options }: StartOptions,
): Promise<unknown> {
  const { request } = reply
  const begun =
    typeof operation === 'string'
      ? await service.begin(
          operation,
          input,
          beginOptions('reply.startOperation()', options, await starterOf(request, service.options)),
        )
      : await enqueued(service, operation)
  const preferences = request.prefer
  const wait = Math.min(preferences.wait ?? 0, maxWait)
  const record = await service.registry.readable(
    wait === 0 ? begun : await waited(service, reply, begun, wait),
  )
  const isDone = isFinal(record)
  if (preferences !== noPreferences) {
    const applied = appliedPreferences(preferences, wait, isDone)
    if (applied !== '') reply.header('preference-applied', applied)
  }
  return isDone && answer !== undefined
    ? answer(resultOf(service.definitions, record), reply)
    : responses.started(reply, record)
}

const records = new WeakMap<PreparedOperation, OperationRecord>()

/** An operation that a transaction of the app has stored. Pass it to `reply.startOperation()` after the commit. */
export interface PreparedOperation {
  /** Id of the operation. */
  readonly id: string
}

export function preparedOperation(record: OperationRecord): PreparedOperation {
  const prepared = Object.freeze({ id: record.id })
  records.set(prepared, record)
  return prepared
}

/** Adds a prepared operation to the engine. Its transaction is committed: if that fails, the sweeper does it later. */
async function enqueued(service: OperationsService, prepared: PreparedOperation): Promise<OperationRecord> {
  const record = records.get(prepared)
  if (record === undefined) {
    return invalid('reply.startOperation()', 'a name, or the result of operations.prepare()', prepared)
  }
  await service.enqueue(record).catch(() => {})
  return record
}

export function preferencesOf(prefer: string | readonly string[] | undefined): Preferences {
  return prefer === undefined ? noPreferences : readPrefer([prefer].flat().join(','))
}

async function waited(
  service: OperationsService,
  reply: FastifyReply,
  record: OperationRecord,
  seconds: number,
): Promise<OperationRecord> {
  const left = new AbortController()
  const leave = () => left.abort()
  reply.raw.once('close', leave)
  // The connection may have been closed before.
  if (reply.raw.destroyed) leave()
  try {
    return await service.ended(record, seconds * 1000, left.signal)
  } finally {
    reply.raw.off('close', leave)
  }
}

function appliedPreferences({ respondAsync, wait }: Preferences, applied: number, isDone: boolean): string {
  return [
    ...(respondAsync && !isDone ? ['respond-async'] : []),
    ...(wait === null || applied === 0 ? [] : [`wait=${applied}`]),
  ].join(', ')
}

function resultOf(
  definitions: OperationDefinitions,
  { name, status, resource, result, error }: OperationRecord,
): OperationResult {
  if (status === 'Failed' && error !== null) return { status, error }
  const value = result === null ? undefined : definitions.readResult(name, result, false)
  return { status: 'Succeeded', resource, result: value }
}

export async function callerOfRequest(
  request: FastifyRequest,
  { identify }: Pick<ResolvedOperations, 'identify'>,
): Promise<Caller> {
  return callerOf(identify === null ? subjectOf(request) : await identify(request))
}

export async function starterOf(
  request: FastifyRequest,
  options: Pick<ResolvedOperations, 'identify'>,
): Promise<Starter> {
  return {
    ...(await callerOfRequest(request, options)),
    requestId: request.id,
    traceparent: traceparentOf(request.headers.traceparent),
  }
}
