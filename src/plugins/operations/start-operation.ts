import type { FastifyReply } from 'fastify'
import type { OperationAnswers } from './answers.js'
import { readExactJson } from './definitions.js'
import { ownerOf } from './owner.js'
import { noPreferences, type Preferences, readPrefer } from './prefer.js'
import { isFinal, type OperationFailure, type OperationRecord } from './record.js'
import type { OperationsService } from './service.js'

/** How an operation ended, for an answer that is written by the handler. */
export type OperationResult =
  | { readonly status: 'Succeeded'; readonly resource: string | null; readonly result: unknown }
  | { readonly status: 'Failed'; readonly error: OperationFailure }

/** How an operation is started for a request. */
export interface StartOptions {
  /**
   * Writes the answer where the client is willing to wait (`Prefer: wait`) and the operation ended in time: what the
   * request would have been answered with without an operation. Default: what a poll would be answered with.
   */
  readonly answer?: (end: OperationResult, reply: FastifyReply) => unknown
}

/** Starts an operation for a request, waits for it as long as the client prefers, and returns what to send. */
export async function startOperation(
  service: OperationsService,
  answers: OperationAnswers,
  reply: FastifyReply,
  name: string,
  input: unknown,
  { answer }: StartOptions,
): Promise<unknown> {
  const { request } = reply
  const owner = await ownerOf(request, service.options)
  const begun = await service.begin(name, input, owner)
  const preferences = request.prefer
  const wait = Math.min(preferences.wait ?? 0, service.options.maxWait)
  const record = wait === 0 ? begun : await waited(service, reply, begun, wait)
  const isDone = isFinal(record)
  if (preferences !== noPreferences) {
    const applied = appliedPreferences(preferences, wait, isDone)
    if (applied !== '') reply.header('preference-applied', applied)
  }
  return isDone && answer !== undefined ? answer(resultOf(record), reply) : answers.started(reply, record)
}

/** What a client prefers of the answer to its request; it reads the field when it is first asked for. */
export function preferencesOf(prefer: string | readonly string[] | undefined): Preferences {
  return prefer === undefined ? noPreferences : readPrefer([prefer].flat().join(','))
}

async function waited(
  service: OperationsService,
  reply: FastifyReply,
  record: OperationRecord,
  seconds: number,
): Promise<OperationRecord> {
  const over = new AbortController()
  const leave = () => over.abort()
  reply.raw.once('close', leave)
  // It may have gone before.
  if (reply.raw.destroyed) leave()
  try {
    return await service.ended(record, seconds * 1000, over)
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

function resultOf({ status, resource, result, error }: OperationRecord): OperationResult {
  if (status === 'Failed' && error !== null) return { status, error }
  return { status: 'Succeeded', resource, result: result === null ? undefined : readExactJson(result) }
}
