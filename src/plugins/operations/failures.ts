import { exactJson } from '../../json/exact-json.js'
import {
  longestDetail,
  type ProblemCode,
  ProblemError,
  type ProblemIssue,
  problemDocument,
  serverFaultDetail,
} from '../../problem/problem-error.js'
import { problemOf } from '../../problem/problem-of.js'
import { clip } from '../../text.js'
import { logThrown } from './events.js'
import type { Log } from './options.js'
import type { OperationEnd, OperationFailure, OperationRecord } from './record.js'

export const cancelled = failed('operation-cancelled', 'It was cancelled before it finished')

/** The end of an operation whose runs all died, or were stopped. */
export const interrupted = failed(
  'operation-interrupted',
  'The server stopped working on it; what it meant to do may or may not have happened',
)

const faultDetail = 'The work failed. The cause is in the log, under the id of the operation.'

export function unavailable(detail: string, cause: unknown): ProblemError {
  return new ProblemError('operations-unavailable', { detail, headers: { 'retry-after': '5' }, cause })
}

export function full(cause: unknown, retryAfter: number, isShare = false): ProblemError {
  const detail = isShare
    ? 'Too many of your operations are waiting; no operation was started'
    : 'There are too many operations at the moment; nothing was started'
  const headers = { 'retry-after': String(retryAfter) }
  return new ProblemError(isShare ? 'quota-exceeded' : 'operations-full', { detail, headers, cause })
}

/** Returns the failure that clients see for an error of the work; the log gets the cause. */
export function failureOf(
  error: unknown,
  { id, name, run }: OperationRecord,
  maxLength: number,
  log: Log,
): OperationFailure {
  const problem = problemOfWork(error)
  const { code, title, statusCode: status, errors } = problem
  const level = status < 500 ? 'info' : 'error'
  const fields = { err: error, operationId: id, operation: name, run }
  logThrown(log, level, fields, `operations: '${name}' failed`)
  const { detail } = problemDocument(problem, '')
  const shown = detail === serverFaultDetail ? faultDetail : clip(detail, longestDetail)
  const issues = status < 500 ? storable(errors, maxLength) : undefined
  return { code, title, status, detail: shown, ...(issues !== undefined && { errors: issues }) }
}

/** The work may throw any value, and reading that value may throw too. */
export function problemOfWork(error: unknown): ProblemError {
  try {
    return problemOf(error)
  } catch {
    return new ProblemError('internal-server-error')
  }
}

function storable(
  errors: readonly ProblemIssue[] | undefined,
  maxLength: number,
): readonly ProblemIssue[] | undefined {
  try {
    const json = errors && exactJson(errors, false)
    return json === undefined || json.length > maxLength ? undefined : JSON.parse(json)
  } catch {
    return undefined
  }
}

function failed(code: ProblemCode, detail: string): OperationEnd {
  const { title, statusCode: status } = new ProblemError(code)
  return { status: 'Failed', error: Object.freeze({ code, title, status, detail }) }
}
