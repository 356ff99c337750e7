import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerIdText, subjectOf } from '../../convention/caller.js'
import { requestSlot } from '../../convention/slots.js'
import { listMembers, memberParts } from '../../http/header-fields.js'
import { resolveOptions } from '../../options.js'
import { type OperationHandle, type RunOptions, runOptions } from './api.js'
import { digest } from './define.js'
import { maxWait } from './openapi.js'
import type { ResolvedOperations } from './options.js'
import { isFinal, type OperationFailure, type OperationOwner, type OperationRecord } from './record.js'
import type { OperationResponses } from './responses.js'
import type { BeginOptions, Caller, OperationsService } from './service.js'

/** The result of an operation, for {@link StartOptions.answer}. */
export type OperationResult<Result = unknown> =
  | { readonly status: 'Succeeded'; readonly resource: string | null; readonly result: Result | undefined }
  | { readonly status: 'Failed'; readonly error: OperationFailure }

/** Options of `reply.startOperation()`. */
export interface StartOptions<Result = unknown> extends RunOptions {
  /**
   * Writes the response if the client waits (`Prefer: wait`) and the operation ends in time.
   * @default the response of a poll
   */
  readonly answer?: (end: OperationResult<Result>, reply: FastifyReply) => unknown
}

type Starter = Omit<BeginOptions, keyof RunOptions>

export function beginOptions(label: string, received: RunOptions, starter: Starter): BeginOptions {
  const { delay, priority } = resolveOptions(label, received, runOptions)
  return { ...starter, delay: Number(delay), priority }
}

/** Returns `reply.startOperation()`: it waits as long as the client prefers, and returns what to send. */
export function operationStarter(service: OperationsService, responses: OperationResponses) {
  return async function startOperation(
    this: FastifyReply,
    operation: string | OperationHandle,
    input?: unknown,
    { answer, ...options }: StartOptions = {},
  ): Promise<unknown> {
    const { request } = this
    const caller = await callerOfRequest(request, service.options)
    const starter = { ...caller, key: keyOf(request, caller), requestId: request.id }
    const given = beginOptions('reply.startOperation()', options, starter)
    const begun = await service.begin(nameOf(operation), input, given)
    const preferences = request.prefer
    const wait = Math.min(preferences.wait ?? 0, maxWait)
    const record = wait === 0 ? begun : await service.ended(begun, wait * 1_000, this.raw)
    const isDone = isFinal(record)
    const applied = [
      ...(preferences.respondAsync && !isDone ? ['respond-async'] : []),
      ...(wait === 0 ? [] : [`wait=${wait}`]),
    ]
    if (applied.length > 0) this.header('preference-applied', applied.join(', '))
    return isDone && answer !== undefined
      ? answer(resultOf(service, record), this)
      : responses.started(this, record)
  }
}

export function nameOf(operation: string | OperationHandle): string {
  return typeof operation === 'string' ? operation : operation.name
}

function resultOf(
  { definitions }: OperationsService,
  { name, status, resource, result, error }: OperationRecord,
): OperationResult {
  if (status === 'Failed' && error !== null) return { status, error }
  const value = result === null ? undefined : definitions.readResult(name, result, false)
  return { status: 'Succeeded', resource, result: value }
}

/** The app itself: no caller sees what it starts without an owner. */
export const internal: Starter = Object.freeze({
  owner: null,
  access: 'internal',
  key: null,
  requestId: null,
})

/** Returns the caller with an id; one without an id shares operations by their ids. */
export function callerOf(owner: OperationOwner | undefined): Caller {
  const id = callerIdText(owner, 'operations: the owner is not an id')
  return id === null ? { owner: null, access: 'id' } : { owner: id, access: 'owner' }
}

/** Whether a caller may see an operation. */
export function maySee({ owner, access }: Caller, record: OperationRecord): boolean {
  return record.access === access && record.owner === owner
}

export async function callerOfRequest(
  request: FastifyRequest,
  { identify }: Pick<ResolvedOperations, 'identify'>,
): Promise<Caller> {
  return callerOf(identify === undefined ? subjectOf(request) : await identify(request))
}

/** Number of operations that a request with an `Idempotency-Key` has started. */
const startsOfRequest = requestSlot<number>('operations.starts')

/** Callers who are not known have no key: an id that others can guess would show them the operation. */
function keyOf(request: FastifyRequest, { owner }: Caller): string | null {
  const field = request.headers['idempotency-key']
  if (owner === null || field === undefined) return null
  const starts = startsOfRequest.get(request) ?? 0
  startsOfRequest.set(request, starts + 1)
  return digest(owner, String(field), request.method, request.url, String(starts))
}

/** The preferences of a client that this package supports (RFC 7240). */
export interface Preferences {
  /** `respond-async` (§4.1): whether the client prefers a 202 over waiting. */
  readonly respondAsync: boolean
  /** `wait` (§4.3): how long the client is willing to wait, in seconds; `null` if not given. */
  readonly wait: number | null
}

/** The preferences of a request without `Prefer`. */
const noPreferences: Preferences = Object.freeze({ respondAsync: false, wait: null })

/** Reads `Prefer` (RFC 7240 §2). */
export function readPrefer(received: string | readonly string[] | undefined): Preferences {
  const field = [received ?? ''].flat().join(',')
  if (field === '' || field.length > maxLength) return noPreferences
  const found = new Map<string, string>()
  for (const member of listMembers(field)) {
    const [, name, value = ''] = preference.exec(memberParts(member)[0] ?? '') ?? []
    const key = name?.toLowerCase()
    if (key !== undefined && !found.has(key)) found.set(key, unquoted(value))
  }
  return { respondAsync: found.get('respond-async') === '', wait: secondsOf(found.get('wait')) }
}

const maxLength = 1024

const preference = /^([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*(.*))?$/s

function unquoted(value: string): string {
  return value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
}

// Bounded, so that the milliseconds of it are a safe integer.
function secondsOf(value: string | undefined): number | null {
  return value !== undefined && /^\d+$/.test(value) ? Math.min(Number(value), 1_000_000_000) : null
}
